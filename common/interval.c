/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "interval.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define DIRECT_MAX   16384 /* up to here every lag is looked at */
#define LEAST_WEIGHT 0.2   /* of the correction for the mean */

/* A series to correlate: bits, or sums of blocks of them. */
struct correlated {
	const uint64_t *bits; /* or NULL */
	const double *v;
	uint64_t n;
	double mean, variance;
};

/* The sum over pairs, lag by lag. */
struct sequence {
	double sum, before;
	uint64_t lags;
	bool ended;
};

size_t interval_words(uint64_t n)
{
	return (size_t)(n / 64 + 2); /* one more: a lag reads over a word's end */
}

void interval_mark(uint64_t *bits, uint64_t first, const uint64_t *samples, size_t n,
		   uint64_t limit)
{
	for (size_t i = 0; i < n; i++)
		bits[(first + i) / 64] |= (uint64_t)(samples[i] <= limit) << (first + i) % 64;
}

/* Ones among bits [from, to). */
static uint64_t count_ones(const uint64_t *bits, uint64_t from, uint64_t to)
{
	uint64_t ones = 0;

	for (uint64_t i = from; i < to && i % 64; i++)
		ones += bits[i / 64] >> i % 64 & 1;
	from += (64 - from % 64) % 64;
	for (; from + 64 <= to; from += 64)
		ones += (uint64_t)__builtin_popcountll(bits[from / 64]);
	for (; from < to; from++)
		ones += bits[from / 64] >> from % 64 & 1;
	return ones;
}

/* Places i where both i and i + lag are one. */
static uint64_t count_both(const uint64_t *bits, uint64_t n, uint64_t lag)
{
	uint64_t end = n - lag, words = end / 64, skip = lag / 64, both = 0, last;
	unsigned int shift = lag % 64;

	for (uint64_t w = 0; w < words; w++) {
		uint64_t later = bits[w + skip] >> shift;

		if (shift)
			later |= bits[w + skip + 1] << (64 - shift);
		both += (uint64_t)__builtin_popcountll(bits[w] & later);
	}
	last = words * 64;
	for (; last < end; last++)
		both += bits[last / 64] >> last % 64 &
			bits[(last + lag) / 64] >> (last + lag) % 64 & 1;
	return both;
}

static double autocorrelation(const struct correlated *c, uint64_t lag)
{
	double pairs = (double)(c->n - lag), sum = 0;

	if (c->bits) {
		double ends = (double)(count_ones(c->bits, 0, c->n - lag) +
				       count_ones(c->bits, lag, c->n));

		sum = (double)count_both(c->bits, c->n, lag) - c->mean * ends +
		      pairs * c->mean * c->mean;
	} else {
		for (uint64_t i = 0; i + lag < c->n; i++)
			sum += (c->v[i] - c->mean) * (c->v[i + lag] - c->mean);
	}
	return sum / pairs / c->variance;
}

/* Adds pairs of lags up to @most; ended when one was not positive. */
static void sequence_sum(const struct correlated *c, uint64_t most, struct sequence *s)
{
	*s = (struct sequence){ .before = INFINITY };
	for (uint64_t lag = 0; lag + 1 < most; lag += 2) {
		double pair = autocorrelation(c, lag) + autocorrelation(c, lag + 1);

		if (pair <= 0) {
			s->ended = true;
			return;
		}
		s->before = fmin(pair, s->before);
		s->sum += s->before;
		s->lags += 2;
	}
}

static double sequence_inflation(const struct sequence *s, uint64_t n)
{
	double weight = 1 - 2 * (double)s->lags / (double)n;

	return (2 * s->sum - 1) / fmax(weight, LEAST_WEIGHT);
}

static void moments(struct correlated *c)
{
	double sum = 0, squares = 0;

	for (uint64_t i = 0; i < c->n; i++)
		sum += c->v[i];
	c->mean = sum / (double)c->n;
	for (uint64_t i = 0; i < c->n; i++)
		squares += (c->v[i] - c->mean) * (c->v[i] - c->mean);
	c->variance = squares / (double)c->n;
}

