/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What becomes of a loop's records: loops that write known stamps instead of measuring. Lap i
 * starts at stamp(i); all differences differ, so that a shift by one is seen.
 */
#include "unit.h"

#include <errno.h>

#include "lap_ops.h"
#include "laps.h"
#include "plan.h"

#define NEVER UINT64_MAX
#define CALLS_MAX 4

struct call {
	enum lap_record record;
	uint64_t first, last, deadline;
};

/* What the loops below do. */
static struct {
	uint64_t stop_at, stop_warmup_at; /* no lap starts from here on, as after a deadline */
	uint64_t fail_at;		  /* the wait of this lap ends the loop */
	struct call calls[CALLS_MAX];
	int call_count;
	bool warming; /* stop_warmup_at holds for the first call */
} script;

static uint64_t stamp(uint64_t lap)
{
	return 1000000 + 100 * lap + lap * lap;
}

static uint64_t sample(uint64_t lap)
{
	return stamp(lap + 1) - stamp(lap);
}

static uint64_t begin(const struct lap_run *r, enum lap_record record)
{
	uint64_t stop = script.call_count == 0 && script.warming ? script.stop_warmup_at :
								    script.stop_at;

	assert_true(script.call_count < CALLS_MAX);
	script.calls[script.call_count++] = (struct call){ record, r->first, r->last, r->deadline };
	return stop;
}

static int client_loop(struct lap_run *r, enum lap_record record)
{
	uint64_t stop = begin(r, record), i;

	for (i = r->first; i < r->last; i++) {
		if (record != RECORD_HISTOGRAM)
			r->post[i] = stamp(i);
		if (i >= stop)
			break;
		lap_count(r, record, stamp(i));
		if (i == script.fail_at)
			return -1;
		if (record == RECORD_DETAIL) {
			r->seen[i] = stamp(i) + 7 + i;
			r->gap[i] = 500 + i;
		}
		r->laps = i + 1;
	}
	if (record == RECORD_HISTOGRAM)
		lap_count(r, record, stamp(i));
	else
		r->post[i] = stamp(i);
	return 0;
}

static int server_loop(struct lap_run *r, enum lap_record record)
{
	uint64_t stop = begin(r, record);

	for (uint64_t i = r->first; i < r->last; i++) {
		if (i >= stop)
			return -1; /* the done frame came instead of a mark */
		if (record == RECORD_DETAIL)
			r->seen[i] = stamp(i) - 9;
		if (record != RECORD_HISTOGRAM)
			r->post[i] = stamp(i);
		lap_count(r, record, stamp(i));
		if (record == RECORD_DETAIL)
			r->gap[i] = 500 + i;
		r->laps = i + 1;
	}
	return 0;
}

#define LOOP(side, rec)                                                                            \
	static int side##_##rec(struct lap_run *r)                                                 \
	{                                                                                          \
		return side##_loop(r, RECORD_##rec);                                               \
	}
LOOP(client, STAMPS) LOOP(client, HISTOGRAM) LOOP(client, DETAIL)
LOOP(server, STAMPS) LOOP(server, HISTOGRAM) LOOP(server, DETAIL)

