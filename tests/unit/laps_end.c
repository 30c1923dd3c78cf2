/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs that end early: deadlines, a failure or a signal in warm-up and run, the done frame. */
#include "run.h"

#include <errno.h>

/* Warm-up and run have their own ends; --timeout cuts both. */
static void test_deadlines(void **state)
{
	struct run *t = run_open(10, 0, false);
	uint64_t before = cycles_read(CLOCK_SRC_GETTIME), after;

	(void)state;
	script.stop_at = 30;
	client(t);
	after = cycles_read(CLOCK_SRC_GETTIME);
	assert_true(script.calls[0].deadline >= before + 200 * NS_PER_MS);
	assert_true(script.calls[0].deadline <= after + 200 * NS_PER_MS);
	assert_true(script.calls[1].deadline >= before + NS_PER_S);
	assert_true(script.calls[1].deadline <= after + NS_PER_S);
	run_close(t);
	t = run_open(10, 50, false);
	client(t);
	assert_true(script.calls[1].deadline == NEVER);
	run_close(t);
	t = run_open(10, 0, false);
	script.stop_at = 30;
	t->goal.timeout_tick = before;
	client(t);
	assert_true(script.calls[0].deadline == before && script.calls[1].deadline == before);
	run_close(t);
	t = run_open(10, 50, false);
	t->goal.timeout_tick = before + 5;
	t->goal.warmup_ticks = NEVER; /* no overflow */
	server(t, 60, 10);
	assert_true(script.calls[0].deadline == before + 5);
	run_close(t);
}

/* A wait that ends in the warm-up: no measured lap, no sample, the first exchange is known. */
static void test_end_in_warmup(void **state)
{
	struct run *t;

	(void)state;
	for (int by_time = 0; by_time < 2; by_time++) {
		t = run_open(10, by_time ? 0 : 5, false);
		script.fail_at = 4;
		client(t);
		check(t, 4, 0, 0);
		assert_int_equal(t->res.first_exchange, sample(0));
		assert_int_equal(script.call_count, 1);
		run_close(t);
		/* A signal: the loop ends in order, the next one at once. */
		t = run_open(10, by_time ? 0 : 5, false);
		script.stop_at = 4;
		client(t);
		check(t, 4, 0, 0);
		run_close(t);
		t = run_open(10, by_time ? 0 : 5, false);
		script.stop_at = 4;
		server(t, 4, 4);
		check(t, 4, 0, 0);
		run_close(t);
	}
	t = run_open(0, 0, false);
	script.stop_at = 0;
	client(t);
	check(t, 0, 0, 0);
	assert_int_equal(t->res.first_exchange, 0);
	run_close(t);
}

/* A failure in the run: what was measured until then stays. */
static void test_end_in_run(void **state)
{
	(void)state;
	for (uint64_t at = 10; at < 15; at++) {
		struct run *t = run_open(10, 5, false);

		script.fail_at = at;
		client(t);
		check(t, 10, at - 10, at - 10);
		run_close(t);
		t = run_open(10, 0, false);
		script.fail_at = at;
		client(t);
		check(t, 10, at - 10, at - 10);
		run_close(t);
	}
}

/* What the done frame says is not more than what was done here. */
static void test_done_frame(void **state)
{
	static const struct {
		uint64_t total, warmup, laps, samples;
	} rows[] = {
		{ 15, 10, 5, 4 },    { 14, 10, 4, 3 }, { 11, 10, 1, 0 }, { 10, 10, 0, 0 },
		{ 0, 0, 0, 0 },	     { NEVER, 10, 5, 4 }, { 15, 0, 15, 14 }, { 15, 99, 0, 0 },
		{ 15, NEVER, 0, 0 }, { 3, 10, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run *t = run_open(10, 5, true);

		server(t, rows[i].total, rows[i].warmup);
		check(t, rows[i].warmup, rows[i].laps, rows[i].samples);
		run_close(t);
	}
}

/* The same where a histogram was kept; its own counts stand, nothing outside the stamps is read. */
static void test_done_frame_histogram(void **state)
{
	static const struct {
		uint64_t total, warmup, samples;
	} rows[] = { { 20, 10, 9 }, { 20, 5, 14 }, { 20, 99, 8 }, { 20, NEVER, 8 } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run *t = run_open(10, 0, false);

		script.stop_at = 20;
		server(t, rows[i].total, rows[i].warmup);
		assert_int_equal(t->res.samples, rows[i].samples);
		run_close(t);
	}
}

static void test_post_failed(void **state)
{
	struct run *t = run_open(0, 1, false);
	struct ibv_qp qp = { .qp_num = 0x1a0406 };
	struct lane lane = { .qp = &qp, .sge = { .length = 64 } };

	(void)state;
	t->r.lane = &lane;
	lane.wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(lap_post_failed(&t->r, ENOMEM, 0), -1);
	assert_error(&t->err, EXIT_FAILED,
		     "posting lap 1 (64 bytes, inline) on QP 0x1a0406: Cannot allocate memory");
	assert_int_equal(t->wait.end, WAIT_FAILED);
	error_init(&t->err, "x");
	t->wait.end = WAIT_OK;
	assert_int_equal(lap_receive_failed(&t->r, ENOMEM), -1);
	assert_error(&t->err, EXIT_FAILED,
		     "posting a receive on QP 0x1a0406: Cannot allocate memory");
	assert_int_equal(t->wait.end, WAIT_FAILED);
	run_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_end_in_warmup),
		cmocka_unit_test(test_end_in_run),
		cmocka_unit_test(test_done_frame),
		cmocka_unit_test(test_done_frame_histogram),
		cmocka_unit_test(test_post_failed),
	};

	return cmocka_run_group_tests_name("laps_end", tests, NULL, NULL);
}
