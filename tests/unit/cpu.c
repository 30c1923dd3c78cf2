/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which CPU an end runs on: the wish, facts out of a made-up /sys and /proc, the choice. */
#include "tree.h"

#include <errno.h>

#include "cpu.h"

/* "1,3,5" for a set; "" for the empty one. */
static void set_text(const cpu_set_t *set, char out[256])
{
	size_t len = 0;

	*out = '\0';
	for (int i = 0; i < CPU_SETSIZE && len < 240; i++)
		if (CPU_ISSET(i, set))
			len += (size_t)snprintf(out + len, 256 - len, "%s%d", len ? "," : "", i);
}

static void assert_set(const cpu_set_t *set, const char *want)
{
	char is[256];

	set_text(set, is);
	assert_string_equal(is, want);
}

static cpu_set_t set_of(const char *list)
{
	cpu_set_t set;

	assert_int_equal(cpu_list_parse(list, &set), 0);
	return set;
}

static void test_lists(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} rows[] = {
		{ "", "" },	    { "0", "0" },	{ "0-3", "0,1,2,3" }, { "5,1", "1,5" },
		{ "0-1,4-5,9", "0,1,4,5,9" },		{ "3-3", "3" },	      { "1023", "1023" },
		{ "3-2", NULL },    { "1024", NULL },	{ "0-1024", NULL },   { "x", NULL },
		{ "1,", NULL },	    { ",1", NULL },	{ "1-", NULL },	      { "-1", NULL },
		{ "1 2", NULL },    { "1+2", NULL },	{ "0x1", NULL },
		{ "99999999999999999999", NULL },	{ "1-99999999999999999999", NULL },
	};
	cpu_set_t set;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (cpu_list_parse(rows[i].text, &set) != (rows[i].want ? 0 : -EINVAL))
			fail_msg("%s", rows[i].text);
		if (rows[i].want)
			assert_set(&set, rows[i].want);
	}
}

static void test_wishes(void **state)
{
	static const struct {
		const char *text;
		int side, rc;
		enum cpu_wish_kind kind;
		int node;
		const char *list;
	} rows[] = {
		{ "auto,none", 0, 0, CPU_AUTO, 0, "" },
		{ "auto,none", 1, 0, CPU_NONE, 0, "" },
		{ "auto", 0, 0, CPU_AUTO, 0, "" },
		{ "auto", 1, 0, CPU_AUTO, 0, "" },
		{ "3", 1, 0, CPU_LIST, 0, "3" },
		{ "3,5", 0, 0, CPU_LIST, 0, "3" },
		{ "3,5", 1, 0, CPU_LIST, 0, "5" },
		{ "2-4,0+2+8", 0, 0, CPU_LIST, 0, "2,3,4" },
		{ "2-4,0+2+8", 1, 0, CPU_LIST, 0, "0,2,8" },
		{ "node1,node0", 0, 0, CPU_NODE, 1, "" },
		{ "node1,node0", 1, 0, CPU_NODE, 0, "" },
		{ "node4095", 0, 0, CPU_NODE, 4095, "" },
		{ "auto,x", 0, 0, CPU_AUTO, 0, "" },
		{ "auto,x", 1, -EINVAL, CPU_AUTO, 0, "" },
		{ "x,auto", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ ",", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "1,", 1, -EINVAL, CPU_AUTO, 0, "" },
		{ ",1", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "1,2,3", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "Auto", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "autos", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "node", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "node-1", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "node1x", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "node4096", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "node4294967296", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "node99999999999999999999", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "1+", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "-1", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "4-2", 0, -EINVAL, CPU_AUTO, 0, "" },
		{ "1024", 0, -EINVAL, CPU_AUTO, 0, "" },
	};
	char far[600];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct cpu_wish w;

		if (cpu_wish_parse(rows[i].text, rows[i].side, &w) != rows[i].rc)
			fail_msg("%s, side %d", rows[i].text, rows[i].side);
		if (rows[i].rc)
			continue;
		assert_int_equal(w.kind, rows[i].kind);
		assert_int_equal(w.node, rows[i].node);
		assert_set(&w.list, rows[i].list);
	}
	memset(far, '1', sizeof(far) - 1);
	far[sizeof(far) - 1] = '\0';
	assert_int_equal(cpu_wish_parse(far, 0, &(struct cpu_wish){ 0 }), -EINVAL);
}