#define ROW(side, rec)                                                                             \
	[RECORD_##rec] = { [POST_HOW_WR] = { [CLOCK_SRC_GETTIME] = side##_##rec } }

static const struct lap_loops loops = {
	.by = { [LAP_CLIENT] = { ROW(client, STAMPS), ROW(client, HISTOGRAM), ROW(client, DETAIL) },
		[LAP_SERVER] = { ROW(server, STAMPS), ROW(server, HISTOGRAM), ROW(server, DETAIL) } },
};

/* One run of an end. */
struct run {
	struct settings set;
	struct lap_store store;
	struct lap_goal goal;
	struct lap_result res;
	struct lap_run r;
	struct wait wait;
	struct error err;
};

/* @laps 0: a run by time that keeps a histogram. */
static struct run *run_open(uint64_t warmup, uint64_t laps, bool detail)
{
	struct run *t = calloc(1, sizeof(*t));

	memset(&script, 0, sizeof(script));
	script.stop_at = script.stop_warmup_at = script.fail_at = NEVER;
	error_init(&t->err, "x");
	t->wait.err = &t->err;
	t->r.wait = &t->wait;
	t->set.warmup = warmup;
	t->set.iters = laps;
	t->set.detail = detail;
	t->set.duration_ns = laps ? 0 : NS_PER_S;
	t->goal = (struct lap_goal){ .laps = laps ? laps : NEVER, .run_ticks = laps ? 0 : NS_PER_S,
				     .warmup_ticks = 200 * NS_PER_MS, .timeout_tick = NEVER };
	assert_int_equal(lap_store_open(&t->store, &t->set, false, &t->err), 0);
	return t;
}

static void run_close(struct run *t)
{
	lap_store_close(&t->store);
	lap_store_close(&t->store);
	error_free(&t->err);
	free(t);
}

static void client(struct run *t)
{
	laps_run_client(&t->r, &t->store, &loops, POST_HOW_WR, CLOCK_SRC_GETTIME, &t->goal, &t->res);
	assert_int_equal(laps_result_client(&t->r, &t->store, &t->res, &t->err), 0);
}

static void server(struct run *t, uint64_t total, uint64_t warmup)
{
	laps_run_server(&t->r, &t->store, &loops, POST_HOW_WR, CLOCK_SRC_GETTIME, &t->goal);
	assert_int_equal(laps_result_server(&t->r, &t->store, total, warmup, &t->res, &t->err), 0);
}

/* Samples of laps @from on; with a histogram what it knows exactly. */
static void check(const struct run *t, uint64_t from, uint64_t laps, uint64_t samples)
{
	const struct lap_result *r = &t->res;

	assert_int_equal(r->warmup, from);
	assert_int_equal(r->laps, laps);
	assert_int_equal(r->samples, samples);
	for (uint64_t k = 0; k < samples && r->sample; k++)
		assert_int_equal(r->sample[k], sample(from + k));
	if (!samples)
		return;
	assert_int_equal(r->stats.n, samples);
	assert_int_equal(r->stats.min, sample(from));
	assert_int_equal(r->stats.max, sample(from + samples - 1));
	assert_int_equal(r->stats.max_at, samples);
	assert_true(r->stats.mean > (double)(sample(from) + sample(from + samples - 1)) / 2 - 1e-6);
	assert_true(r->stats.mean < (double)(sample(from) + sample(from + samples - 1)) / 2 + 1e-6);
	assert_int_equal(r->first_exchange, sample(0));
}

static void check_call(int i, enum lap_record record, uint64_t first, uint64_t last)
{
	assert_true(i < script.call_count);
	assert_int_equal(script.calls[i].record, record);
	assert_int_equal(script.calls[i].first, first);
	assert_int_equal(script.calls[i].last, last);
}

static void test_client(void **state)
{
	static const uint64_t warmups[] = { 0, 1, 3, 100 }, laps[] = { 1, 2, 5, 1000 };

	(void)state;
	for (size_t i = 0; i < COUNT(warmups); i++)
		for (size_t k = 0; k < COUNT(laps); k++) {
			struct run *t = run_open(warmups[i], laps[k], false);

			client(t);
			check(t, warmups[i], laps[k], laps[k]);
			assert_int_equal(script.call_count, warmups[i] ? 2 : 1);
			check_call(script.call_count - 1, RECORD_STAMPS, warmups[i],
				   warmups[i] + laps[k]);
			assert_false(t->res.full);
			run_close(t);
		}
}

static void test_server(void **state)
{
	static const uint64_t warmups[] = { 0, 1, 3, 100 }, laps[] = { 1, 2, 5, 1000 };

	(void)state;
	for (size_t i = 0; i < COUNT(warmups); i++)
		for (size_t k = 0; k < COUNT(laps); k++) {
			struct run *t = run_open(warmups[i], laps[k], false);

			server(t, warmups[i] + laps[k], warmups[i]);
			check(t, warmups[i], laps[k], laps[k] - 1);
			check_call(0, RECORD_STAMPS, 0, warmups[i] + laps[k]);
			run_close(t);
		}
}

/* The warm-up that ran out of time: fewer laps, cut by position, all measured ones still done. */
static void test_capped_warmup(void **state)
{
	struct run *t = run_open(100, 50, false);

	(void)state;
	script.warming = true;
	script.stop_warmup_at = 7;
	client(t);
	check(t, 7, 50, 50);
	check_call(1, RECORD_STAMPS, 7, 57);
	run_close(t);
	t = run_open(100, 50, false);
	script.stop_at = 57;
	server(t, 57, 7);
	check(t, 7, 50, 49);
	run_close(t);
}

/* A run by time: N laps counted on the client, N - 1 on the server, whatever the warm-up did. */
static void test_histogram(void **state)
{
	static const uint64_t warmups[] = { 0, 1, 2, 100 };

	(void)state;
	for (size_t i = 0; i < COUNT(warmups); i++)
		for (uint64_t done = warmups[i] ? 1 : 0; done <= warmups[i]; done += 1 + done / 3) {
			struct run *t = run_open(warmups[i], 0, false);

			assert_non_null(t->store.histogram);
			script.warming = warmups[i] != 0;
			script.stop_warmup_at = done;
			script.stop_at = done + 200;
			client(t);
			assert_null(t->res.sample);
			check(t, done, 200, 200);
			run_close(t);
			t = run_open(warmups[i], 0, false);
			script.stop_at = done + 200;
			server(t, done + 200, done);
			check(t, done, 200, 199);
			run_close(t);
		}
}

/* A run by time that ends within what the server keeps of the warm-up. */
static void test_short_histogram(void **state)
{
	(void)state;
	for (uint64_t laps = 0; laps < 6; laps++) {
		struct run *t = run_open(4, 0, false);

		script.stop_at = laps;
		server(t, laps, 1);
		check(t, 1, laps > 1 ? laps - 1 : 0, laps > 2 ? laps - 2 : 0);
		run_close(t);
	}
}

static void test_detail(void **state)
{
	struct run *t = run_open(3, 20, true);

	(void)state;
	client(t);
	check(t, 3, 20, 20);
	check_call(1, RECORD_DETAIL, 3, 23);
	for (uint64_t k = 0; k < 20; k++) {
		assert_int_equal(t->res.to_seen[k], 7 + 3 + k);
		assert_int_equal(t->res.gap[k], 503 + k);
	}
	run_close(t);
	/* From the server's answer k to the mark of the next lap, which comes 9 before its answer. */
	t = run_open(3, 20, true);
	server(t, 23, 3);
	check(t, 3, 20, 19);
	for (uint64_t k = 0; k < 19; k++) {
		assert_int_equal(t->res.to_seen[k], sample(3 + k) - 9);
		assert_int_equal(t->res.gap[k], 503 + k + 1);
	}
	run_close(t);
	t = run_open(3, 20, false);
	client(t);
	assert_null(t->res.to_seen);
	assert_null(t->res.gap);
	run_close(t);
}

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

static void test_post_failed(void **state)
{
	struct run *t = run_open(0, 1, false);
	struct ibv_qp qp = { .qp_num = 0x1a0406 };

	(void)state;
	t->r.qp = &qp;
	t->r.sge.length = 64;
	t->r.wr.send_flags = IBV_SEND_INLINE;
	assert_int_equal(lap_post_failed(&t->r, ENOMEM, 0), -1);
	assert_error(&t->err, EXIT_FAILED,
		     "posting lap 1 (64 bytes, inline) on QP 0x1a0406: Cannot allocate memory");
	assert_int_equal(t->wait.end, WAIT_FAILED);
	run_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),	       cmocka_unit_test(test_server),
		cmocka_unit_test(test_capped_warmup),  cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_short_histogram), cmocka_unit_test(test_detail),
		cmocka_unit_test(test_deadlines),      cmocka_unit_test(test_end_in_warmup),
		cmocka_unit_test(test_end_in_run),     cmocka_unit_test(test_done_frame),
		cmocka_unit_test(test_post_failed),
	};

	return cmocka_run_group_tests_name("laps", tests, NULL, NULL);
}
