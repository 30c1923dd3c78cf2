/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "shift.h"

#include <math.h>

#include "interval.h"

#define STEPS 100 /* halvings: to the last bit of a double */

static double at(const struct shift_side *s, size_t i)
{
	return (double)s->v[i] * s->unit;
}

/* Pairs whose difference b - a is at most @d: both sides are walked once. */
static double count_below(const struct shift_side *a, const struct shift_side *b, double d)
{
	size_t below = 0;
	double pairs = 0;

	for (size_t i = 0; i < a->n; i++) {
		while (below < b->n && at(b, below) - at(a, i) <= d)
			below++;
		pairs += (double)below;
	}
	return pairs;
}

/* The difference that @share of all pairs are not above. */
static double difference_at(const struct shift_side *a, const struct shift_side *b, double share)
{
	double lo = at(b, 0) - at(a, a->n - 1), hi = at(b, b->n - 1) - at(a, 0);
	double want = share * (double)a->n * (double)b->n;

	for (int i = 0; i < STEPS && lo < hi; i++) {
		double middle = lo + (hi - lo) / 2;

		if (middle <= lo && i)
			break;
		if (count_below(a, b, middle) < want)
			lo = middle;
		else
			hi = middle;
	}
	return hi;
}

void shift_find(const struct shift_side *a, const struct shift_side *b, double level,
		struct shift *out)
{
	double n = fmax(a->effective, 1), m = fmax(b->effective, 1);
	double half = interval_normal(level) * sqrt((n + m + 1) / (12 * n * m));

	out->by = difference_at(a, b, 0.5);
	out->lo = difference_at(a, b, fmax(0.5 - half, 0));
	out->hi = difference_at(a, b, fmin(0.5 + half, 1));
}
