/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a peer may send that is no message, and the failure that it reports. */
#include "ends.h"

static void test_no_message(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *why;
	} rows[] = {
		{ "G", 1, "something that is no frame of this protocol" },
		{ "GET / HTTP/1.0\r\n\r\n", 18, "no frame of this protocol" },
		{ "VPF2\0\0\0\2{}", 10, "no frame of this protocol" },
		{ "VPF1\xff\xff\xff\xff", 8, "a frame that is too long" },
		{ "VPF1\0\1\0\1", 8, "a frame that is too long" },
		{ "VPF1\0\0\0\0", 8, "a frame without a JSON object" },
		{ "VPF1\0\0\0\2[]", 10, "a frame without a JSON object" },
		{ "VPF1\0\0\0\2{x", 10, "a frame without a JSON object" },
		{ "VPF1\0\0\0\2{}", 10, "a frame without a type" },
		{ "VPF1\0\0\0\n{\"type\":1}", 18, "a frame without a type" },
		{ "VPF1\0\0\0\x0d{\"type\":null}", 21, "a frame without a type" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ends *e;
		json_t *m = NULL;

		teardown(state);
		setup(state);
		e = *state;
		peer_sends(e, rows[i].bytes, rows[i].len);
		assert_int_equal(control_try_recv(&e->c, &m, &e->err), -1);
		assert_null(m);
		assert_error(&e->err, EXIT_PEER, rows[i].why);
	}
}

static void test_other_type(void **state)
{
	struct ends *e = *state;

	peer_says(e, "{\"type\":\"go\\u001b[2J\"}");
	assert_null(control_recv(&e->c, "accept", ample(), &e->err));
	assert_error(&e->err, EXIT_PEER, "peer host-b:1 sent go?[2J where accept was due");
}

/* A wish to end that crossed the end of the run is no surprise; a run itself sees it. */
static void test_interrupt(void **state)
{
	struct ends *e = *state;
	json_t *m;

	peer_says(e, "{\"type\":\"interrupt\"}");
	peer_says(e, "{\"type\":\"results\"}");
	expect_type(control_recv(&e->c, "results", ample(), &e->err), "results");
	peer_says(e, "{\"type\":\"interrupt\"}");
	assert_int_equal(control_try_recv(&e->c, &m, &e->err), 1);
	expect_type(m, "interrupt");
}

/* Misuse and corrupt data are facts of both ends, all else is the peer's failure. */
static void test_abort_codes(void **state)
{
	static const struct {
		const char *code, *number;
		int want, err;
	} rows[] = {
		{ "0", "0", 4, 0 },	    { "1", "12", 4, 12 },  { "2", "0", 2, 0 },
		{ "3", "0", 4, 0 },	    { "4", "104", 4, 104 }, { "5", "4095", 5, 4095 },
		{ "6", "4096", 4, 0 },	    { "77", "-1", 4, 0 },   { "-2", "4294967297", 4, 0 },
		{ "4294967298", "1", 4, 1 }, { "\"2\"", "\"5\"", 4, 0 }, { "2.0", "5.0", 4, 0 },
		{ "null", "null", 4, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ends *e;
		char text[160];

		teardown(state);
		setup(state);
		e = *state;
		snprintf(text, sizeof(text),
			 "{\"type\":\"abort\",\"stage\":\"run\",\"text\":\"T\",\"code\":%s,"
			 "\"errno\":%s}",
			 rows[i].code, rows[i].number);
		peer_says(e, text);
		assert_null(control_recv(&e->c, "go", ample(), &e->err));
		assert_error(&e->err, (enum exit_code)rows[i].want, "peer failed at run: T");
		assert_int_equal(e->err.err, rows[i].err);
		assert_true(e->err.from_peer);
		assert_string_equal(e->err.failed_stage, "run");
	}
}

static void test_abort_text(void **state)
{
	static const struct {
		const char *fields, *want;
	} rows[] = {
		{ "", "peer failed at ?: no reason given" },
		{ ",\"stage\":1,\"text\":[]", "peer failed at ?: no reason given" },
		{ ",\"stage\":\"plan\\n\",\"text\":\"a\\u001b]0;x\\u0007b\\n%s%n\\u00fc\"",
		  "peer failed at plan?: a?]0;x?b?%s%n??" },
		{ ",\"stage\":\"a-name-that-is-far-too-long\",\"text\":\"x\"",
		  "peer failed at a-name-that-is-: x" },
	};
	char text[3 * ERROR_TEXT_MAX];

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ends *e;

		teardown(state);
		setup(state);
		e = *state;
		snprintf(text, sizeof(text), "{\"type\":\"abort\"%s}", rows[i].fields);
		peer_says(e, text);
		assert_null(control_recv(&e->c, "go", ample(), &e->err));
		assert_string_equal(e->err.text, rows[i].want);
	}
}

static void test_abort_long(void **state)
{
	char text[3 * ERROR_TEXT_MAX] = "{\"type\":\"abort\",\"text\":\"";
	struct ends *e = *state;

	memset(text + strlen(text), 'y', 2 * ERROR_TEXT_MAX);
	strcat(text, "\"}");
	peer_says(e, text);
	assert_null(control_recv(&e->c, "go", ample(), &e->err));
	assert_true(strlen(e->err.text) < ERROR_TEXT_MAX);
	assert_string_equal(e->err.text + strlen(e->err.text) - 3, "yyy");
}

/* An abort that we send: whole, also where its text is no UTF-8, and never in the way. */
static void test_abort_sent(void **state)
{
	struct ends *e = *state;
	char got[512] = "";

	error_set(&e->err, EXIT_MISUSE, 0, "host caf\xe9");
	control_abort(&e->c, &e->err);
	assert_true(recv(e->peer, got, sizeof(got) - 1, MSG_DONTWAIT) > FRAME_HEADER);
	assert_contains(got + FRAME_HEADER,
			"\"type\":\"abort\",\"stage\":\"plan\",\"errno\":0,\"code\":2");
	assert_contains(got + FRAME_HEADER, "host caf?\"}");
	hang_up(e);
	control_abort(&e->c, &e->err);
	control_close(&e->c);
	control_abort(&e->c, &e->err);
	assert_string_equal(e->err.text, "host caf\xe9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ENDS(test_no_message),
		WITH_ENDS(test_other_type),
		WITH_ENDS(test_interrupt),
		WITH_ENDS(test_abort_codes),
		WITH_ENDS(test_abort_text),
		WITH_ENDS(test_abort_long),
		WITH_ENDS(test_abort_sent),
	};

	return cmocka_run_group_tests_name("control_peer", tests, NULL, NULL);
}
