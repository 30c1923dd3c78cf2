/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The driver. A program is a descriptor and its timed loops; the order of a run - options, device,
 * control, plan, endpoint, connect, barrier, warm-up, run, results, report, teardown - is here
 * alone.
 */
#ifndef COMMON_BENCH_H
#define COMMON_BENCH_H

#include "laps.h"
#include "options.h"
#include "report_keys.h"
#include "units.h"

struct bench_program {
	struct option_program options;
	const char *operation;          /* as printed: "RDMA WRITE" */
	enum ibv_wr_opcode opcode;
	uint64_t wr_ops;                /* IBV_QP_EX_WITH_... */
	int access;                     /* IBV_ACCESS_... of the buffers */
	enum latency_kind latency_kind; /* without --full-rtt */
	const struct lap_loops *loops;
};

/* Runs the program; returns its exit code. */
int bench_main(const struct bench_program *p, int argc, char **argv);

/*
 * Called with the name of each stage that has just been passed: plan, endpoints, ready, go, run,
 * done. Not there in a product; the kill tests link one that stops.
 */
void bench_stage_hook(const char *name) __attribute__((weak));

/* One loop for every way to record, to post and to read the clock, made from two templates. */
#define BENCH_LAP_LOOP(fn, rec, how, clock)                                                         \
	static int fn##_##rec##_##how##_##clock(struct lap_run *r)                                  \
	{                                                                                           \
		return fn(r, RECORD_##rec, POST_HOW_##how, CLOCK_SRC_##clock);                      \
	}
#define BENCH_LAP_CLOCKS(fn, rec, how)                                                              \
	BENCH_LAP_LOOP(fn, rec, how, COUNTER) BENCH_LAP_LOOP(fn, rec, how, GETTIME)
#define BENCH_LAP_POSTS(fn, rec)                                                                    \
	BENCH_LAP_CLOCKS(fn, rec, SEND) BENCH_LAP_CLOCKS(fn, rec, WR) BENCH_LAP_CLOCKS(fn, rec, WR_INLINE)
#define BENCH_LAP_RECORDS(fn)                                                                       \
	BENCH_LAP_POSTS(fn, STAMPS) BENCH_LAP_POSTS(fn, HISTOGRAM) BENCH_LAP_POSTS(fn, DETAIL)

#define BENCH_LAP_ROW(fn, rec, how)                                                                 \
	[POST_HOW_##how] = { [CLOCK_SRC_COUNTER] = fn##_##rec##_##how##_COUNTER,                    \
			     [CLOCK_SRC_GETTIME] = fn##_##rec##_##how##_GETTIME }
#define BENCH_LAP_ROWS(fn, rec)                                                                     \
	[RECORD_##rec] = { BENCH_LAP_ROW(fn, rec, SEND), BENCH_LAP_ROW(fn, rec, WR),                \
			   BENCH_LAP_ROW(fn, rec, WR_INLINE) }
#define BENCH_LAP_SIDE(fn)                                                                          \
	{ BENCH_LAP_ROWS(fn, STAMPS), BENCH_LAP_ROWS(fn, HISTOGRAM), BENCH_LAP_ROWS(fn, DETAIL) }

#define BENCH_LAP_LOOPS(name, client, server)                                                       \
	BENCH_LAP_RECORDS(client)                                                                   \
	BENCH_LAP_RECORDS(server)                                                                   \
	static const struct lap_loops name = {                                                      \
		.by = { [LAP_CLIENT] = BENCH_LAP_SIDE(client), [LAP_SERVER] = BENCH_LAP_SIDE(server) } \
	};

#endif
