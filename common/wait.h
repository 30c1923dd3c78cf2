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

#define WAIT_OTHERS_MAX 31

/* Why a loop ended before its last lap; WAIT_OK while it did not. */
enum wait_end {
	WAIT_OK,
	WAIT_DONE,      /* the client sent done */
	WAIT_INTERRUPT, /* a signal here, or the peer asked to end */
	WAIT_LOST,      /* loss_ns passed: on a transport that loses messages one was lost */
	WAIT_FAILED,    /* the error says why */
};

struct endpoint_cqs;

struct wait {
	struct control *control;   /* NULL: none is looked at */
	struct control **others;   /* of more peers, or NULL */
	unsigned int other_count;
	struct ibv_context *async; /* non-blocking async fd; NULL: none */
	uint8_t port;              /* whose port events count */
	uint64_t run_deadline;     /* ns, of the whole run */
	bool yield;                /* the peer needs this CPU */
	struct ibv_comp_channel *channel; /* --events: sleep on it; NULL: poll */
	uint64_t spin_ns;          /* --events: poll so long before a sleep */
	uint64_t loss_ns;          /* 0: nothing is ever lost */
	uint64_t idle_ns;          /* so long nothing may come; 0: WAIT_IDLE_NS */
	unsigned int spins;        /* polls before wait_slow_look(); see wait_init() */
	uint64_t slow_ns;          /* how long the last slow lap took */
	enum wait_end end;
	uint64_t done_laps, done_warmup, done_number; /* of the done frame */
	bool raw_done;             /* a stream's: its frames are kept in done, and not read */
	json_t *done;              /* to be released; or NULL */
	struct error *err;
};

/* Completes a wait whose other fields are set. */
void wait_init(struct wait *w);

/* State of one wait that takes long. */
struct wait_slow {
	uint64_t start, next, step; /* ns */
	struct ibv_cq *cq;          /* that is polled, or NULL: memory is */
	const struct endpoint_cqs *groups; /* whose receive CQs are polled as well, or NULL */
	unsigned int group_count;
	bool armed;                 /* the CQs will send an event */
};

/* Called every w->spins polls, the first time with start 0: 0 go on, -1: see w->end. */
int wait_slow_look(struct wait *w, struct wait_slow *s);
/*
 * Sleeps until a completion event, news on the control connection or of the device, or @ms.
 * Whoever calls has armed the CQs and polled them once more. 0, or -1: see w->end.
 */
int wait_sleep(struct wait *w, int ms);
void wait_slow_end(struct wait *w, const struct wait_slow *s);

/* Records a completion that failed; returns -1. */
int wait_bad_completion(struct wait *w, const struct ibv_wc *wc);
int wait_poll_failed(struct wait *w, int rc);

/* Blocks until the done frame: 0, or -1 with the reason in w->end. For when no lap is due. */
int wait_for_done(struct wait *w, uint64_t deadline);
/* The same for an end that has nothing to do in a run: as long as the peer is there. */
int wait_passive(struct wait *w);

#endif
