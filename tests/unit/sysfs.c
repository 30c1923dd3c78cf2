/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads below a made-up /sys and /proc; the interface behind a GID. */
#include "tree.h"

#include <net/if.h>

#include "netdev.h"
#include "sysfs.h"

static int setup(void **state)
{
	char *root = malloc(TREE_ROOT);

	tree_open(root);
	*state = root;
	return 0;
}

static int teardown(void **state)
{
	tree_close(*state);
	free(*state);
	return 0;
}

static void test_line(void **state)
{
	const char *root = *state;
	char out[16];

	tree_file(root, "sys/a/b", "one\ntwo\n");
	tree_file(root, "sys/bare", "no newline");
	tree_file(root, "sys/long", "0123456789abcdefghij\n");
	tree_file(root, "sys/empty", "");
	tree_file(root, "sys/blank", "\n");
	tree_file(root, "sys/folder", NULL);
	tree_file(root, "proc/x", "proc\n");
	assert_true(sysfs_read_line(root, "a/b", out, sizeof(out)));
	assert_string_equal(out, "one");
	assert_true(sysfs_read_line(root, "bare", out, sizeof(out)));
	assert_string_equal(out, "no newline");
	assert_true(sysfs_read_line(root, "long", out, sizeof(out)));
	assert_string_equal(out, "0123456789abcde");
	assert_true(sysfs_read_line(root, "blank", out, sizeof(out)));
	assert_string_equal(out, "");
	assert_false(sysfs_read_line(root, "empty", out, sizeof(out)));
	assert_false(sysfs_read_line(root, "folder", out, sizeof(out)));
	assert_false(sysfs_read_line(root, "missing", out, sizeof(out)));
	assert_false(sysfs_read_line(root, "x", out, sizeof(out)));
	assert_true(procfs_read_line(root, "x", out, sizeof(out)));
	assert_string_equal(out, "proc");
	assert_false(procfs_read_line(root, "a/b", out, sizeof(out)));
}

static void test_int(void **state)
{
	static const struct {
		const char *text;
		long want;
	} rows[] = { { "0\n", 0 },  { "-1\n", -1 }, { "7", 7 },	 { "12 x\n", 12 },
		     { "\n", 99 }, { "x\n", 99 },  { "", 99 }, { " 5\n", 5 } };
	const char *root = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		tree_file(root, "sys/n", rows[i].text);
		assert_int_equal(sysfs_read_int(root, "n", 99), rows[i].want);
	}
	assert_int_equal(sysfs_read_int(root, "missing", 99), 99);
}

static void test_first_entry(void **state)
{
	const char *root = *state;
	char out[64] = "";

	assert_false(sysfs_first_entry(root, "class/infiniband", out, sizeof(out)));
	tree_file(root, "sys/class/infiniband", NULL);
	assert_false(sysfs_first_entry(root, "class/infiniband", out, sizeof(out)));
	tree_file(root, "sys/class/infiniband/.hidden", "");
	assert_false(sysfs_first_entry(root, "class/infiniband", out, sizeof(out)));
	tree_file(root, "sys/class/infiniband/mlx5_0/x", "");
	assert_true(sysfs_first_entry(root, "class/infiniband", out, sizeof(out)));
	assert_string_equal(out, "mlx5_0");
}

static struct gid_entry behind(uint32_t ifindex, const char *text)
{
	struct gid_entry g = { .index = 0 };

	assert_int_equal(gid_parse(text, &g.gid), 0);
	netdev_of_gid(ifindex, &g);
	return g;
}

/* The loopback has 127.0.0.1/8 on every machine that is up. */
static void test_netdev(void **state)
{
	uint32_t lo = if_nametoindex("lo");
	struct gid_entry g;

	(void)state;
	if (!lo)
		skip();
	g = behind(lo, "::ffff:127.0.0.1");
	assert_string_equal(g.netdev, "lo");
	assert_int_equal(g.prefix_len, 8);
	/* The interface is known, the address is not one of its own. */
	g = behind(lo, "::ffff:198.51.100.1");
	assert_string_equal(g.netdev, "lo");
	assert_int_equal(g.prefix_len, 0);
	g = behind(0, "::ffff:127.0.0.1");
	assert_string_equal(g.netdev, "");
	assert_int_equal(g.prefix_len, 0);
	g = behind(0x7fffffff, "::ffff:127.0.0.1");
	assert_string_equal(g.netdev, "");
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(test_line),
		IN_TREE(test_int),
		IN_TREE(test_first_entry),
		cmocka_unit_test(test_netdev),
	};

	return cmocka_run_group_tests_name("sysfs", tests, NULL, NULL);
}
