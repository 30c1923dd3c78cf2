/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stats.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "samples.h"

#define RADIX_BITS 8
#define RADIX_SIZE (1 << RADIX_BITS)

/* One byte of the value: count, then place, in order. */
static void radix_pass(const uint64_t *from, uint64_t *to, size_t n, unsigned int bit)
{
	size_t place[RADIX_SIZE] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		place[from[i] >> bit & (RADIX_SIZE - 1)]++;
	for (unsigned int d = 0; d < RADIX_SIZE; d++) {
		size_t count = place[d];

		place[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[place[from[i] >> bit & (RADIX_SIZE - 1)]++] = from[i];
}

void sort_u64(uint64_t *v, size_t n, uint64_t *scratch)
{
	uint64_t *from = v, *to = scratch, varying = 0;

	for (size_t i = 1; i < n; i++)
		varying |= v[i] ^ v[0];
	for (unsigned int bit = 0; bit < 64; bit += RADIX_BITS) {
		uint64_t *t = from;

		if (!(varying >> bit & (RADIX_SIZE - 1)))
			continue; /* the byte is the same in all */
		radix_pass(from, to, n, bit);
		from = to;
		to = t;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
}

uint64_t stats_rank(uint64_t n, uint64_t per)
{
	return n < per ? 0 : n - n / per; /* ceil(n * (1 - 1/per)), in integers */
}

/* Binomial(n, 1/2) at n/2, n even: (1/2)(3/4)(5/6)..., and its asymptotic series. */
static double binomial_middle(uint64_t n)
{
	double x = (double)n, product = 1;

	if (n > 4096)
		return sqrt(2 / (M_PI * x)) * (1 - 1 / (4 * x) + 1 / (32 * x * x));
	for (uint64_t i = 2; i <= n; i += 2)
		product *= (double)(i - 1) / (double)i;
	return product;
}

int stats_median_ranks(uint64_t n, double level, uint64_t *lo, uint64_t *hi)
{
	uint64_t k = (n - 1) / 2;
	double tail = (1 - level) / 2;
	double pmf, cdf; /* of Binomial(n, 1/2) at k */

	if (!n)
		return -ERANGE;
	if (n % 2) {
		pmf = binomial_middle(n + 1);
		cdf = 0.5;
	} else {
		double middle = binomial_middle(n);

		pmf = middle * (double)(n / 2) / (double)(n / 2 + 1);
		cdf = (1 - middle) / 2;
	}
	/* Down from the middle, where the sum is known: about sqrt(n) steps. */
	for (; cdf > tail; k--) {
		if (!k)
			return -ERANGE;
		cdf -= pmf;
		pmf *= (double)k / (double)(n - k + 1);
	}
	*lo = k + 1;
	*hi = n - k;
	return 0;
}

static double value_at(double (*at)(const void *, uint64_t), const void *set, uint64_t rank)
{
	return rank ? at(set, rank) : NAN;
}

void stats_from_ranks(struct stats *s, double (*at)(const void *set, uint64_t rank),
		      const void *set)
{
	uint64_t n = s->n, lo = 0, hi = 0;

	s->median = at(set, (n + 1) / 2);
	if (n % 2 == 0)
		s->median += (at(set, n / 2 + 1) - s->median) / 2;
	if (stats_median_ranks(n, 0.95, &lo, &hi))
		lo = hi = 0;
	s->ci95_lo = value_at(at, set, lo);
	s->ci95_hi = value_at(at, set, hi);
	s->p90 = value_at(at, set, stats_rank(n, 10));
	s->p99 = value_at(at, set, stats_rank(n, 100));
	s->p99_9 = value_at(at, set, stats_rank(n, 1000));
	s->p99_99 = value_at(at, set, stats_rank(n, 10000));
}

static double sorted_at(const void *set, uint64_t rank)
{
	return (double)((const uint64_t *)set)[rank - 1];
}

/* Two passes over the distance from the smallest: equal samples deviate by exactly 0. */
static void moments_compute(const uint64_t *sorted, size_t n, struct stats *out)
{
	double sum = 0, squares = 0, rest = 0, mean;

	for (size_t i = 0; i < n; i++)
		sum += (double)(sorted[i] - sorted[0]);
	mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		double d = (double)(sorted[i] - sorted[0]) - mean;

		squares += d * d;
		rest += d; /* 0 but for rounding */
	}
	out->mean = (double)sorted[0] + mean;
	squares -= rest * rest / (double)n;
	out->stdev = n < 2 ? NAN : sqrt(fmax(squares, 0) / (double)(n - 1));
}

int stats_from_sorted(const uint64_t *sorted, size_t n, struct stats *out)
{
	if (!n)
		return -EINVAL;
	*out = (struct stats){ .n = n, .min = sorted[0], .max = sorted[n - 1] };
	moments_compute(sorted, n, out);
	stats_from_ranks(out, sorted_at, sorted);
	return 0;
}

int stats_summarise_into(const uint64_t *samples, size_t n, uint64_t *sorted, uint64_t *scratch,
			 struct stats *out)
{
	size_t at = 0;
	int rc;

	for (size_t i = 1; i < n; i++)
		if (samples[i] > samples[at])
			at = i;
	memcpy(sorted, samples, n * sizeof(*samples));
	sort_u64(sorted, n, scratch);
	rc = stats_from_sorted(sorted, n, out);
	if (!rc)
		out->max_at = at + 1;
	return rc;
}

int stats_summarise(const uint64_t *samples, size_t n, struct stats *out)
{
	struct samples both;
	int rc;

	if (!n)
		return -EINVAL;
	if (n > SIZE_MAX / 2 || samples_open(&both, 2 * n))
		return -ENOMEM;
	rc = stats_summarise_into(samples, n, both.v, both.v + n, out);
	samples_close(&both);
	return rc;
}

void stats_scale(const struct stats *s, double factor, struct stats_view *out)
{
	*out = (struct stats_view){
		.n = s->n,
		.max_at = s->max_at,
		.min = (double)s->min * factor,
		.max = (double)s->max * factor,
		.median = s->median * factor,
		.mean = s->mean * factor,
		.stdev = s->stdev * factor,
		.p90 = s->p90 * factor,
		.p99 = s->p99 * factor,
		.p99_9 = s->p99_9 * factor,
		.p99_99 = s->p99_99 * factor,
		.ci95_lo = s->ci95_lo * factor,
		.ci95_hi = s->ci95_hi * factor,
	};
}
