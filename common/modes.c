/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "modes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CHANCE 5.0 /* over the root of the window's samples: two deviations of 2.5 */

/* Windows of m + 1 samples: their widths, and the narrowest from each one on. */
struct windows {
	double *width, *after;
	size_t count, m;
};

/* The clock's step: what no two different samples are closer than. */
static double resolution(const uint64_t *sorted, size_t n)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 1; i < n; i++)
		if (sorted[i] != sorted[i - 1] && sorted[i] - sorted[i - 1] < least)
			least = sorted[i] - sorted[i - 1];
	return (double)least;
}

static int windows_open(struct windows *w, const uint64_t *sorted, size_t n)
{
	double step = resolution(sorted, n), least = INFINITY;

	w->m = (size_t)((double)n * MODES_WINDOW);
	if (w->m < 8)
		w->m = 8;
	w->count = n - w->m;
	w->width = malloc(2 * w->count * sizeof(*w->width));
	if (!w->width)
		return -ENOMEM;
	w->after = w->width + w->count;
	/* Equal samples are as dense as the clock can tell. */
	for (size_t i = 0; i < w->count; i++)
		w->width[i] = (double)(sorted[i + w->m] - sorted[i]) + step;
	for (size_t i = w->count; i-- > 0;) {
		least = fmin(least, w->width[i]);
		w->after[i] = least;
	}
	return 0;
}

/* The window that is widest against the narrowest on either side; its ratio in *ratio. */
static size_t deepest_valley(const struct windows *w, size_t n, double *ratio)
{
	size_t least = (size_t)((double)n * MODES_LEAST), half = w->m / 2, best = 0;
	double before = INFINITY;

	*ratio = 0;
	for (size_t i = half; i + half < w->count; i++) {
		double r;

		before = fmin(before, w->width[i - half]);
		if (i + half < least || i + half > n - least)
			continue;
		r = w->width[i] / fmax(before, w->after[i + half]);
		if (r > *ratio) {
			*ratio = r;
			best = i;
		}
	}
	return best;
}

/* First sample behind the widest gap of a window. */
static size_t widest_gap(const uint64_t *sorted, size_t first, size_t m)
{
	size_t at = first + 1;

	for (size_t i = first + 1; i <= first + m; i++)
		if (sorted[i] - sorted[i - 1] > sorted[at] - sorted[at - 1])
			at = i;
	return at;
}

static double median_of(const uint64_t *sorted, size_t n)
{
	uint64_t lo = sorted[(n - 1) / 2];

	return (double)lo + (double)(sorted[n / 2] - lo) / 2;
}

int modes_find(const uint64_t *sorted, size_t n, struct modes *out)
{
	struct windows w;
	double ratio, share;
	size_t at;

	*out = (struct modes){ .two = false };
	if (n < MODES_MIN || sorted[0] == sorted[n - 1])
		return 0;
	if (windows_open(&w, sorted, n))
		return -ENOMEM;
	at = widest_gap(sorted, deepest_valley(&w, n, &ratio), w.m);
	free(w.width);
	share = (double)at / (double)n;
	out->low = (struct mode){ median_of(sorted, at), share };
	out->high = (struct mode){ median_of(sorted + at, n - at), 1 - share };
	out->highest = sorted[at - 1];
	out->two = ratio >= MODES_RATIO * exp(CHANCE / sqrt((double)w.m)) && share >= MODES_LEAST &&
		   share <= 1 - MODES_LEAST &&
		   out->high.median - out->low.median >= MODES_APART * out->low.median;
	return 0;
}
