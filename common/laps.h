/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ping-pong's laps: what a timed loop works on, how it records, and what becomes of the records.
 * The loops themselves are the programs'.
 */
#ifndef COMMON_LAPS_H
#define COMMON_LAPS_H

#include <infiniband/verbs.h>

#include "cycles.h"
#include "endpoint.h"
#include "histogram.h"
#include "mark.h"
#include "options.h"
#include "samples.h"
#include "wait.h"

/* How a loop records; each has a loop of its own, so nothing is decided between two stamps. */
enum lap_record {
	RECORD_STAMPS,    /* one stamp a lap in an array */
	RECORD_HISTOGRAM, /* the difference to the stamp before, counted */
	RECORD_DETAIL,    /* post, seen and the longest poll gap in arrays */
	RECORD_KINDS
};

enum post_how { POST_HOW_SEND, POST_HOW_WR, POST_HOW_WR_INLINE, POST_HOW_KINDS };
enum lap_side { LAP_CLIENT, LAP_SERVER };

/* All that a loop touches. */
struct lap_run {
	/* of a size */
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;
	struct ibv_cq *cq;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint64_t *send_word;       /* where our mark goes */
	const uint64_t *recv_word; /* where the peer's mark comes */
	struct mark mark;
	uint64_t number;           /* the mark of lap 0; goes on from size to size */
	int depth, unreaped;       /* reap when unreaped reaches depth */
	struct wait *wait;
	/* of a call */
	uint64_t first, last;      /* laps [first, last) */
	uint64_t deadline;         /* counter; no lap starts after it */
	uint64_t *post, *seen, *gap; /* by lap; the client's post has one more, the end */
	struct histogram *histogram;
	uint64_t before;           /* RECORD_HISTOGRAM: stamp before the first, 0: none */
	/* result */
	uint64_t laps;             /* first unfinished lap */
	uint64_t backwards;        /* steps back of the clock that were counted as 0 */
};

typedef int (*lap_loop)(struct lap_run *r);

/* A program's loops. */
struct lap_loops {
	lap_loop by[2][RECORD_KINDS][POST_HOW_KINDS][2]; /* side, record, post, clock source */
};

/* Where the records of one size go. */
struct lap_store {
	struct samples post, seen, gap;
	struct histogram *histogram; /* malloc'ed, or NULL: every lap is kept */
	uint64_t warmup;             /* laps asked for */
	uint64_t kept;               /* measured laps there is room for */
};

int lap_store_open(struct lap_store *s, const struct settings *set, bool dumps, struct error *err);
void lap_store_close(struct lap_store *s);

/* Which laps to do. */
struct lap_goal {
	uint64_t laps;      /* measured ones; UINT64_MAX for a run by time */
	uint64_t run_ticks; /* a run by time: so long, in counter units; 0: by laps */
	uint64_t warmup_ticks; /* at most so long */
	uint64_t timeout_tick; /* counter value of --timeout, UINT64_MAX: none */
};

/* What a run gave, in counter units, not halved. */
struct lap_result {
	uint64_t size;
	uint64_t warmup, laps;  /* done; laps without the warm-up */
	uint64_t samples;
	uint64_t first_exchange; /* 0: none */
	uint64_t *sample;       /* in the store; NULL with a histogram */
	uint64_t *to_seen, *gap; /* --detail: post to seen and poll gap by sample; or NULL */
	struct stats stats;     /* valid when samples > 0 */
	uint64_t backwards;     /* steps back of the clock */
	bool full;              /* a run by time that ended since the array was full */
};

/* Runs warm-up and measured laps. The reason of an early end is in wait->end. */
void laps_run_client(struct lap_run *r, struct lap_store *s, const struct lap_loops *loops,
		     enum post_how how, enum clock_source clock, const struct lap_goal *goal,
		     struct lap_result *out);
void laps_run_server(struct lap_run *r, struct lap_store *s, const struct lap_loops *loops,
		     enum post_how how, enum clock_source clock, const struct lap_goal *goal);

/* A run by time whose server has no room for more samples. */
bool laps_server_full(const struct lap_run *r, const struct lap_store *s,
		      const struct lap_goal *goal);

/* Cuts the warm-up by position and summarises. Server: @total laps, @warmup from the done frame. */
int laps_result_client(struct lap_run *r, struct lap_store *s, struct lap_result *out,
		       struct error *err);
int laps_result_server(struct lap_run *r, struct lap_store *s, uint64_t total, uint64_t warmup,
		       struct lap_result *out, struct error *err);

/* Records that a post failed; returns -1. */
int lap_post_failed(struct lap_run *r, int rc, uint64_t lap);

#endif
