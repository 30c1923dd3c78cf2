/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One failure is kept with its stage, printed as one line; foreign text is cleaned. */
#include "unit.h"

#include <errno.h>

static void test_init(void **state)
{
	struct error e;

	(void)state;
	memset(&e, 0xff, sizeof(e));
	error_init(&e, "prog");
	assert_false(error_is_set(&e));
	assert_string_equal(e.stage, "options");
	assert_string_equal(e.text, "");
	assert_int_equal(e.warning_count, 0);
}

static void test_set(void **state)
{
	struct error e;

	(void)state;
	error_init(&e, "prog");
	e.stage = "connect-qp";
	assert_int_equal(error_set(&e, EXIT_FAILED, ENOMEM, "QP %d", 7), -1);
	e.stage = "run";
	assert_true(error_is_set(&e));
	assert_int_equal(e.code, EXIT_FAILED);
	assert_int_equal(e.err, ENOMEM);
	assert_false(e.from_peer);
	assert_string_equal(e.text, "QP 7: Cannot allocate memory");
	assert_string_equal(e.failed_stage, "connect-qp");
}

static void test_no_errno(void **state)
{
	struct error e;

	(void)state;
	error_init(&e, "prog");
	error_set(&e, EXIT_MISUSE, 0, "no colon");
	assert_string_equal(e.text, "no colon");
}

/* A later failure is a consequence of the first. */
static void test_first_stands(void **state)
{
	struct error e;

	(void)state;
	error_init(&e, "prog");
	error_set(&e, EXIT_DATA, 0, "first");
	assert_int_equal(error_set(&e, EXIT_FAILED, EIO, "second"), -1);
	assert_int_equal(error_set_peer(&e, EXIT_PEER, EIO, "run", "third"), -1);
	assert_int_equal(e.code, EXIT_DATA);
	assert_int_equal(e.err, 0);
	assert_false(e.from_peer);
	assert_string_equal(e.text, "first");
}

static void test_peer(void **state)
{
	struct error e;

	(void)state;
	error_init(&e, "prog");
	e.stage = "ready";
	assert_int_equal(error_set_peer(&e, EXIT_PEER, EINVAL, "connect-qp", "QP to RTR"), -1);
	assert_int_equal(e.code, EXIT_PEER);
	assert_int_equal(e.err, EINVAL);
	assert_true(e.from_peer);
	assert_string_equal(e.failed_stage, "connect-qp");
	assert_string_equal(e.text, "peer failed at connect-qp: QP to RTR");
}

/* Longer than any buffer: cut, ended, and nothing behind it is written. */
static void test_long(void **state)
{
	static char text[3 * ERROR_TEXT_MAX];
	struct error e;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	error_init(&e, "prog");
	e.stage = "a-stage-with-a-long-name";
	error_set(&e, EXIT_FAILED, ENOMEM, "%s", text);
	assert_int_equal(strlen(e.text), ERROR_TEXT_MAX - 1);
	assert_int_equal(strlen(e.failed_stage), sizeof(e.failed_stage) - 1);
	assert_int_equal(e.warning_count, 0);
	error_init(&e, "prog");
	error_set_peer(&e, EXIT_PEER, 0, text, text);
	assert_int_equal(strlen(e.text), ERROR_TEXT_MAX - 1);
	assert_int_equal(e.warning_count, 0);
}

static void test_print(void **state)
{
	struct capture c;
	struct error e;
	char out[256];

	(void)state;
	error_init(&e, "prog");
	capture_begin(&c);
	error_print(&e);
	capture_end(&c, out, sizeof(out));
	assert_string_equal(out, "");
	error_set(&e, EXIT_FAILED, 0, "100%% of %s", "it");
	capture_begin(&c);
	error_print(&e);
	capture_end(&c, out, sizeof(out));
	assert_string_equal(out, "prog: 100% of it\n");
}

/* The same warning is said once. */
static void test_warn(void **state)
{
	struct capture c;
	struct error e;
	char out[256];

	(void)state;
	error_init(&e, "prog");
	capture_begin(&c);
	error_warn(&e, "clock %d", 1);
	error_warn(&e, "clock %d", 2);
	error_warn(&e, "clock %d", 1);
	capture_end(&c, out, sizeof(out));
	assert_string_equal(out, "prog: warning: clock 1\nprog: warning: clock 2\n");
	assert_int_equal(e.warning_count, 2);
	assert_string_equal(e.warnings[0], "clock 1");
	assert_string_equal(e.warnings[1], "clock 2");
	assert_false(error_is_set(&e));
	error_free(&e);
	assert_int_equal(e.warning_count, 0);
	error_free(&e);
}

static void test_many_warnings(void **state)
{
	static char out[8192];
	struct capture c;
	struct error e;

	(void)state;
	error_init(&e, "prog");
	capture_begin(&c);
	for (int i = 0; i < 3 * ERROR_WARNINGS_MAX; i++)
		error_warn(&e, "number %d", i);
	capture_end(&c, out, sizeof(out));
	assert_int_equal(e.warning_count, ERROR_WARNINGS_MAX);
	assert_int_equal(count_lines(out), 3 * ERROR_WARNINGS_MAX);
	error_free(&e);
}

static void test_sanitise(void **state)
{
	static const struct {
		const char *text;
		size_t len, cap;
		const char *want;
	} rows[] = {
		{ "plain text ~", 12, 64, "plain text ~" },
		{ "", 0, 64, "" },
		{ "\033[2Jx", 5, 64, "?[2Jx" },
		{ "a\nb\rc\td", 7, 64, "a?b?c?d" },
		{ "nul\0in", 6, 64, "nul?in" },
		{ "\177\200\377", 3, 64, "???" },
		{ "gr\xc3\xbc\xc3\x9f", 6, 64, "gr????" },
		{ "cut here", 8, 4, "cut" },
		{ "exact", 5, 6, "exact" },
		{ "nothing", 7, 1, "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char out[64];

		memset(out, '!', sizeof(out));
		error_sanitise(out, rows[i].cap, rows[i].text, rows[i].len);
		assert_string_equal(out, rows[i].want);
		for (size_t k = rows[i].cap; k < sizeof(out); k++)
			assert_int_equal(out[k], '!');
	}
}

/* Every byte: what comes out can be shown on any terminal. */
static void test_sanitise_all_bytes(void **state)
{
	(void)state;
	for (int b = 0; b < 256; b++) {
		char in = (char)b, out[2];

		error_sanitise(out, sizeof(out), &in, 1);
		assert_int_equal(out[0], b >= ' ' && b <= '~' ? b : '?');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_init),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_no_errno),
		cmocka_unit_test(test_first_stands),
		cmocka_unit_test(test_peer),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_warn),
		cmocka_unit_test(test_many_warnings),
		cmocka_unit_test(test_sanitise),
		cmocka_unit_test(test_sanitise_all_bytes),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
