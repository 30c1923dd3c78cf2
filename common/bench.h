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

/* Of a loop of pingpong_ops.h with @sight: one for every way to record and to read the clock. */
#define BENCH_LAP_LOOP(side, sight, rec, clock)                                                     \
	static int side##_##sight##_##rec##_##clock(struct lap_run *r)                              \
	{                                                                                           \
		return pingpong_##side(r, sight, RECORD_##rec, CLOCK_SRC_##clock);                  \
	}
#define BENCH_LAP_CLOCKS(side, sight, rec)                                                          \
	BENCH_LAP_LOOP(side, sight, rec, COUNTER) BENCH_LAP_LOOP(side, sight, rec, GETTIME)
#define BENCH_LAP_RECORDS(side, sight)                                                              \
	BENCH_LAP_CLOCKS(side, sight, STAMPS) BENCH_LAP_CLOCKS(side, sight, HISTOGRAM)              \
	BENCH_LAP_CLOCKS(side, sight, DETAIL) BENCH_LAP_CLOCKS(side, sight, PACED)                  \
	BENCH_LAP_CLOCKS(side, sight, PACED_HISTOGRAM)

#define BENCH_LAP_ROW(side, sight, rec)                                                             \
	[RECORD_##rec] = { [CLOCK_SRC_COUNTER] = side##_##sight##_##rec##_COUNTER,                  \
			   [CLOCK_SRC_GETTIME] = side##_##sight##_##rec##_GETTIME }
#define BENCH_LAP_SIDE(side, sight)                                                                 \
	{ BENCH_LAP_ROW(side, sight, STAMPS), BENCH_LAP_ROW(side, sight, HISTOGRAM),                \
	  BENCH_LAP_ROW(side, sight, DETAIL), BENCH_LAP_ROW(side, sight, PACED),                    \
	  BENCH_LAP_ROW(side, sight, PACED_HISTOGRAM) }

#define BENCH_LAP_LOOPS(name, sight)                                                                \
	BENCH_LAP_RECORDS(client, sight)                                                            \
	BENCH_LAP_RECORDS(server, sight)                                                            \
	static const struct lap_loops name = { .by = {                                              \
		[LAP_CLIENT] = BENCH_LAP_SIDE(client, sight),                                       \
		[LAP_SERVER] = BENCH_LAP_SIDE(server, sight),                                       \
	} };
/* The server has nothing to do. */
#define BENCH_INITIATOR_LOOPS(name)                                                                 \
	BENCH_LAP_RECORDS(client, SEE_OWN)                                                          \
	static const struct lap_loops name = { .by = { [LAP_CLIENT] = BENCH_LAP_SIDE(client, SEE_OWN) } };

#endif