/* Two nodes of four threads; siblings are i and i + 4; the device is on node 1. */
static void fill_tree(const char *root)
{
	char path[128], text[16];

	tree_file(root, "sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
	tree_file(root, "sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path),
			 "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", i);
		snprintf(text, sizeof(text), "%d,%d\n", i % 4, i % 4 + 4);
		tree_file(root, path, text);
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/node%d/x", i, i % 4 / 2);
		tree_file(root, path, "");
	}
	tree_file(root, "sys/class/infiniband/mlx5_0/device/numa_node", "1\n");
	tree_file(root, "sys/class/infiniband/mlx5_0/device/msi_irqs/40", "msix\n");
	tree_file(root, "sys/class/infiniband/mlx5_0/device/msi_irqs/41", "msix\n");
	tree_file(root, "sys/class/infiniband/mlx5_0/device/msi_irqs/42", "msix\n");
	tree_file(root, "proc/irq/40/effective_affinity_list", "7\n");
	tree_file(root, "proc/irq/41/effective_affinity_list", "0-1\n");
	tree_file(root, "sys/class/infiniband/rxe0/x", "");
	tree_file(root, "sys/class/infiniband/lost/device/numa_node", "-1\n");
	tree_file(root, "proc/sys/kernel/random/boot_id", "0123-4567\n");
}

static void test_facts(void **state)
{
	static const struct {
		const char *device;
		enum cpu_wish_kind kind;
		int node, taken_cpu;
		const char *near, *interrupts, *taken;
	} rows[] = {
		{ "mlx5_0", CPU_AUTO, 0, -1, "2,3,6,7", "0,1,7", "" },
		{ "mlx5_0", CPU_AUTO, 0, 2, "2,3,6,7", "0,1,7", "2,6" },
		{ "mlx5_0", CPU_AUTO, 0, 9, "2,3,6,7", "0,1,7", "9" }, /* no siblings known */
		{ "mlx5_0", CPU_AUTO, 0, 100000, "2,3,6,7", "0,1,7", "" },
		{ "mlx5_0", CPU_NODE, 0, 5, "0,1,4,5", "", "1,5" },
		{ "mlx5_0", CPU_NODE, 7, -1, "", "", "" },
		{ "rxe0", CPU_AUTO, 0, -1, "", "", "" },
		{ "lost", CPU_AUTO, 0, -1, "", "", "" },
		{ "missing", CPU_AUTO, 0, -1, "", "", "" },
		{ NULL, CPU_AUTO, 0, 3, "", "", "3,7" },
	};
	char root[TREE_ROOT];
	cpu_set_t own;

	(void)state;
	tree_open(root);
	fill_tree(root);
	sched_getaffinity(0, sizeof(own), &own);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct cpu_wish w = { .kind = rows[i].kind, .node = rows[i].node };
		struct cpu_facts f;

		cpu_read_facts(root, rows[i].device, &w, rows[i].taken_cpu, &f);
		assert_true(CPU_EQUAL(&f.allowed, &own));
		assert_set(&f.near, rows[i].near);
		assert_set(&f.interrupts, rows[i].interrupts);
		assert_set(&f.taken, rows[i].taken);
		assert_int_equal(f.taken_cpu, rows[i].taken_cpu);
	}
	tree_close(root);
}

static void test_node_and_boot_id(void **state)
{
	char root[TREE_ROOT], id[CPU_BOOT_ID];

	(void)state;
	tree_open(root);
	cpu_boot_id(root, id);
	assert_string_equal(id, "");
	assert_int_equal(cpu_node_of(root, 0), -1);
	fill_tree(root);
	cpu_boot_id(root, id);
	assert_string_equal(id, "0123-4567");
	assert_int_equal(cpu_node_of(root, 1), 0);
	assert_int_equal(cpu_node_of(root, 6), 1);
	assert_int_equal(cpu_node_of(root, 99), -1);
	assert_int_equal(cpu_node_of(root, -1), -1);
	tree_close(root);
}

struct choice_row {
	const char *what, *allowed, *near, *interrupts, *taken;
	int taken_cpu; /* counted from 1: 0 is none */
	const char *wish; /* "auto", "none", "node" or a list */
	const char *set;  /* NULL: no allowed CPU fits */
	int cpu;
	bool shared;
};

