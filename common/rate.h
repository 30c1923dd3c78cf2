/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --rate: a token bucket in units of the clock's counter. Pure. The schedule is kept over a stall,
 * so that the rate holds on average; what is made up for goes out at up to eight times the rate, in bursts of
 * at most 1 ms worth or one message.
 */
#ifndef COMMON_RATE_H
#define COMMON_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct rate {
	double cost;         /* counter units a message; 0: no limit */
	double due;          /* saved up by the schedule; negative after a list that was longer */
	double pace;         /* saved up at eight times the rate */
	double burst, most;  /* what pace and due may hold */
	uint64_t last;
};

/* Counter units of a message of @size bytes at @bits or else @messages a second; 0: no limit. */
double rate_cost(uint64_t bits, uint64_t messages, uint64_t size, double hz);

/* One message may go at once. */
void rate_start(struct rate *r, double cost, double hz, uint64_t now);

static inline bool rate_limits(const struct rate *r)
{
	return r->cost > 0;
}

/* Messages that may go now. */
uint64_t rate_allowed(struct rate *r, uint64_t now);
/* Counter units until the next one may, as of the last rate_allowed(). */
uint64_t rate_next(const struct rate *r);

static inline void rate_take(struct rate *r, uint64_t n)
{
	r->due -= (double)n * r->cost;
	r->pace -= (double)n * r->cost;
}

#endif
