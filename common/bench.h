/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The driver. A program is a descriptor and its timed loops; the order of a run - options, device,
 * control, plan, endpoint, connect, barrier, warm-up, run, results, report, teardown - is here
 * alone.
 */
#ifndef COMMON_BENCH_H
#define COMMON_BENCH_H

#include "laps.h"
#include "op.h"
#include "report_keys.h"
#include "units.h"

struct bench_program {
	struct option_program options;
	enum op_family family;
	bool bandwidth;
	enum latency_kind latency_kind; /* of latency, without --full-rtt */
	const struct lap_loops *loops;      /* of latency */
	const struct lap_loops *imm_loops;  /* with --imm, where they differ */
	const struct lap_loops *lossy_loops, *lossy_imm_loops; /* the same on UC and UD */
};

/* Runs the program; returns its exit code. */
int bench_main(const struct bench_program *p, int argc, char **argv);

/*
 * Called with the name of each stage that has just been passed: plan, endpoints, ready, go, run,
 * done. Not there in a product; the kill tests link one that stops.
 */
void bench_stage_hook(const char *name) __attribute__((weak));

/* One loop for every way to record and to read the clock, made from two templates. */
#define BENCH_LAP_LOOP(fn, rec, clock)                                                              \
	static int fn##_##rec##_##clock(struct lap_run *r)                                          \
	{                                                                                           \
		return fn(r, RECORD_##rec, CLOCK_SRC_##clock);                                      \
	}
#define BENCH_LAP_CLOCKS(fn, rec) BENCH_LAP_LOOP(fn, rec, COUNTER) BENCH_LAP_LOOP(fn, rec, GETTIME)
#define BENCH_LAP_RECORDS(fn)                                                                       \
	BENCH_LAP_CLOCKS(fn, STAMPS) BENCH_LAP_CLOCKS(fn, HISTOGRAM) BENCH_LAP_CLOCKS(fn, DETAIL)   \
	BENCH_LAP_CLOCKS(fn, PACED) BENCH_LAP_CLOCKS(fn, PACED_HISTOGRAM)

#define BENCH_LAP_ROW(fn, rec)                                                                      \
	[RECORD_##rec] = { [CLOCK_SRC_COUNTER] = fn##_##rec##_COUNTER,                              \
			   [CLOCK_SRC_GETTIME] = fn##_##rec##_GETTIME }
#define BENCH_LAP_SIDE(fn)                                                                          \
	{ BENCH_LAP_ROW(fn, STAMPS), BENCH_LAP_ROW(fn, HISTOGRAM), BENCH_LAP_ROW(fn, DETAIL),       \
	  BENCH_LAP_ROW(fn, PACED), BENCH_LAP_ROW(fn, PACED_HISTOGRAM) }

#define BENCH_LAP_LOOPS(name, client, server)                                                       \
	BENCH_LAP_RECORDS(client)                                                                   \
	BENCH_LAP_RECORDS(server)                                                                   \
	static const struct lap_loops name = {                                                      \
		.by = { [LAP_CLIENT] = BENCH_LAP_SIDE(client), [LAP_SERVER] = BENCH_LAP_SIDE(server) } \
	};
/* The server has nothing to do. */
#define BENCH_INITIATOR_LOOPS(name, client)                                                         \
	BENCH_LAP_RECORDS(client)                                                                   \
	static const struct lap_loops name = { .by = { [LAP_CLIENT] = BENCH_LAP_SIDE(client) } };

#endif
