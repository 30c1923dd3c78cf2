/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lag at which a series repeats: see periods.h. */
#include <math.h>

#include "correlate.h"
#include "periods_lag.h"

#define STANDS_OUT 8.0	/* deviations of the autocorrelation's noise */
#define WEAKEST	   0.01 /* autocorrelation that is worth a word */
#define LASTS	   16	/* multiples of a lag that are looked at */

/* A disturbance at a time falls into one of two laps: three bins have it for sure. */
static void widen(struct layout *l)
{
	double before = l->r[0];

	l->noise *= l->r[1] > 0.5 ? 3 : 2;
	for (size_t i = 1; i + 1 < l->lags; i++) {
		double now = l->r[i];

		l->r[i] = before + now + l->r[i + 1];
		before = now;
	}
}

/*
 * The first lag at which neighbours are not alike any more, and by its way there the deviation of
 * the noise: of a series without memory it is 1 / sqrt(n).
 */
static size_t end_of_decay(struct layout *l)
{
	double squares = 0.5;
	size_t lag = 1;

	while (lag + 1 < l->lags && l->r[lag] > l->r[lag + 1] && l->r[lag] > 0) {
		squares += l->r[lag] * l->r[lag];
		lag++;
	}
	l->noise = sqrt(2 * squares / (double)l->n);
	return lag;
}

/* Highest value in [from, to], and where. */
static size_t highest(const struct layout *l, size_t from, size_t to)
{
	size_t at = from;

	for (size_t i = from; i <= to && i < l->lags; i++)
		if (l->r[i] > l->r[at])
			at = i;
	return at;
}

/* Peaks at twice and three times the lag, valleys between. */
static bool repeats(const struct layout *l, size_t lag)
{
	double height = l->r[lag];
	size_t near = lag / 16 + 1;

	for (size_t m = 2; m <= 3; m++) {
		size_t valley = (2 * m - 1) * lag / 2;

		if (m * lag + near >= l->lags)
			return m > 2;
		if (l->r[highest(l, m * lag - near, m * lag + near)] < 0.5 * height)
			return false;
		if (l->r[valley] > 0.6 * height)
			return false;
	}
	return true;
}

/* From lag @from on, the smallest one that is nearly as high as the highest. */
static void find_lag(struct layout *l, size_t from)
{
	size_t reach = l->lags;
	double most;

	l->lag = 0;
	if (from >= reach)
		return;
	most = l->r[highest(l, from, reach - 1)];
	if (most < fmax(STANDS_OUT * l->noise, WEAKEST))
		return;
	for (size_t i = from; i < reach; i++) {
		size_t top;

		if (l->r[i] < 0.5 * most)
			continue;
		top = highest(l, i, i + i / 8 + 1);
		if (repeats(l, top)) {
			l->lag = (double)top;
			l->height = l->r[top];
			return;
		}
		i = top;
	}
}

/* Where the top of a peak lies, from its flanks at two thirds of the height. */
static double parabola(const struct layout *l, size_t top)
{
	double a, b = l->r[top], c, bend;
	size_t w = 1;

	while (w < l->lag / 4 && top > w && top + w + 1 < l->lags && l->r[top - w] > b * 2 / 3 &&
	       l->r[top + w] > b * 2 / 3)
		w++;
	if (top < w || top + w >= l->lags)
		return (double)top;
	a = l->r[top - w];
	c = l->r[top + w];
	bend = a - 2 * b + c;
	return (double)top + (bend < 0 ? 0.5 * (double)w * (a - c) / bend : 0);
}

/* From multiple to multiple, each the double of the one before, the lag becomes more exact. */
static void refine(struct layout *l)
{
	double lag = parabola(l, (size_t)l->lag);

	for (double m = 2; m * lag + 2 < (double)l->lags; m *= 2) {
		double near = fmin(fmax(lag / 8, 1), 0.45 * lag), at = m * lag;
		size_t top = highest(l, (size_t)ceil(at - near), (size_t)(at + near));

		if (l->r[top] < 0.4 * l->height)
			break;
		lag = parabola(l, top) / m;
	}
	l->lag = lag;
}

/*
 * What is left of the height over the multiples of the lag: laps that are not all alike blur by
 * time what follows the laps, and the other way round.
 */
static double lasting(const struct layout *l)
{
	double sum = 0;
	size_t m = 0;

	while (m < LASTS && round((double)(m + 1) * l->lag) < (double)l->lags)
		sum += l->r[(size_t)round((double)++m * l->lag)];
	return m ? sum / (double)m : l->height;
}

int layout_find(struct layout *l)
{
	size_t from, least = l->by_lap ? 2 : 4;
	double spread = 1; /* of one disturbance over the bins that are summed */
	int rc = correlate(l->v, l->n, l->r, l->lags);

	if (rc)
		return rc;
	from = end_of_decay(l);
	if (!l->by_lap) {
		spread += 2 * fmax(l->r[1], 0);
		widen(l);
	}
	find_lag(l, from < least ? least : from);
	if (l->lag > 0) {
		refine(l);
		l->height = lasting(l) / spread;
	}
	return 0;
}
