/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Log-linear histogram in constant memory, for runs whose samples do not fit: 128 buckets an
 * octave, so a percentile is off by at most 0.4 %, and exact below 256. Minimum, maximum and count
 * are exact; mean and deviation as good as a double. 58 KiB: keep it off the stack.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include "stats.h"

#define HISTOGRAM_BITS	  7
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS)

struct histogram {
	uint64_t count, min, max, max_at; /* max_at: 1-based */
	uint64_t shift; /* the first sample; sums are of v - shift, so that they stay small */
	double sum, sum_sq;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

static inline unsigned int histogram_index(uint64_t v)
{
	unsigned int octave = 63 - HISTOGRAM_BITS - (unsigned int)__builtin_clzll(v | 0xff);

	return (octave << HISTOGRAM_BITS) + (unsigned int)(v >> octave);
}

static inline void histogram_add(struct histogram *h, uint64_t v)
{
	double d;

	if (__builtin_expect(!h->count, 0)) {
		h->shift = h->max = v;
		h->max_at = 1;
	}
	d = (double)(int64_t)(v - h->shift);
	h->bucket[histogram_index(v)]++;
	h->count++;
	h->sum += d;
	h->sum_sq += d * d;
	if (__builtin_expect(v < h->min, 0))
		h->min = v;
	if (__builtin_expect(v > h->max, 0)) {
		h->max = v;
		h->max_at = h->count;
	}
}

void histogram_init(struct histogram *h);
/* As if src's samples had followed dst's. */
void histogram_merge(struct histogram *dst, const struct histogram *src);
/*
 * out = what came between two snapshots of one histogram, `earlier` first. Its min, max are those
 * of the run where they fell into the interval, else bucket bounds; max_at is 0 unless known.
 * -EINVAL when earlier is not a snapshot of the same histogram. out may be either of them.
 */
int histogram_subtract(const struct histogram *later, const struct histogram *earlier,
		       struct histogram *out);
/* Lowest and highest value of a bucket. */
uint64_t histogram_low(unsigned int index);
uint64_t histogram_high(unsigned int index);
/* Percentiles and median: middle of the bucket, clipped to [min, max]. -EINVAL when empty. */
int histogram_summarise(const struct histogram *h, struct stats *out);

#endif
