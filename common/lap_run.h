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

#define LAP_OPEN_MAX 64

/* Where messages may be lost, each has a number (lap_lossy.h). */
struct lap_loss {
	/* of a size */
	const struct endpoint_cqs *groups; /* any of them may bring what comes next */
	unsigned int group_count;
	enum lap_side side;
	uint64_t bound;        /* the server has no room for more laps */
	/* of a lap */
	unsigned int left;     /* completions that it still waits for */
	bool ahead;            /* it is the server's next lap, and its completion was taken */
	uint64_t skipped;      /* numbers between the one that the server waited for and this one */
	/* client: laps that were given up and may still be answered, the oldest first */
	struct lap_open { uint32_t number, left; } open[LAP_OPEN_MAX];
	unsigned int open_count;
};

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
	uint64_t lost;             /* of the client's: laps whose answer never came (LAP_LOST) */
	uint64_t backwards;        /* steps back of the clock that were counted as 0 */
	uint64_t late;             /* the client's that were given up (LAP_LOST) and answered then */
	uint64_t missed;           /* the server's that are not in post: the message never came */
	struct lap_loss loss;
};

/* In a stamp: this lap was lost, and gives no sample. Alone: the server never had its message. */
#define LAP_LOST (1ull << 63)

typedef int (*lap_loop)(struct lap_run *r);

/* A program's loops; no server loop: the server has nothing to do. */
struct lap_loops {
	lap_loop by[2][RECORD_KINDS][2]; /* side, record, clock source */
};

#endif
