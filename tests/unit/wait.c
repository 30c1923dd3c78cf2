/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The waits of the timed loops: when a slow one looks around, what it may find, how it ends. Times
 * are planted in the state of the wait, so nothing here waits for them.
 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#include "wait.h"
#include "wait_ops.h"

#define US 1000ull

struct world {
	struct control control;
	struct wait w;
	struct error err;
	int peer;
};

static int setup(void **state)
{
	struct world *t = calloc(1, sizeof(*t));
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	error_init(&t->err, "x");
	t->err.stage = "run";
	control_init(&t->control);
	control_adopt(&t->control, fds[0]);
	strcpy(t->control.peer, "host-b:1");
	t->peer = fds[1];
	t->w = (struct wait){ .control = &t->control, .run_deadline = DEADLINE_NEVER,
			      .err = &t->err };
	wait_init(&t->w);
	stop_signal = 0;
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct world *t = *state;

	stop_signal = 0;
	control_close(&t->control);
	if (t->peer >= 0)
		close(t->peer);
	free(t);
	return 0;
}

static void peer_says(struct world *t, const char *text)
{
	uint8_t header[8] = { 'V', 'P', 'F', '1', 0, 0, 0, (uint8_t)strlen(text) };

	assert_int_equal(send(t->peer, header, 8, 0), 8);
	assert_int_equal(send(t->peer, text, strlen(text), 0), strlen(text));
}

/* The state of a wait that is due to look now, and began @ago. */
static struct wait_slow due(uint64_t ago)
{
	uint64_t now = now_ns();

	return (struct wait_slow){ .start = now - ago, .next = now - 1, .step = 200 * US };
}

/* First after 200 us or four times the last slow lap, at most half a second. */
static void test_first_look(void **state)
{
	static const struct {
		uint64_t slow_ns, first, step;
	} rows[] = {
		{ 0, 200 * US, 200 * US },
		{ 10 * US, 200 * US, 200 * US },
		{ 50 * US, 200 * US, 200 * US },
		{ 51 * US, 204 * US, 204 * US },
		{ 1000 * US, 4000 * US, 4000 * US },
		{ 2000 * US, 8000 * US, 5000 * US },
		{ 100000 * US, 400000 * US, 5000 * US },
		{ 10 * NS_PER_S, 500 * NS_PER_MS, 5000 * US },
	};
	struct world *t = *state;
	struct wait_slow s;
	uint64_t before;

	for (size_t i = 0; i < COUNT(rows); i++) {
		t->w.slow_ns = rows[i].slow_ns;
		/* Anew where this process lost its CPU for so long that the look was due at once. */
		do {
			s = (struct wait_slow){ .start = 0 };
			before = now_ns();
			assert_int_equal(wait_slow_look(&t->w, &s), 0);
		} while (now_ns() - before >= rows[i].first);
		assert_true(s.start >= before && s.start <= now_ns());
		assert_int_equal(s.next - s.start, rows[i].first);
		assert_int_equal(s.step, rows[i].step);
	}
	assert_int_equal(t->w.end, WAIT_OK);
}

/* Not a system call before the time has come; then the distances double up to 5 ms. */
static void test_schedule(void **state)
{
	static const uint64_t steps[] = { 400 * US, 800 * US, 1600 * US, 3200 * US, 5000 * US,
					  5000 * US };
	struct world *t = *state;
	struct wait_slow s = due(0);

	for (size_t i = 0; i < COUNT(steps); i++) {
		uint64_t before = now_ns();

		s.next = before;
		assert_int_equal(wait_slow_look(&t->w, &s), 0);
		assert_int_equal(s.step, steps[i]);
		assert_true(s.next >= before + steps[i] && s.next <= now_ns() + steps[i]);
	}
	peer_says(t, "{\"type\":\"done\",\"laps\":5,\"warmup\":1,\"number\":6}");
	s.next = now_ns() + 3600 * NS_PER_S;
	assert_int_equal(wait_slow_look(&t->w, &s), 0);
	assert_int_equal(t->w.end, WAIT_OK);
	s.next = now_ns();
	assert_int_equal(wait_slow_look(&t->w, &s), -1);
	assert_int_equal(t->w.end, WAIT_DONE);
	assert_int_equal(t->w.done_laps, 5);
	assert_int_equal(t->w.done_warmup, 1);
	assert_int_equal(t->w.done_number, 6);
	assert_false(error_is_set(&t->err));
}

