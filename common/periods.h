/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Periodic disturbances: every so often, by the clock (a timer tick) or by the lap (a ring that
 * wraps), some samples are longer. Pure.
 *
 * What each sample has over its level, cut at PERIODS_CUT deviations so that one large hiccup does
 * not drown the rest, is laid out by lap and by time (bins of a mean lap). A period is a lag T at
 * which the autocorrelation stands out from its noise, at 2 T and 3 T again, and not halfway
 * between; multiples of T as far as they reach then give it to a fraction of a bin, and tell what
 * follows the laps from what follows the clock. Folding the series at T shows which samples are
 * hit. What was found is taken out and the search goes on, what lasts longest first.
 */
#ifndef PERIODS_H
#define PERIODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERIODS_LAPS	(1u << 19) /* samples that are looked at, at most */
#define PERIODS_LEAST	64	   /* samples below which nothing is said */
#define PERIODS_REPEATS 4	   /* times that a period has to be seen at least */
#define PERIODS_CUT	20.0

struct period {
	double laps;	  /* from one disturbance to the next */
	double ticks;	  /* the same, in the samples' unit: a sum of whole samples */
	double amplitude; /* what a sample that is hit has more: medians of these and the others */
	double share;	  /* of samples that are hit */
	bool by_lap;	  /* it follows the laps better than the time */
};

/*
 * excess[n]: samples less their level, in order of measurement; it is used up. length[n]: the
 * samples. deviation: the median deviation. At most @cap periods, their number in *count; 0 or
 * -ENOMEM.
 */
int periods_find(double *excess, const uint64_t *length, size_t n, double deviation,
		 struct period *out, size_t cap, size_t *count);

#endif
