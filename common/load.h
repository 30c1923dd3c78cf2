/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --load: a stream of RDMA WRITEs from the client on a QP of its own, while the ping-pong is
 * measured. It is posted between laps, by a token bucket.
 */
#ifndef COMMON_LOAD_H
#define COMMON_LOAD_H

#include "cycles.h"
#include "lane.h"
#include "rate.h"
#include "wait.h"

#define LOAD_BYTES 65536 /* of a message */

struct load {
	struct lane *lane;
	struct rate rate;
	enum clock_source clock;
	double hz;
	unsigned int depth, outstanding;
	uint64_t start, end; /* counter: first post, last completion */
	uint64_t messages;
};

void load_init(struct load *l, const struct option_rate *rate, struct lane *lane,
	       enum clock_source clock, double hz, unsigned int depth);
/* Posts what is due, takes what is done. 0, or -1 with the reason in w->end. */
int load_pump(struct load *l, struct wait *w);
/* Waits for what is out. */
int load_finish(struct load *l, struct wait *w);
/* As carried, from the first post to the last completion; NAN: nothing was. */
double load_bytes_per_s(const struct load *l);

#endif
