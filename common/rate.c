/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rate.h"

#include <math.h>

#define BURST_S 1e-3
#define DEBT_S 10.0 /* a stall that is made up for; a longer one is not */
#define CATCH_UP 8.0

double rate_cost(uint64_t bits, uint64_t messages, uint64_t size, double hz)
{
	if (bits)
		return hz * 8 * (double)size / (double)bits;
	return messages ? hz / (double)messages : 0;
}

void rate_start(struct rate *r, double cost, double hz, uint64_t now)
{
	*r = (struct rate){
		.cost = cost,
		.due = cost,
		.pace = cost,
		.burst = fmax(cost, hz * BURST_S),
		.most = fmax(cost, hz * DEBT_S),
		.last = now,
	};
}

uint64_t rate_allowed(struct rate *r, uint64_t now)
{
	double passed = now > r->last ? (double)(now - r->last) : 0, least;

	r->last = now;
	r->due = fmin(r->due + passed, r->most);
	r->pace = fmin(r->pace + CATCH_UP * passed, r->burst);
	least = fmin(r->due, r->pace);
	return least >= r->cost ? (uint64_t)(least / r->cost) : 0;
}

uint64_t rate_next(const struct rate *r)
{
	double due = r->cost - r->due, pace = (r->cost - r->pace) / CATCH_UP;

	return (uint64_t)ceil(fmax(fmax(due, pace), 0));
}