/* Sums of @by neighbours, in place for the later ones. */
static uint64_t sum_blocks(const uint64_t *bits, double *v, uint64_t n, uint64_t by)
{
	for (uint64_t b = 0; b < n / by; b++) {
		double sum = 0;

		if (bits)
			sum = (double)count_ones(bits, b * by, (b + 1) * by);
		for (uint64_t i = b * by; !bits && i < (b + 1) * by; i++)
			sum += v[i];
		v[b] = sum;
	}
	return n / by;
}

/* The correlation reaches beyond the lags of single bits: go on with blocks of half of that. */
static double block_inflation(const struct correlated *bits, double *v)
{
	const uint64_t by = INTERVAL_LAGS / 2;
	struct correlated c = { .v = v, .n = bits->n };
	double size = 1, inflation;
	struct sequence s;

	do {
		c.n = sum_blocks(size == 1 ? bits->bits : NULL, v, c.n, by);
		size *= (double)by;
		moments(&c);
		if (!(c.variance > 0))
			return 1;
		sequence_sum(&c, c.n > DIRECT_MAX ? INTERVAL_LAGS : c.n / 2, &s);
	} while (!s.ended && c.n > DIRECT_MAX);
	inflation = fmax(sequence_inflation(&s, c.n), 1);
	return inflation * c.variance / (size * bits->variance);
}

int interval_inflation(const uint64_t *bits, uint64_t n, double *inflation)
{
	struct correlated c = { .bits = bits, .n = n };
	struct sequence s;
	double *v;

	*inflation = 1;
	if (n < 2)
		return 0;
	c.mean = (double)count_ones(bits, 0, n) / (double)n;
	c.variance = c.mean * (1 - c.mean);
	if (!(c.variance > 0))
		return 0; /* all samples are equal */
	sequence_sum(&c, n > DIRECT_MAX ? INTERVAL_LAGS : n / 2, &s);
	if (s.ended || n <= DIRECT_MAX) {
		*inflation = fmax(sequence_inflation(&s, n), 1);
		return 0;
	}
	v = malloc((size_t)(n / (INTERVAL_LAGS / 2) + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	*inflation = fmax(block_inflation(&c, v), 1);
	free(v);
	return 0;
}

double interval_normal(double level)
{
	double z = 1;

	if (!(level > 0 && level < 1))
		return NAN;
	/* Newton on log(1 - level): convex, so no step overshoots from the left. */
	for (int i = 0; i < 60; i++) {
		double tail = erfc(z / M_SQRT2);
		double slope = sqrt(2 / M_PI) * exp(-z * z / 2);

		z += (log(tail) - log1p(-level)) * tail / slope;
	}
	return z;
}

int interval_ranks(uint64_t n, double inflation, double level, double *lo, double *hi)
{
	double half = interval_normal(level) * sqrt((double)n * inflation) / 2;

	*lo = (double)n / 2 + 0.5 - half;
	*hi = (double)n / 2 + 0.5 + half;
	return *lo >= 1 ? 0 : -ERANGE;
}

static double value_at(const uint64_t *sorted, size_t n, double rank)
{
	size_t i = (size_t)rank;
	double low = (double)sorted[i - 1];

	return i < n ? low + (rank - (double)i) * ((double)sorted[i] - low) : low;
}

int interval_median(const uint64_t *samples, const uint64_t *sorted, size_t n, double level,
		    struct interval *out)
{
	uint64_t *bits;
	double lo, hi;
	int rc;

	*out = (struct interval){ .lo = NAN, .hi = NAN, .inflation = 1, .effective = (double)n };
	if (!n)
		return -ERANGE;
	bits = calloc(interval_words(n), sizeof(*bits));
	if (!bits)
		return -ENOMEM;
	interval_mark(bits, 0, samples, n, sorted[(n - 1) / 2]);
	rc = interval_inflation(bits, n, &out->inflation);
	free(bits);
	if (rc)
		return rc;
	out->effective = (double)n / out->inflation;
	rc = interval_ranks(n, out->inflation, level, &lo, &hi);
	if (rc)
		return rc;
	out->lo = value_at(sorted, n, lo);
	out->hi = value_at(sorted, n, hi);
	return 0;
}
