/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "startup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

#define DENSITY 0.2 /* a: a start-up's laps are half the time in the slowest 3 % */

static double median_of(const uint64_t *sorted, size_t n)
{
	uint64_t lo = sorted[(n - 1) / 2];

	return (double)lo + (double)(sorted[n / 2] - lo) / 2;
}

/* Number of steady samples that are at least as slow. */
static size_t at_least(const uint64_t *steady, size_t m, uint64_t v)
{
	size_t lo = 0, hi = m;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (steady[middle] < v)
			lo = middle + 1;
		else
			hi = middle;
	}
	return m - lo;
}

/* In (0, 1]. */
static double share_as_slow(const uint64_t *steady, size_t m, double median, uint64_t v)
{
	size_t count = at_least(steady, m, v);
	double most = (double)steady[m - 1], reach = fmax(most - median, 1);
	double u = ((double)count + 1) / ((double)m + 1);

	if (!count)
		u *= pow(reach / ((double)v - median), 2);
	return fmin(u, 1);
}

/* Length of the prefix that speaks most for a start-up. */
static size_t best_prefix(const uint64_t *v, size_t n, const uint64_t *steady, size_t m,
			  double median)
{
	double sum = 0, most = 0;
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		double u = share_as_slow(steady, m, median, v[i]);

		sum += log(DENSITY) + (DENSITY - 1) * log(u);
		if (sum > most) {
			most = sum;
			best = i + 1;
		}
	}
	return most >= STARTUP_EVIDENCE ? best : 0;
}

int startup_find(const uint64_t *v, size_t n, uint64_t total, const uint64_t *steady, size_t m,
		 struct startup *out)
{
	double median;
	uint64_t *sorted;
	size_t laps;

	*out = (struct startup){ 0 };
	if (total < STARTUP_LEAST || !m || !n)
		return 0;
	median = median_of(steady, m);
	/* A little beyond the longest start-up, to see that it ends. */
	if (n > total / 4 + total / 16)
		n = (size_t)(total / 4 + total / 16);
	laps = best_prefix(v, n, steady, m, median);
	if (!laps || laps > total / 4 || laps == n)
		return 0;
	sorted = malloc(2 * laps * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, v, laps * sizeof(*sorted));
	sort_u64(sorted, laps, sorted + laps);
	*out = (struct startup){ laps, median_of(sorted, laps) - median };
	free(sorted);
	if (!(out->excess > 0))
		*out = (struct startup){ 0 };
	return 0;
}
