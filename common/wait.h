/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the waits of the timed loops (wait_ops.h) do when nothing comes: a wait that spins without
 * fruit looks at the control connection and at the device's events, first after 200 us or
 * four times the running lap, then at doubling distances up to 5 ms.
 */
#ifndef COMMON_WAIT_H
#define COMMON_WAIT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "deadline.h"

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

/* State of one wait that takes long. */
struct wait_slow {
	uint64_t start, next, step; /* ns */
};

/* Called every WAIT_SPINS polls, the first time with start 0: 0 go on, -1: see w->end. */
int wait_slow_look(struct wait *w, struct wait_slow *s);
void wait_slow_end(struct wait *w, const struct wait_slow *s);

/* Records a completion that failed; returns -1. */
int wait_bad_completion(struct wait *w, const struct ibv_wc *wc);
int wait_poll_failed(struct wait *w, int rc);

/* Blocks until the done frame: 0, or -1 with the reason in w->end. For when no lap is due. */
int wait_for_done(struct wait *w, uint64_t deadline);

#endif
