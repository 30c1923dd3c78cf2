/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a timed loop of a latency program works on, and how it records. */
#ifndef COMMON_LAP_RUN_H
#define COMMON_LAP_RUN_H

#include "cycles.h"
#include "histogram.h"
#include "lane.h"
#include "lap_cpu.h"
#include "mark.h"
#include "wait.h"
#include "worst.h"

/* How a loop records; each has a loop of its own, so nothing is decided between two stamps. */
enum lap_record {
	RECORD_STAMPS,    /* one stamp a lap in an array */
	RECORD_HISTOGRAM, /* the difference to the stamp before, counted */
	RECORD_DETAIL,    /* post, seen and the longest poll gap in arrays */
	RECORD_PACED,     /* something is done between laps: post and seen, which is the sample */
	RECORD_PACED_HISTOGRAM, /* the same, counted */
	RECORD_KINDS
};

/* Stamps of each lap's answer are kept or needed. */
static inline bool lap_record_sees(enum lap_record record)
{
	return record >= RECORD_DETAIL;
}

static inline bool lap_record_paced(enum lap_record record)
{
	return record >= RECORD_PACED;
}

static inline bool lap_record_counts(enum lap_record record)
{
	return record == RECORD_HISTOGRAM || record == RECORD_PACED_HISTOGRAM;
}

enum lap_side { LAP_CLIENT, LAP_SERVER };

struct lap_run;

/* What a paced loop does between laps: before each post, and before each wait of the server. */
struct lap_pace {
	int (*before_post)(struct lap_run *r, uint64_t lap); /* 0, or -1 with wait->end */
	int (*after_seen)(struct lap_run *r, uint64_t lap);
	void *arg;
};

/* All that a loop touches. */
struct lap_run {
	/* of a size */
	struct lane *lane;         /* of the next lap */
	struct mark mark;
	bool marks;                /* messages are awaited in memory */
	uint64_t number;           /* the mark of lap 0; goes on from size to size */
	int depth;                 /* reap when so many sends of a CQ are out */
	unsigned int recv_list;    /* receives in one post */
	unsigned int answers;      /* completions that a message brings: of every receiver */
	struct wait *wait;
	const struct lap_pace *pace;
	/* of a call */
	uint64_t first, last;      /* laps [first, last) */
	uint64_t deadline;         /* counter; no lap starts after it */
	uint64_t *post, *seen, *gap; /* by lap; the client's post has one more, the end */
	uint64_t *device;          /* by lap, --hw-timestamps: of its answer, in the device's time */
	uint64_t *cpu;             /* by lap, --detail: CPU and LAP_CPU_LOST; NULL: unknown */
	struct lap_section section; /* for cpu */
	struct histogram *histogram;
	struct worst *worst;       /* beside the histogram */
	uint64_t before;           /* RECORD_HISTOGRAM: stamp before the first, 0: none */
	/* result */
	uint64_t laps;             /* first unfinished lap */
	uint64_t lost;             /* of them: laps whose answer never came (LAP_LOST) */
	uint64_t backwards;        /* steps back of the clock that were counted as 0 */
};

#define LAP_LOST (1ull << 63) /* in a stamp: this lap was lost, and gives no sample */

typedef int (*lap_loop)(struct lap_run *r);

/* A program's loops; no server loop: the server has nothing to do. */
struct lap_loops {
	lap_loop by[2][RECORD_KINDS][2]; /* side, record, clock source */
};

#endif
