/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What may be combined: each operation with each transport, and every rule, refused and allowed. */
#include "words.h"

#include <errno.h>

#include "op.h"

static void settings_of(const char *const *words, struct settings *s)
{
	struct error e;

	if (parse(&all_options, words, s, &e))
		fail_msg("%s", e.text);
}

/* Table 9.3 of the specification, by hand. */
static void test_transports(void **state)
{
	static const struct {
		enum op_family family;
		const char *word, *name, *transports;
	} rows[] = {
		{ FAMILY_WRITE, NULL, "RDMA WRITE", "RC UC" },
		{ FAMILY_WRITE, "--imm", "RDMA WRITE with immediate", "RC UC" },
		{ FAMILY_SEND, NULL, "SEND", "RC UC UD" },
		{ FAMILY_SEND, "--imm", "SEND with immediate", "RC UC UD" },
		{ FAMILY_READ, NULL, "RDMA READ", "RC" },
		{ FAMILY_ATOMIC, NULL, "FETCH_ADD", "RC" },
		{ FAMILY_ATOMIC, "--atomic=cmp-swap", "CMP_SWAP", "RC" },
	};
	char why[256], want[80];
	struct settings s;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		for (enum transport t = 0; t < TRANSPORTS; t++)
			for (int bandwidth = 0; bandwidth < 2; bandwidth++) {
				bool due = strstr(rows[i].transports, transport_name(t));
				int rc;

				settings_of(WORDS("--transport", transport_name(t), rows[i].word), &s);
				rc = op_check(rows[i].family, bandwidth, &s, why, sizeof(why));
				assert_int_equal(rc, due ? 0 : -EINVAL);
				snprintf(want, sizeof(want), "%s has no %s; use --transport RC",
					 transport_name(t), rows[i].name);
				assert_contains(due ? "" : why, due ? "" : want);
				assert_string_equal(op_get(op_choose(rows[i].family, &s))->name,
						    rows[i].name);
			}
}

