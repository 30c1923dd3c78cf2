/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ping-pong's laps: which are done, where their records go, and what becomes of them. The loops
 * themselves are the programs'.
 */
#ifndef COMMON_LAPS_H
#define COMMON_LAPS_H

#include "lap_run.h"
#include "modes.h"
#include "options.h"
#include "samples.h"

/* Where the records of one size go. */
struct lap_store {
	struct samples post, seen, gap, cpu, device;
	bool paced;                  /* samples are from post to seen */
	struct histogram *histogram; /* malloc'ed, or NULL: every lap is kept */
	struct worst *worst;         /* malloc'ed beside the histogram */
	uint64_t warmup;             /* laps asked for */
	uint64_t kept;               /* measured laps there is room for */
};

/* @paced: the loops run something between laps, and a sample is from post to seen. */
int lap_store_open(struct lap_store *s, const struct settings *set, bool dumps, bool paced,
		   struct error *err);
void lap_store_close(struct lap_store *s);

/* A look at the histogram of a run by time, every so many counter units. */
struct lap_interval {
	uint64_t ticks;
	void (*show)(void *arg, const struct histogram *so_far, uint64_t laps, uint64_t now);
	void *arg;
};

/* Which laps to do. */
struct lap_goal {
	uint64_t laps;      /* measured ones; UINT64_MAX for a run by time */
	uint64_t run_ticks; /* a run by time: so long, in counter units; 0: by laps */
	uint64_t warmup_ticks; /* at most so long */
	uint64_t timeout_tick; /* counter value of --timeout, UINT64_MAX: none */
	const struct lap_interval *interval; /* or NULL */
};

/* What a run gave, in counter units, not halved. */
struct lap_result {
	uint64_t size;
	uint64_t warmup, laps;  /* done; laps without the warm-up */
	uint64_t samples;
	uint64_t lost, late;    /* laps whose answer never came; and those answered when given up */
	uint64_t warmup_missed; /* server: warm-up laps whose message never came */
	uint64_t first_exchange; /* 0: none */
	uint64_t *sample;       /* in the store; NULL with a histogram */
	uint64_t *to_seen, *gap; /* --detail: post to seen and poll gap by sample; or NULL */
	struct stats stats;     /* valid when samples > 0 */
	double inflation;       /* of its interval, by autocorrelation; NAN: not looked at */
	struct modes modes;     /* two clusters, if there are two */
	uint64_t backwards;     /* steps back of the clock */
	struct worst *worst;    /* malloc'ed, sorted; NULL: every sample is kept */
	uint64_t start;         /* counter when the measured laps began */
	bool full;              /* a run by time that ended since the array was full */
	unsigned int run;       /* of its size, from 1 */
	bool loaded;            /* under --load */
	double load_bytes_per_s; /* that the load carried; NAN: none from this end */
};

/* Runs warm-up and measured laps. The reason of an early end is in wait->end. */
void laps_run_client(struct lap_run *r, struct lap_store *s, const struct lap_loops *loops,
		     enum clock_source clock, const struct lap_goal *goal,
		     struct lap_result *out);
void laps_run_server(struct lap_run *r, struct lap_store *s, const struct lap_loops *loops,
		     enum clock_source clock, const struct lap_goal *goal);

/*
 * Stamps that a server keeps before it counts in its histogram: two measured ones, so that the
 * first exchange is known without a warm-up too.
 */
static inline uint64_t laps_kept_by_server(const struct lap_store *s)
{
	return s->warmup + 2;
}

/* A run by time whose server has no room for more samples. */
bool laps_server_full(const struct lap_run *r, const struct lap_store *s,
		      const struct lap_goal *goal);

/* Cuts the warm-up by position and summarises. Server: @total laps, @warmup from the done frame. */
int laps_result_client(struct lap_run *r, struct lap_store *s, struct lap_result *out,
		       struct error *err);
int laps_result_server(struct lap_run *r, struct lap_store *s, uint64_t total, uint64_t warmup,
		       struct lap_result *out, struct error *err);

/*
 * laps_lost.c, when wait->end was WAIT_LOST. The client gives up its lap: 0, or -1 with wait->end.
 * The server's goes on from the message that came; arrays have room for laps below @last.
 */
int laps_give_up(struct lap_run *r, enum lap_record record);
void laps_skip(struct lap_run *r, enum lap_record record, uint64_t last);
/* The client, after its last lap: answers to those that it gave up. */
void laps_wait_for_late(struct lap_run *r);

/* Records that a post failed; returns -1. */
int lap_post_failed(struct lap_run *r, int rc, uint64_t lap);
int lap_receive_failed(struct lap_run *r, int rc);

#endif
