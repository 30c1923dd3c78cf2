/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Statistics over uint64_t samples (counter deltas of whole laps, never halved). Pure: nothing
 * is trimmed, nothing printed. What n cannot support is NAN.
 */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>
#include <stdint.h>

struct stats {
	uint64_t n, min, max;
	uint64_t max_at; /* 1-based position of the first maximum in order of measurement */
	double median;	 /* the middle one, or the mean of the two middle ones */
	double mean;
	double stdev;			/* of the sample, n - 1; NAN for n < 2 */
	double p90, p99, p99_9, p99_99; /* nearest rank; NAN below 10, 100, 1000, 10000 samples */
	double ci95_lo, ci95_hi;	/* of the median, from order statistics; NAN for n < 6 */
};

/* The same in another unit: usec, cycles, halved or not. */
struct stats_view {
	uint64_t n, max_at;
	double min, max, median, mean, stdev, p90, p99, p99_9, p99_99, ci95_lo, ci95_hi;
};

/* Samples in order of measurement; they stay as they are. 0, -EINVAL for n = 0, -ENOMEM (2 n). */
int stats_summarise(const uint64_t *samples, size_t n, struct stats *out);
/* The same without an allocation; leaves the sorted samples in sorted[n]; scratch[n]. */
int stats_summarise_into(const uint64_t *samples, size_t n, uint64_t *sorted, uint64_t *scratch,
			 struct stats *out);
/* From ascending samples; max_at is 0, since a sorted array does not know it. */
int stats_from_sorted(const uint64_t *sorted, size_t n, struct stats *out);
/* Every figure times factor, e.g. latency_factor(kind) * cycles_to_usec(1, hz). */
void stats_scale(const struct stats *s, double factor, struct stats_view *out);

/* 1-based nearest rank of the percentile 1 - 1/per: per = 10 is p90; 0 when n < per. */
uint64_t stats_rank(uint64_t n, uint64_t per);
/*
 * 1-based ranks of the distribution-free interval of the median at `level` (0.95), symmetric;
 * -ERANGE when n is too small for it (below 6 for 0.95).
 */
int stats_median_ranks(uint64_t n, double level, uint64_t *lo, uint64_t *hi);

/*
 * Fills the median, its interval and the percentiles of s->n samples; at(set, rank) is the value
 * of a 1-based rank.
 */
void stats_from_ranks(struct stats *s, double (*at)(const void *set, uint64_t rank),
		      const void *set);

/* Ascending, stable, skips bytes that are the same in all; scratch[n]; the result is in v. */
void sort_u64(uint64_t *v, size_t n, uint64_t *scratch);

#endif
