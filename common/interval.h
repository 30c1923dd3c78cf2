/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Distribution-free interval of the median from order statistics, widened where neighbouring laps
 * are alike. Pure.
 *
 * Of n independent samples Binomial(n, 1/2) lie below the true median, so the order statistics of
 * rank n/2 + 1/2 -/+ z sqrt(n)/2 enclose it with the level that z belongs to, whatever the
 * distribution (between two ranks the value is interpolated). Laps are not independent: a slow
 * spell slows a hundred of them. What counts is the variance of the number of samples at or below
 * the median, which is n/4 times
 *
 *	inflation = 1 + 2 * (sum of the autocorrelations of the series x[i] <= median)
 *
 * and z sqrt(n) becomes z sqrt(n * inflation): as if there were n / inflation samples. The sum is
 * cut by Geyer's initial monotone sequence (sums of adjacent pairs of autocorrelations, as long as
 * they are positive, never growing), corrected for the mean that was taken from the same samples,
 * and never below 1: nothing is narrowed. Where the correlation reaches over more than
 * INTERVAL_LAGS laps, block sums continue the series, so the cost stays linear.
 */
#ifndef INTERVAL_H
#define INTERVAL_H

#include <stddef.h>
#include <stdint.h>

#define INTERVAL_LAGS 256

struct interval {
	double lo, hi;	  /* in the samples' unit */
	double inflation; /* 1: independent */
	double effective; /* n / inflation */
};

/*
 * Samples in order of measurement and the same ascending; level such as 0.95. 0, -ENOMEM, or
 * -ERANGE when there are too few for the level: lo and hi are NAN then, the rest is known.
 */
int interval_median(const uint64_t *samples, const uint64_t *sorted, size_t n, double level,
		    struct interval *out);

/* The same in parts, for samples that do not fit. Bit i of the indicator is samples[i] <= limit. */
size_t interval_words(uint64_t n);
/* Marks samples[0..n) as numbers first...; bits zeroed before the first call. */
void interval_mark(uint64_t *bits, uint64_t first, const uint64_t *samples, size_t n,
		   uint64_t limit);
/* 0 or -ENOMEM. */
int interval_inflation(const uint64_t *bits, uint64_t n, double *inflation);
/* 1-based ranks with a fraction. 0 or -ERANGE. */
int interval_ranks(uint64_t n, double inflation, double level, double *lo, double *hi);
/* z with P(|N(0,1)| <= z) = level; NAN outside (0, 1). */
double interval_normal(double level);

#endif
