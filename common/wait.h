/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The waits of the timed loops. A wait that succeeds at once costs a few loads; one that spins
 * without fruit looks at the control connection and at the device's events, first after 200 us or
 * four times the running lap, then at doubling distances up to 5 ms.
 */
#ifndef COMMON_WAIT_H
#define COMMON_WAIT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "cycles.h"
#include "deadline.h"

#define WAIT_SPINS 1024 /* polls before the clock is read: about a microsecond */
#define WAIT_IDLE_NS (10 * NS_PER_S)

/* Why a loop ended before its last lap; WAIT_OK while it did not. */
enum wait_end {
	WAIT_OK,
	WAIT_DONE,      /* the client sent done */
	WAIT_INTERRUPT, /* a signal here, or the peer asked to end */
	WAIT_FAILED,    /* the error says why */
};

struct wait {
	struct control *control;   /* NULL: none is looked at */
	struct ibv_context *async; /* non-blocking async fd; NULL: none */
	uint8_t port;              /* whose port events count */
	uint64_t run_deadline;     /* ns, of the whole run */
	bool yield;                /* the peer needs this CPU */
	uint64_t slow_ns;          /* how long the last slow lap took */
	enum wait_end end;
	uint64_t done_laps, done_warmup; /* of the done frame */
	struct error *err;
};

/* The longest time between two polls of a lap; for --detail. */
struct poll_gap {
	uint64_t last, longest; /* counter */
};

/* State of one wait that takes long. */
struct wait_slow {
	uint64_t start, next, step; /* ns */
};

/* Called every WAIT_SPINS polls, the first time with start 0: 0 go on, -1: see w->end. */
int wait_slow_look(struct wait *w, struct wait_slow *s);
void wait_slow_end(struct wait *w, const struct wait_slow *s);

static inline void poll_gap_see(struct poll_gap *g, enum clock_source clock)
{
	uint64_t now = cycles_read(clock);

	if (now - g->last > g->longest)
		g->longest = now - g->last;
	g->last = now;
}

/*
 * Polls a word of memory until it holds @want under @mask. 0, or -1 with the reason in w->end.
 * @gap: NULL, or where the longest time between two polls is kept.
 */
static inline __attribute__((always_inline)) int wait_word(struct wait *w, const uint64_t *p,
							   uint64_t mask, uint64_t want,
							   enum clock_source clock,
							   struct poll_gap *gap)
{
	unsigned int n = WAIT_SPINS;
	struct wait_slow slow = { .start = 0 };

	for (;;) {
		if (gap)
			poll_gap_see(gap, clock);
		if ((__atomic_load_n(p, __ATOMIC_ACQUIRE) & mask) == want)
			break;
		if (--n)
			continue;
		n = WAIT_SPINS;
		if (wait_slow_look(w, &slow))
			return -1;
	}
	if (__builtin_expect(slow.start != 0, 0))
		wait_slow_end(w, &slow);
	return 0;
}

/* Records a completion that failed; returns -1. */
int wait_bad_completion(struct wait *w, const struct ibv_wc *wc);
int wait_poll_failed(struct wait *w, int rc);

/*
 * Takes completions of @cq, at most @max (16) at once, until at least one came. Their number, or
 * -1 with the reason in w->end.
 */
static inline __attribute__((always_inline)) int wait_cq(struct wait *w, struct ibv_cq *cq, int max,
							 enum clock_source clock,
							 struct poll_gap *gap)
{
	struct ibv_wc wc[16];
	unsigned int n = WAIT_SPINS;
	struct wait_slow slow = { .start = 0 };
	int got;

	while (!(got = ibv_poll_cq(cq, max, wc))) {
		if (gap)
			poll_gap_see(gap, clock);
		if (--n)
			continue;
		n = WAIT_SPINS;
		if (wait_slow_look(w, &slow))
			return -1;
	}
	if (__builtin_expect(slow.start != 0, 0))
		wait_slow_end(w, &slow);
	if (__builtin_expect(got < 0, 0))
		return wait_poll_failed(w, got);
	for (int i = 0; i < got; i++)
		if (__builtin_expect(wc[i].status != IBV_WC_SUCCESS, 0))
			return wait_bad_completion(w, &wc[i]);
	return got;
}

/* Blocks until the done frame: 0, or -1 with the reason in w->end. For when no lap is due. */
int wait_for_done(struct wait *w, uint64_t deadline);

#endif
