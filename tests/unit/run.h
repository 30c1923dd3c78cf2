/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One run of an end over the loops of loops.h, and what is due to come of it. */
#ifndef TESTS_RUN_H
#define TESTS_RUN_H

#include "loops.h"

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

/* @laps 0: a run by time that keeps a histogram. @paced: a sample ends where the answer is seen. */
static inline struct run *run_open_paced(uint64_t warmup, uint64_t laps, bool detail, bool paced)
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
	assert_int_equal(lap_store_open(&t->store, &t->set, false, paced, &t->err), 0);
	return t;
}

static inline struct run *run_open(uint64_t warmup, uint64_t laps, bool detail)
{
	return run_open_paced(warmup, laps, detail, false);
}

static inline void run_close(struct run *t)
{
	lap_store_close(&t->store);
	lap_store_close(&t->store);
	error_free(&t->err);
	free(t->res.worst);
	free(t);
}

static inline void client(struct run *t)
{
	laps_run_client(&t->r, &t->store, &loops, CLOCK_SRC_GETTIME, &t->goal,
			&t->res);
	assert_int_equal(laps_result_client(&t->r, &t->store, &t->res, &t->err), 0);
}

static inline void server(struct run *t, uint64_t total, uint64_t warmup)
{
	laps_run_server(&t->r, &t->store, &loops, CLOCK_SRC_GETTIME, &t->goal);
	assert_int_equal(laps_result_server(&t->r, &t->store, total, warmup, &t->res, &t->err), 0);
}

/* Samples of laps @from on; with a histogram what it knows exactly. */
static inline void check(const struct run *t, uint64_t from, uint64_t laps, uint64_t samples)
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

static inline void check_call(int i, enum lap_record record, uint64_t first, uint64_t last)
{
	assert_true(i < script.call_count);
	assert_int_equal(script.calls[i].record, record);
	assert_int_equal(script.calls[i].first, first);
	assert_int_equal(script.calls[i].last, last);
}

#endif