static void test_slow_end(void **state)
{
	struct world *t = *state;
	struct wait_slow s = { .start = now_ns() - 7 * NS_PER_MS };

	wait_slow_end(&t->w, &s);
	assert_true(t->w.slow_ns >= 7 * NS_PER_MS);
}

static void expect(void **state, const char *text, enum wait_end end, enum exit_code code,
		   const char *why)
{
	struct wait_slow s = due(NS_PER_MS);
	struct world *t;

	teardown(state);
	setup(state);
	t = *state;
	if (text)
		peer_says(t, text);
	else {
		close(t->peer);
		t->peer = -1;
	}
	assert_int_equal(wait_slow_look(&t->w, &s), -1);
	assert_int_equal(t->w.end, end);
	assert_error(&t->err, code, why);
}

static void test_messages(void **state)
{
	static const char *const bad[] = {
		"{\"type\":\"done\"}",
		"{\"type\":\"done\",\"laps\":5,\"number\":9}",
		"{\"type\":\"done\",\"laps\":5,\"warmup\":1}",
		"{\"type\":\"done\",\"warmup\":1,\"number\":9}",
		"{\"type\":\"done\",\"laps\":\"5\",\"warmup\":1,\"number\":9}",
		"{\"type\":\"done\",\"laps\":5.0,\"warmup\":1,\"number\":9}",
		"{\"type\":\"done\",\"laps\":5,\"warmup\":-1,\"number\":9}",
		"{\"type\":\"done\",\"laps\":-1,\"warmup\":-2,\"number\":9}",
		"{\"type\":\"done\",\"laps\":5,\"warmup\":6,\"number\":9}",
		"{\"type\":\"done\",\"laps\":5,\"warmup\":1,\"number\":9.0}",
		"{\"type\":\"done\",\"laps\":5,\"warmup\":1,\"number\":-1}",
	};

	expect(state, "{\"type\":\"interrupt\"}", WAIT_INTERRUPT, EXIT_OK, "");
	expect(state, "{\"type\":\"done\",\"laps\":0,\"warmup\":0,\"number\":1}", WAIT_DONE, EXIT_OK, "");
	expect(state, "{\"type\":\"plan\\n\"}", WAIT_FAILED, EXIT_PEER,
	       "peer host-b:1 sent plan? in the middle of a run");
	expect(state, "{\"type\":\"abort\",\"stage\":\"run\",\"text\":\"no memory\",\"code\":1}",
	       WAIT_FAILED, EXIT_PEER, "peer failed at run: no memory");
	expect(state, "[]", WAIT_FAILED, EXIT_PEER, "without a JSON object");
	expect(state, NULL, WAIT_FAILED, EXIT_PEER, "peer host-b:1 lost at stage run");
	for (size_t i = 0; i < COUNT(bad); i++)
		expect(state, bad[i], WAIT_FAILED, EXIT_PEER, "numbers that make no sense");
}

/* Half a message is none yet. */
static void test_half_message(void **state)
{
	struct wait_slow s = due(NS_PER_MS);
	struct world *t = *state;

	assert_int_equal(send(t->peer, "VPF1\0\0\0\x14{\"ty", 12, 0), 12);
	assert_int_equal(wait_slow_look(&t->w, &s), 0);
	assert_int_equal(send(t->peer, "pe\":\"interrupt\"}", 16, 0), 16);
	s.next = 0;
	assert_int_equal(wait_slow_look(&t->w, &s), -1);
	assert_int_equal(t->w.end, WAIT_INTERRUPT);
}

/* A peer that lives and does nothing: after 10 s and not before, so 5 s of SIGSTOP are survived. */
static void test_idle(void **state)
{
	struct world *t = *state;
	struct wait_slow s = due(5 * NS_PER_S);

	assert_int_equal(wait_slow_look(&t->w, &s), 0);
	s = due(WAIT_IDLE_NS);
	assert_int_equal(wait_slow_look(&t->w, &s), -1);
	assert_int_equal(t->w.end, WAIT_FAILED);
	assert_error(&t->err, EXIT_TIMED_OUT, "nothing came from the peer for 10 s at stage run");
}

static void test_run_deadline(void **state)
{
	struct world *t = *state;
	struct wait_slow s = due(NS_PER_MS);

	t->w.run_deadline = now_ns() + 3600 * NS_PER_S;
	assert_int_equal(wait_slow_look(&t->w, &s), 0);
	t->w.run_deadline = now_ns();
	s.next = 0;
	assert_int_equal(wait_slow_look(&t->w, &s), -1);
	assert_error(&t->err, EXIT_TIMED_OUT, "within --timeout");
}

