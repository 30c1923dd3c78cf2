/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The control connection: pieces, merged frames, its end, deadlines. */
#include "ends.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

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
	assert_error(&e->err, EXIT_PEER,
		     "peer host-b:1 lost at stage plan: it closed the connection");
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
		assert_error(&err, EXIT_TIMED_OUT,
			     "timed out at stage ready: peer host-b:1 did not answer");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ENDS(test_bytes),
		WITH_ENDS(test_merged),
		WITH_ENDS(test_drip),
		WITH_ENDS(test_large),
		WITH_ENDS(test_eof),
		WITH_ENDS(test_eof_after_frame),
		WITH_ENDS(test_send_to_gone),
		WITH_ENDS(test_silence),
		WITH_ENDS(test_full_socket),
		WITH_ENDS(test_signal),
	};

	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