static const struct row {
	enum op_family family;
	bool bandwidth;
	const char *words[10], *why; /* NULL: allowed */
} rows[] = {
	{ FAMILY_WRITE, false, { "-e" }, "RDMA WRITE is awaited in memory; add --imm" },
	{ FAMILY_WRITE, false, { "-e", "--imm" }, NULL },
	{ FAMILY_WRITE, true, { "-e" }, NULL },
	{ FAMILY_READ, false, { "-e" }, NULL },
	{ FAMILY_SEND, false, { "-e" }, NULL },
	{ FAMILY_SEND, false, { "--spin", "1us" }, "add --events" },
	{ FAMILY_SEND, false, { "--spin", "1us", "-e" }, NULL },
	{ FAMILY_WRITE, true, { "--srq" }, "RDMA WRITE takes none" },
	{ FAMILY_READ, false, { "--srq" }, "RDMA READ takes none" },
	{ FAMILY_ATOMIC, false, { "--srq" }, "FETCH_ADD takes none" },
	{ FAMILY_WRITE, false, { "--srq", "--imm" }, NULL },
	{ FAMILY_SEND, false, { "-R", "--transport", "UC" }, "rdma_cm connects RC and UD only" },
	{ FAMILY_SEND, false, { "-R", "--transport", "UD" }, NULL },
	{ FAMILY_SEND, false, { "-R", "--path-bits", "1" }, "--path-bits" },
	{ FAMILY_SEND, false, { "--path-record", "--path-bits", "1" }, "--path-bits" },
	{ FAMILY_SEND, false, { "--path-bits", "1" }, NULL },
	{ FAMILY_SEND, false, { "--path-record", "-S", "0" }, "leave out --sl" },
	{ FAMILY_SEND, false, { "-S", "1" }, NULL },
	{ FAMILY_SEND, true, { "-b", "--reversed" }, "leave out --reversed" },
	{ FAMILY_SEND, true, { "--reversed" }, NULL },
	{ FAMILY_SEND, true, { "-b" }, NULL },
	{ FAMILY_SEND, false, { "--allow-loss" }, "RC loses nothing" },
	{ FAMILY_SEND, false, { "--allow-loss", "--transport", "UC" }, NULL },
	{ FAMILY_ATOMIC, false, { "-s", "16" }, "an atomic is of 8 bytes" },
	{ FAMILY_ATOMIC, true, { "-a" }, "an atomic is of 8 bytes" },
	{ FAMILY_ATOMIC, false, { "-s", "8,8" }, "an atomic is of 8 bytes" },
	{ FAMILY_ATOMIC, false, { "-s", "8" }, NULL },
	{ FAMILY_READ, false, { "-s", "16" }, NULL },
	{ FAMILY_SEND, true, { "-l", "17" }, "--post-list is longer than --tx-depth" },
	{ FAMILY_SEND, true, { "-l", "16" }, NULL },
	{ FAMILY_SEND, true, { "-Q", "9" }, "--cq-mod is more than half of --tx-depth" },
	{ FAMILY_SEND, true, { "-Q", "8" }, NULL },
	{ FAMILY_SEND, true, { "-Q", "1", "-t", "1" }, NULL },
	{ FAMILY_SEND, true, { "-Q", "2", "-t", "3" }, "--cq-mod" },
	{ FAMILY_SEND, false, { "--recv-post-list", "5", "-r", "4" }, "longer than --rx-depth" },
	{ FAMILY_SEND, false, { "--recv-post-list", "4", "-r", "4" }, NULL },
	{ FAMILY_WRITE, false, { "--recv-post-list", "5", "-r", "4" }, NULL },
	{ FAMILY_READ, false, { "-I", "1" }, "RDMA READ fetches its data" },
	{ FAMILY_ATOMIC, true, { "-I", "8", "-A", "cmp-swap" }, "CMP_SWAP fetches its data" },
	{ FAMILY_READ, false, { "-I", "0" }, NULL },
	{ FAMILY_SEND, false, { "--srq", "-q", "5", "-r", "4" }, "fewer receives" },
	{ FAMILY_SEND, false, { "--srq", "-q", "5", "-r", "5" }, NULL },
	{ FAMILY_SEND, false, { "--srq", "-q", "600" }, NULL },
	{ FAMILY_WRITE, false, { "--relaxed-ordering", "on" }, "RDMA WRITE is awaited in memory" },
	{ FAMILY_WRITE, false, { "--relaxed-ordering", "off" }, NULL },
	{ FAMILY_WRITE, false, { "--relaxed-ordering", "on", "--imm" }, NULL },
	{ FAMILY_WRITE, true, { "--relaxed-ordering", "on" }, NULL },
	{ FAMILY_SEND, false, { "--detail", "--gap", "1ms" }, "leave out --gap" },
	{ FAMILY_SEND, false, { "--detail", "--verify" }, "--verify" },
	{ FAMILY_SEND, false, { "--detail", "--load", "1Gb/s" }, "--load" },
	{ FAMILY_SEND, false, { "--detail", "--load", "1M/s" }, "--load" },
	{ FAMILY_SEND, false, { "--gap", "1ms", "--verify" }, NULL },
	{ FAMILY_WRITE, false, { "-q", "256", "-s", "8,9" }, "the mark of an odd size" },
	{ FAMILY_WRITE, false, { "-q", "255", "-s", "8,9" }, NULL },
	{ FAMILY_WRITE, false, { "-q", "256", "-s", "8,10" }, NULL },
	{ FAMILY_WRITE, false, { "-q", "256", "-s", "9", "--imm" }, NULL },
	{ FAMILY_WRITE, true, { "-q", "256", "-s", "9" }, NULL },
	{ FAMILY_WRITE, false, { "-q", "128", "-s", "9", "--transport", "UC" }, "the mark of an odd size" },
	{ FAMILY_WRITE, false, { "-q", "127", "-s", "9", "--transport", "UC" }, NULL },
	{ FAMILY_SEND, false, { "--mcast" }, "add --transport UD" },
	{ FAMILY_SEND, false, { "--mcast", "--transport", "UD" }, NULL },
	{ FAMILY_SEND, false, { "--mcast", "--transport", "UD", "-q", "2" }, "one queue pair" },
	{ FAMILY_SEND, true, { "--mcast", "--transport", "UD", "-b" }, "one queue pair" },
	{ FAMILY_SEND, true, { "--mcast", "--transport", "UD", "--reversed" }, "one way" },
	{ FAMILY_SEND, false, { "--mcast", "--transport", "UD", "-R" }, "leave out --rdma-cm" },
	{ FAMILY_SEND, false, { "--mcast", "--transport", "UD", "--dump", "f" }, "--dump" },
	{ FAMILY_SEND, false, { "--runs", "30,3", "--load", "1Gb/s" }, "--load" },
	{ FAMILY_SEND, false, { "--confidence", "99,5", "--run-infinitely" }, "--run-infinitely" },
	{ FAMILY_SEND, false, { "--runs", "30,3" }, NULL },
	{ FAMILY_SEND, false, { "--load", "1Gb/s", "--transport", "UD" }, "UD has none of" },
	{ FAMILY_SEND, false, { "--load", "1Gb/s", "--transport", "UC" }, NULL },
	{ FAMILY_SEND, false, { "--verify", "--allow-loss", "--transport", "UD" }, "--allow-loss" },
	{ FAMILY_SEND, false, { "--verify", "--transport", "UD" }, NULL },
	{ FAMILY_SEND, false, { "--interval", "1s" }, "add --duration" },
	{ FAMILY_SEND, false, { "--interval", "1s", "-D", "5s" }, NULL },
	{ FAMILY_SEND, false, { "--interval", "1s", "--run-infinitely" }, NULL },
	{ FAMILY_SEND, false, { "--interval", "1s", "-D", "5s", "-U" }, "keeps none" },
	{ FAMILY_SEND, false, { "--interval", "1s", "-D", "5s", "-H" }, "keeps none" },
	{ FAMILY_SEND, false, { "--interval", "1s", "-D", "5s", "--detail" }, "keeps none" },
	{ FAMILY_SEND, false, { "--interval", "1s", "-D", "5s", "--dump", "f" }, "keeps none" },
	{ FAMILY_SEND, false, { "--hw-timestamps" }, "add --detail" },
	{ FAMILY_SEND, false, { "--hw-timestamps", "--detail" }, NULL },
	{ FAMILY_READ, false, { "--hw-timestamps", "--detail" }, NULL },
	{ FAMILY_WRITE, false, { "--hw-timestamps", "--detail" }, "RDMA WRITE is awaited in memory" },
	{ FAMILY_WRITE, false, { "--hw-timestamps", "--detail", "--imm" }, NULL },
};

