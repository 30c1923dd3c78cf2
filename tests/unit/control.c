/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The control connection: pieces, merged frames, ends, deadlines, and what a peer reports. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "control.h"
#include "deadline.h"
#include "frame.h"

struct ends {
	struct control c;
	struct error err;
	int peer;
};

static int setup(void **state)
{
	struct ends *e = calloc(1, sizeof(*e));
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	error_init(&e->err, "prog");
	e->err.stage = "plan";
	control_init(&e->c);
	control_adopt(&e->c, fds[0]);
	strcpy(e->c.peer, "host-b:1");
	e->peer = fds[1];
	stop_signal = 0;
	*state = e;
	return 0;
}

static int teardown(void **state)
{
	struct ends *e = *state;

	stop_signal = 0;
	control_close(&e->c);
	control_close(&e->c);
	if (e->peer >= 0)
		close(e->peer);
	error_free(&e->err);
	free(e);
	return 0;
}

static uint8_t *frame_of(const char *text, size_t *len)
{
	size_t n = strlen(text);
	uint8_t *f = malloc(FRAME_HEADER + n);

	memcpy(f, FRAME_MAGIC, 4);
	for (int i = 0; i < 4; i++)
		f[4 + i] = (uint8_t)(n >> (24 - 8 * i));
	memcpy(f + FRAME_HEADER, text, n);
	*len = FRAME_HEADER + n;
	return f;
}

static void peer_sends(struct ends *e, const void *p, size_t len)
{
	assert_int_equal(send(e->peer, p, len, MSG_NOSIGNAL), len);
}

static void peer_says(struct ends *e, const char *text)
{
	size_t len;
	uint8_t *f = frame_of(text, &len);

	peer_sends(e, f, len);
	free(f);
}

static void hang_up(struct ends *e)
{
	close(e->peer);
	e->peer = -1;
}

static void expect_type(json_t *m, const char *type)
{
	assert_non_null(m);
	assert_string_equal(json_string_value(json_object_get(m, "type")), type);
	json_decref(m);
}

static uint64_t soon(void)
{
	return deadline_in(20 * NS_PER_MS);
}

static uint64_t ample(void)
{
	return deadline_in(20 * NS_PER_S);
}

/* Each byte but the last is not yet a message. */
static void test_bytes(void **state)
{
	struct ends *e = *state;
	json_t *m = NULL;
	size_t len;
	uint8_t *f = frame_of("{\"type\":\"ready\",\"n\":[1,2,3]}", &len);

	for (int again = 0; again < 3; again++)
		for (size_t i = 0; i < len; i++) {
			assert_int_equal(control_try_recv(&e->c, &m, &e->err), 0);
			peer_sends(e, f + i, 1);
			if (i + 1 == len)
				assert_int_equal(control_try_recv(&e->c, &m, &e->err), 1);
			else
				continue;
			expect_type(m, "ready");
		}
	assert_false(error_is_set(&e->err));
	free(f);
}

/* Two frames in one piece, cut anywhere. */
static void test_merged(void **state)
{
	struct ends *e = *state;
	size_t la, lb;
	uint8_t *a = frame_of("{\"type\":\"a\"}", &la), *b = frame_of("{\"type\":\"bb\"}", &lb);
	uint8_t all[64];

	memcpy(all, a, la);
	memcpy(all + la, b, lb);
	for (size_t cut = 0; cut <= la + lb; cut++) {
		json_t *m;
		int got;

		peer_sends(e, all, cut);
		got = control_try_recv(&e->c, &m, &e->err);
		assert_int_equal(got, cut >= la);
		if (got)
			expect_type(m, "a");
		peer_sends(e, all + cut, la + lb - cut);
		if (!got)
			expect_type(control_recv(&e->c, "a", ample(), &e->err), "a");
		expect_type(control_recv(&e->c, "bb", ample(), &e->err), "bb");
		assert_int_equal(control_try_recv(&e->c, &m, &e->err), 0);
	}
	free(a);
	free(b);
}

struct drip {
	int fd;
	const uint8_t *p;
	size_t len, piece;
};