static const struct choice_row choices[] = {
	{ "one CPU", "0", "", "", "", 0, "auto", "0", 0, false },
	{ "one CPU that the other end has", "0", "", "", "0", 1, "auto", "0", 0, true },
	{ "the highest", "0-7", "", "", "", 0, "auto", "7", 7, false },
	{ "only allowed ones", "1,4", "0-7", "", "", 0, "auto", "4", 4, false },
	{ "near", "0-7", "2-3", "", "", 0, "auto", "3", 3, false },
	{ "no interrupts", "0-7", "2-3", "3,7", "", 0, "auto", "2", 2, false },
	{ "not taken, nor its sibling", "0-7", "", "", "7,3", 8, "auto", "6", 6, false },
	{ "the sibling rather than interrupts", "0-7", "1-3", "1", "2,3", 4, "auto", "2", 2,
	  false },
	{ "interrupts rather than far", "0-7", "3", "3", "", 0, "auto", "3", 3, false },
	{ "far rather than taken", "0-7", "3", "", "3", 4, "auto", "7", 7, false },
	{ "far and without interrupts", "0-7", "3", "7", "3", 4, "auto", "6", 6, false },
	{ "far, with the taken one's sibling", "3,7", "3", "", "3,7", 4, "auto", "7", 7, false },
	{ "two ends on two CPUs", "0-1", "0-1", "0-1", "1", 2, "auto", "0", 0, false },
	{ "near is not allowed", "0-1", "6-7", "", "", 0, "auto", "1", 1, false },
	{ "no CPU at all", "", "", "", "", 0, "auto", NULL, -1, false },
	{ "unbound", "0-7", "2-3", "", "7", 8, "none", "", -1, false },
	{ "unbound, one CPU for both", "0", "", "", "0", 1, "none", "", -1, true },
	{ "unbound, one CPU for one", "0", "", "", "", 0, "none", "", -1, false },
	{ "a number", "0-7", "2-3", "5", "", 0, "5", "5", 5, false },
	{ "the number of the other end", "0-7", "", "", "5", 6, "5", "5", 5, true },
	{ "a list", "0-7", "", "", "5", 6, "4,5", "4,5", -1, false },
	{ "a list, partly allowed", "0-3", "", "", "", 0, "3,4", "3", 3, false },
	{ "a number that is not allowed", "0-3", "", "", "", 0, "4", NULL, -1, false },
	{ "a node", "0-7", "2-3,6-7", "", "", 0, "node", "2,3,6,7", -1, false },
	{ "a node of one CPU", "0-2", "2-3", "", "", 0, "node", "2", 2, false },
	{ "a node that is not there", "0-7", "", "", "", 0, "node", NULL, -1, false },
};

static struct cpu_wish wish_of(const char *text)
{
	struct cpu_wish w = { .kind = CPU_LIST };

	if (!strcmp(text, "auto"))
		w.kind = CPU_AUTO;
	else if (!strcmp(text, "none"))
		w.kind = CPU_NONE;
	else if (!strcmp(text, "node"))
		w.kind = CPU_NODE;
	else
		w.list = set_of(text);
	return w;
}

static void test_choices(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(choices); i++) {
		const struct choice_row *r = &choices[i];
		struct cpu_facts f = { set_of(r->allowed), set_of(r->near), set_of(r->interrupts),
				       set_of(r->taken), r->taken_cpu - 1 };
		struct cpu_wish w = wish_of(r->wish);
		struct cpu_choice c;
		char set[256];
		int rc = cpu_choose(&w, &f, &c);

		set_text(&c.set, set);
		if (rc != (r->set ? 0 : -1) || (!rc && (strcmp(set, r->set) || c.cpu != r->cpu ||
							c.shared != r->shared)))
			fail_msg("%s: %d, \"%s\", CPU %d%s", r->what, rc, set, c.cpu,
				 c.shared ? ", shared" : "");
	}
}

static void test_bind(void **state)
{
	struct cpu_choice none = { .cpu = -1 }, own = { .cpu = -1 }, absent = { .cpu = 1023 };
	cpu_set_t before, after;
	struct error err;

	(void)state;
	sched_getaffinity(0, sizeof(before), &before);
	error_init(&err, "x");
	assert_int_equal(cpu_bind(&none, &err), 0);
	own.set = before;
	assert_int_equal(cpu_bind(&own, &err), 0);
	CPU_SET(1023, &absent.set);
	if (!CPU_ISSET(1023, &before)) {
		assert_int_equal(cpu_bind(&absent, &err), -1);
		assert_error(&err, EXIT_FAILED, "binding to CPU 1023: ");
	}
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),	cmocka_unit_test(test_wishes),
		cmocka_unit_test(test_facts),	cmocka_unit_test(test_node_and_boot_id),
		cmocka_unit_test(test_choices), cmocka_unit_test(test_bind),
	};

	return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