static void test_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct settings s;
		char why[256];
		int rc;

		settings_of(rows[i].words, &s);
		rc = op_check(rows[i].family, rows[i].bandwidth, &s, why, sizeof(why));
		if (rc != (rows[i].why ? -EINVAL : 0) || !rc != !*why ||
		    !strstr(why, rows[i].why ? rows[i].why : ""))
			fail_msg("row %zu (%s): %d, \"%s\"", i, rows[i].words[0], rc, why);
		assert_null(strchr(why, '%'));
		assert_int_equal(count_lines(why), 0);
	}
}

/* Every rule says what to do, and none runs over a small buffer. */
static void test_small_buffers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct settings s;
		char whole[256], cut[256];

		if (!rows[i].why)
			continue;
		settings_of(rows[i].words, &s);
		op_check(rows[i].family, rows[i].bandwidth, &s, whole, sizeof(whole));
		for (size_t cap = 1; cap <= strlen(whole); cap++) {
			memset(cut, '!', sizeof(cut));
			assert_int_equal(op_check(rows[i].family, rows[i].bandwidth, &s, cut, cap),
					 -EINVAL);
			assert_int_equal(strncmp(cut, whole, cap - 1), 0);
			assert_int_equal(cut[cap - 1], '\0');
			assert_int_equal(cut[cap], '!');
		}
	}
}

static void test_signals(void **state)
{
	static const struct {
		const char *words[4];
		unsigned int mod;
	} cases[] = {
		{ { "-t", "1" }, 1 },	{ { "-t", "2" }, 1 },	{ { "-t", "5" }, 2 },
		{ { "-t", "128" }, 64 }, { { "-t", "1000" }, 64 }, { { "-Q", "3" }, 3 },
	};
	struct settings s;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		settings_of(cases[i].words, &s);
		assert_int_equal(op_cq_mod(&s), cases[i].mod);
	}
}

/* Of a list that waits to be full as many more; an SRQ has one for each QP at least. */
static void test_receives(void **state)
{
	static const struct {
		enum op_kind op;
		const char *words[8];
		unsigned int receives;
	} cases[] = {
		{ OP_WRITE, { "-r", "10" }, 0 },
		{ OP_READ, { "-r", "10" }, 0 },
		{ OP_SEND, { "-r", "10" }, 11 },
		{ OP_WRITE_IMM, { "-r", "10", "--recv-post-list", "4" }, 14 },
		{ OP_SEND, { "-r", "10", "-q", "3" }, 11 },
		{ OP_SEND, { "-r", "10", "-q", "3", "--srq" }, 13 },
		{ OP_SEND, { "-r", "2", "-q", "3", "--srq" }, 6 },
	};
	struct settings s;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		settings_of(cases[i].words, &s);
		assert_int_equal(op_receives_posted(op_get(cases[i].op), &s), cases[i].receives);
	}
}

/* What the driver derives from the records. */
static void test_records(void **state)
{
	(void)state;
	for (enum op_kind k = 0; k < OP_KINDS; k++) {
		const struct op *op = op_get(k);

		assert_true(op->wr_ops && !(op->wr_ops & (op->wr_ops - 1)));
		assert_true(op->transports & (1u << TRANSPORT_RC));
		assert_false(op->fetches && op->receives);
		assert_int_equal(op->immediate, strstr(op->name, "immediate") != NULL);
		assert_int_equal(op->receives, k == OP_SEND || op->immediate);
		for (enum op_kind j = 0; j < k; j++)
			assert_true(op_get(j)->opcode != op->opcode && op_get(j)->wr_ops != op->wr_ops);
	}
	assert_false(transport_loses(TRANSPORT_RC));
	assert_true(transport_loses(TRANSPORT_UC) && transport_loses(TRANSPORT_UD));
	assert_int_equal(transport_qp_type(TRANSPORT_UD), IBV_QPT_UD);
	assert_int_equal(transport_qp_type(TRANSPORT_UC), IBV_QPT_UC);
	assert_int_equal(transport_qp_type(TRANSPORT_RC), IBV_QPT_RC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transports), cmocka_unit_test(test_rules),
		cmocka_unit_test(test_small_buffers), cmocka_unit_test(test_signals),
		cmocka_unit_test(test_receives), cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests_name("op", tests, NULL, NULL);
}