static void *drip_run(void *arg)
{
	struct drip *d = arg;
	const struct timespec pause = { .tv_nsec = 300000 };

	for (size_t at = 0; at < d->len; at += d->piece) {
		size_t n = d->len - at < d->piece ? d->len - at : d->piece;

		for (ssize_t sent = 0; sent < (ssize_t)n;) {
			ssize_t rc = send(d->fd, d->p + at + sent, n - (size_t)sent, MSG_NOSIGNAL);

			if (rc < 0)
				return NULL;
			sent += rc;
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* A peer that sends a byte now and then is waited for. */
static void test_drip(void **state)
{
	struct ends *e = *state;
	struct drip d = { .fd = e->peer, .piece = 1 };
	uint8_t *f = frame_of("{\"type\":\"go\"}", &d.len);
	pthread_t t;

	d.p = f;
	assert_int_equal(pthread_create(&t, NULL, drip_run, &d), 0);
	expect_type(control_recv(&e->c, "go", ample(), &e->err), "go");
	pthread_join(t, NULL);
	free(f);
}

/* Larger than any socket buffer, from a peer; too large from a stranger. */
static void test_large(void **state)
{
	struct ends *e = *state;
	char *text = malloc((3 << 20) + 64);
	struct drip d = { .fd = e->peer, .piece = 100000 };
	uint8_t *f;
	pthread_t t;

	strcpy(text, "{\"type\":\"big\",\"fill\":\"");
	memset(text + strlen(text), 'x', 3 << 20);
	strcpy(text + 22 + (3 << 20), "\"}");
	f = frame_of(text, &d.len);
	d.p = f;
	e->c.max = FRAME_PEER_MAX;
	assert_int_equal(pthread_create(&t, NULL, drip_run, &d), 0);
	expect_type(control_recv(&e->c, "big", ample(), &e->err), "big");
	pthread_join(t, NULL);
	e->c.max = FRAME_STRANGER_MAX;
	peer_sends(e, f, FRAME_HEADER);
	assert_null(control_recv(&e->c, "big", ample(), &e->err));
	assert_error(&e->err, EXIT_PEER, "a frame that is too long");
	assert_true(e->c.in_cap < 8 << 20);
	free(text);
	free(f);
}

static void test_eof(void **state)
{
	struct ends *e = *state;

	hang_up(e);
	assert_null(control_recv(&e->c, "plan", ample(), &e->err));
	assert_error(&e->err, EXIT_PEER, "peer host-b:1 lost at stage plan: it closed the connection");
}

/* What came before the end still counts; half a frame does not. */
static void test_eof_after_frame(void **state)
{
	struct ends *e = *state;

	peer_says(e, "{\"type\":\"done\"}");
	peer_sends(e, "VPF1\0\0\0\x20{", 9);
	hang_up(e);
	expect_type(control_recv(&e->c, "done", ample(), &e->err), "done");
	assert_null(control_recv(&e->c, "results", ample(), &e->err));
	assert_error(&e->err, EXIT_PEER, "it closed the connection");
}

static void test_send_to_gone(void **state)
{
	struct ends *e = *state;

	hang_up(e);
	assert_int_equal(control_send(&e->c, control_message("go"), ample(), &e->err), -1);
	assert_error(&e->err, EXIT_PEER, "lost at stage plan: Broken pipe");
	assert_int_equal(e->err.err, EPIPE);
}

static void test_silence(void **state)
{
	static const char *const sent[] = { "", "VPF", "VPF1\0\0\0\5{\"" };
	static const size_t length[] = { 0, 3, 10 };
	struct ends *e = *state;

	for (size_t i = 0; i < COUNT(sent); i++) {
		uint64_t start = now_ns();
		struct error err;

		error_init(&err, "prog");
		err.stage = "ready";
		e->c.in_len = 0;
		peer_sends(e, sent[i], length[i]);
		assert_null(control_recv(&e->c, "go", soon(), &err));
		assert_error(&err, EXIT_TIMED_OUT, "timed out at stage ready: peer host-b:1 did not answer");
		assert_true(now_ns() - start >= 20 * NS_PER_MS);
	}
}

static void test_full_socket(void **state)
{
	struct ends *e = *state;
	json_t *m = control_message("endpoints"), *a = json_array();

	for (int i = 0; i < 500000; i++)
		json_array_append_new(a, json_integer(1234567));
	json_object_set_new(m, "qps", a);
	assert_int_equal(control_send(&e->c, m, soon(), &e->err), -1);
	assert_error(&e->err, EXIT_TIMED_OUT, "did not take what was sent in time");
}

static void test_signal(void **state)
{
	struct ends *e = *state;

	stop_signal = SIGTERM;
	assert_null(control_recv(&e->c, "go", ample(), &e->err));
	assert_error(&e->err, EXIT_PEER, "ended by signal 15 at stage plan");
}

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
			 "{\"type\":\"abort\",\"stage\":\"run\",\"text\":\"T\",\"code\":%s,\"errno\":%s}",
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
	assert_contains(got + FRAME_HEADER, "\"type\":\"abort\",\"stage\":\"plan\",\"errno\":0,\"code\":2");
	assert_contains(got + FRAME_HEADER, "host caf?\"}");
	hang_up(e);
	control_abort(&e->c, &e->err);
	control_close(&e->c);
	control_abort(&e->c, &e->err);
	assert_string_equal(e->err.text, "host caf\xe9");
}

#define WITH_ENDS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ENDS(test_bytes),	       WITH_ENDS(test_merged),
		WITH_ENDS(test_drip),	       WITH_ENDS(test_large),
		WITH_ENDS(test_eof),	       WITH_ENDS(test_eof_after_frame),
		WITH_ENDS(test_send_to_gone),  WITH_ENDS(test_silence),
		WITH_ENDS(test_full_socket),   WITH_ENDS(test_signal),
		WITH_ENDS(test_no_message),    WITH_ENDS(test_other_type),
		WITH_ENDS(test_interrupt),     WITH_ENDS(test_abort_codes),
		WITH_ENDS(test_abort_text),    WITH_ENDS(test_abort_long),
		WITH_ENDS(test_abort_sent),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
