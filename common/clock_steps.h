/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Does a clock ever step back? Ordered reads in a row on one core; and between cores that hand a
 * cache line back and forth, each reading after it has seen what the other one read.
 */
#ifndef CLOCK_STEPS_H
#define CLOCK_STEPS_H

#include "cycles.h"
#include "error.h"

struct clock_steps {
	uint64_t reads, backwards;
	uint64_t largest;   /* step back, in units of the clock */
	int cpu, peer;	    /* where the largest was seen, and who had read before; -1: one core */
	unsigned int pairs; /* of cores that were tried; 0 across cores: there is only one */
};

/* One reading after another. */
static inline void clock_steps_look(struct clock_steps *s, uint64_t before, uint64_t now)
{
	if (__builtin_expect(now < before, 0)) {
		s->backwards++;
		s->largest = before - now > s->largest ? before - now : s->largest;
	}
}

/* On the first allowed CPU; the caller is unbound again. 0 or -1. */
int clock_steps_one_core(enum clock_source source, uint64_t reads, struct clock_steps *s,
			 struct error *err);
/*
 * The first allowed CPU with each of the others, which share the reads; fewer when cap_ns is over
 * before. 0, with no reads where only one CPU is allowed, or -1.
 */
int clock_steps_across(enum clock_source source, uint64_t reads, uint64_t cap_ns,
		       struct clock_steps *s, struct error *err);

#endif
