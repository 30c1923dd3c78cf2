/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "histogram.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void histogram_init(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

uint64_t histogram_low(unsigned int index)
{
	unsigned int octave = index >> HISTOGRAM_BITS;

	octave -= octave > 0; /* the first two are one bucket a value */
	return (uint64_t)(index - (octave << HISTOGRAM_BITS)) << octave;
}

uint64_t histogram_high(unsigned int index)
{
	return index + 1 < HISTOGRAM_BUCKETS ? histogram_low(index + 1) - 1 : UINT64_MAX;
}

void histogram_merge(struct histogram *dst, const struct histogram *src)
{
	double move = (double)(int64_t)(src->shift - dst->shift), n = (double)src->count;

	if (!src->count)
		return;
	if (!dst->count) {
		*dst = *src;
		return;
	}
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++)
		dst->bucket[i] += src->bucket[i];
	if (src->max > dst->max) {
		dst->max = src->max;
		dst->max_at = src->max_at ? dst->count + src->max_at : 0;
	}
	if (src->min < dst->min)
		dst->min = src->min;
	dst->count += src->count;
	dst->sum_sq += src->sum_sq + 2 * move * src->sum + move * move * n;
	dst->sum += src->sum + move * n;
}

/* Extremes of an interval, from its buckets and the extremes of the run so far. */
static void bound_interval(struct histogram *out, uint64_t run_min, uint64_t run_max)
{
	unsigned int lo = 0, hi = HISTOGRAM_BUCKETS - 1;

	while (!out->bucket[lo])
		lo++;
	while (!out->bucket[hi])
		hi--;
	out->min = histogram_low(lo) < run_min ? run_min : histogram_low(lo);
	out->max = histogram_high(hi) > run_max ? run_max : histogram_high(hi);
}

int histogram_subtract(const struct histogram *later, const struct histogram *earlier,
		       struct histogram *out)
{
	uint64_t min = later->min, max = later->max, seen = earlier->count;
	uint64_t max_at = later->max_at > seen ? later->max_at - seen : 0;

	if (seen > later->count || (seen && earlier->shift != later->shift))
		return -EINVAL;
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (earlier->bucket[i] > later->bucket[i])
			return -EINVAL;
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++)
		out->bucket[i] = later->bucket[i] - earlier->bucket[i];
	out->count = later->count - seen;
	out->shift = later->shift;
	out->sum = later->sum - earlier->sum;
	out->sum_sq = fmax(later->sum_sq - earlier->sum_sq, 0);
	out->max_at = max_at;
	out->min = UINT64_MAX;
	out->max = 0;
	if (out->count)
		bound_interval(out, min, max);
	return 0;
}

/* Middle of the bucket that holds the rank. */
static double bucket_at(const void *set, uint64_t rank)
{
	const struct histogram *h = set;
	uint64_t lo, hi, seen = 0;
	unsigned int i = 0;
	double middle;

	for (; i < HISTOGRAM_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			break;
	}
	lo = histogram_low(i);
	hi = histogram_high(i);
	middle = (double)lo + (double)(hi - lo) / 2;
	return fmin(fmax(middle, (double)h->min), (double)h->max);
}

int histogram_summarise(const struct histogram *h, struct stats *out)
{
	double n = (double)h->count, squares;

	if (!h->count)
		return -EINVAL;
	*out = (struct stats){ .n = h->count, .min = h->min, .max = h->max, .max_at = h->max_at };
	out->mean = (double)h->shift + h->sum / n;
	squares = fmax(h->sum_sq - h->sum * h->sum / n, 0);
	out->stdev = h->count < 2 ? NAN : sqrt(squares / (n - 1));
	stats_from_ranks(out, bucket_at, h);
	return 0;
}