/* A signal is seen at the first call, before any time has passed. */
static void test_signal(void **state)
{
	struct world *t = *state;
	struct wait_slow s = { .start = 0 };

	stop_signal = SIGINT;
	assert_int_equal(wait_slow_look(&t->w, &s), -1);
	assert_int_equal(t->w.end, WAIT_INTERRUPT);
	assert_false(error_is_set(&t->err));
}

/* The inline wait: at once when the word is there under the mask, else by the message. */
static void test_word(void **state)
{
	struct world *t = *state;
	struct poll_gap gap = { .last = cycles_read(CLOCK_SRC_GETTIME) };
	uint64_t word = 0xaa00000000000042ull, start = now_ns(), first = gap.last;

	assert_int_equal(wait_word(&t->w, &word, 0xff, 0x42, CLOCK_SRC_GETTIME, NULL), 0);
	assert_int_equal(wait_word(&t->w, &word, 0xff, 0x42, CLOCK_SRC_GETTIME, &gap), 0);
	assert_true(gap.last >= first);
	assert_int_equal(t->w.slow_ns, 0);
	peer_says(t, "{\"type\":\"done\",\"laps\":9,\"warmup\":0,\"number\":9}");
	assert_int_equal(wait_word(&t->w, &word, ~0ull, 0x42, CLOCK_SRC_GETTIME, &gap), -1);
	assert_int_equal(t->w.end, WAIT_DONE);
	assert_true(now_ns() - start >= 200 * US);
	assert_true(gap.longest > 0);
}

static void test_for_done(void **state)
{
	struct world *t = *state;

	peer_says(t, "{\"type\":\"done\",\"laps\":7,\"warmup\":2,\"number\":8}");
	assert_int_equal(wait_for_done(&t->w, deadline_in(20 * NS_PER_S)), 0);
	assert_int_equal(t->w.done_laps, 7);
	peer_says(t, "{\"type\":\"results\"}");
	assert_int_equal(wait_for_done(&t->w, deadline_in(20 * NS_PER_S)), -1);
	assert_error(&t->err, EXIT_PEER, "sent results in the middle of a run");
	error_init(&t->err, "x");
	assert_int_equal(wait_for_done(&t->w, deadline_in(10 * NS_PER_MS)), -1);
	assert_error(&t->err, EXIT_TIMED_OUT, "the client did not end the run in time");
}

static void test_completions(void **state)
{
	static const struct {
		enum ibv_wc_status status;
		const char *part;
	} rows[] = {
		{ IBV_WC_RETRY_EXC_ERR, "firewall" },
		{ IBV_WC_RNR_RETRY_EXC_ERR, "no receive in time" },
		{ IBV_WC_REM_ACCESS_ERR, "does not allow this access" },
		{ IBV_WC_WR_FLUSH_ERR, "had failed before" },
		{ IBV_WC_REM_INV_REQ_ERR, "path MTU" },
		{ IBV_WC_LOC_PROT_ERR, "(status 4, vendor error 0x51)" },
	};
	struct world *t = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ibv_wc wc = { .wr_id = 41, .qp_num = 0x12, .status = rows[i].status,
				     .vendor_err = 0x51 };

		error_init(&t->err, "x");
		t->w.end = WAIT_OK;
		assert_int_equal(wait_bad_completion(&t->w, &wc), -1);
		assert_int_equal(t->w.end, WAIT_FAILED);
		assert_error(&t->err, EXIT_FAILED, "work request 41 on QP 0x000012 failed: ");
		assert_contains(t->err.text, rows[i].part);
		assert_contains(t->err.text, ibv_wc_status_str(rows[i].status));
		assert_int_equal(count_lines(t->err.text), 0);
	}
	error_init(&t->err, "x");
	assert_int_equal(wait_poll_failed(&t->w, -EIO), -1);
	assert_int_equal(t->err.err, EIO);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(test_first_look),   IN_WORLD(test_schedule), IN_WORLD(test_slow_end),
		IN_WORLD(test_messages),     IN_WORLD(test_half_message), IN_WORLD(test_idle),
		IN_WORLD(test_run_deadline), IN_WORLD(test_signal),   IN_WORLD(test_word),
		IN_WORLD(test_for_done),     IN_WORLD(test_completions),
	};

	return cmocka_run_group_tests_name("wait", tests, NULL, NULL);
}
