/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

#define SEGMENT_LEAST 3	    /* blocks */
#define BLOCK_LEAST   8	    /* samples */
#define TRIMMED	      0.01  /* of the differences: the steps themselves */
#define NOISE_FLOOR   0.001 /* of the level: what a coarse clock hides */

/* The partition of x[0..n): best cost up to each block, and where its last segment begins. */
struct partition {
	double *cost, *sum, *squares;
	size_t *last;
};

uint64_t changes_block(uint64_t n)
{
	uint64_t block = n / CHANGES_BLOCKS + (n % CHANGES_BLOCKS > 0);

	return block < BLOCK_LEAST ? BLOCK_LEAST : block;
}

size_t changes_medians(const uint64_t *v, size_t n, uint64_t block, uint64_t *scratch,
		       double *medians)
{
	size_t blocks = (size_t)(n / block);

	for (size_t b = 0; b < blocks; b++) {
		uint64_t *s = scratch, lo;

		memcpy(s, v + b * block, block * sizeof(*s));
		sort_u64(s, block, scratch + block);
		lo = s[(block - 1) / 2];
		medians[b] = (double)lo + (double)(s[block / 2] - lo) / 2;
	}
	return blocks;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(const double *v, size_t n, double *scratch)
{
	memcpy(scratch, v, n * sizeof(*v));
	qsort(scratch, n, sizeof(*v), compare);
	return (scratch[(n - 1) / 2] + scratch[n / 2]) / 2;
}

/* Running median of five; the ends take what there is. */
static void smooth(const double *v, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++) {
		size_t from = i < 2 ? 0 : i - 2, to = i + 3 > n ? n : i + 3;
		double five[5];

		out[i] = median_of(v + from, to - from, five);
	}
}

/* Variance of one median from differences over @apart blocks; scratch[n]. */
static double variance_of(const double *v, size_t n, size_t apart, double *scratch)
{
	size_t count = n - apart, kept = count - (size_t)ceil((double)count * TRIMMED);
	double squares = 0, robust;

	for (size_t i = 0; i < count; i++)
		scratch[i] = fabs(v[i + apart] - v[i]);
	qsort(scratch, count, sizeof(*scratch), compare);
	robust = pow(1.4826 * scratch[count / 2], 2) / 2;
	if (apart > 1)
		return robust;
	for (size_t i = 0; i < kept; i++)
		squares += scratch[i] * scratch[i] / 2;
	return fmax(squares / (double)kept, robust);
}

static double segment_cost(const struct partition *p, size_t from, size_t to)
{
	double sum = p->sum[to] - p->sum[from];

	return p->squares[to] - p->squares[from] - sum * sum / (double)(to - from);
}

/* Every last segment for every prefix: blocks are few. */
static void partition_run(struct partition *p, size_t n, double penalty)
{
	p->cost[0] = -penalty;
	for (size_t to = 1; to <= n; to++) {
		p->cost[to] = INFINITY;
		for (size_t from = 0; from + SEGMENT_LEAST <= to; from++) {
			double c = p->cost[from] + segment_cost(p, from, to) + penalty;

			if (c < p->cost[to]) {
				p->cost[to] = c;
				p->last[to] = from;
			}
		}
	}
}

/* Starts of all segments but the first, in order; returns their number. */
static size_t partition_starts(const struct partition *p, size_t n, size_t *starts)
{
	size_t count = 0, i = 0;

	for (size_t to = n; p->last[to]; to = p->last[to])
		count++;
	for (size_t to = n; p->last[to]; to = p->last[to])
		starts[count - ++i] = p->last[to];
	return count;
}

static int partition_find(const double *x, size_t n, double penalty, size_t *starts, size_t *count)
{
	double *room = malloc(3 * (n + 1) * sizeof(*room));
	size_t *last = calloc(n + 1, sizeof(*last));
	struct partition p = { room, room + n + 1, room + 2 * (n + 1), last };

	if (!room || !last) {
		free(room);
		free(last);
		return -ENOMEM;
	}
	p.sum[0] = p.squares[0] = 0;
	for (size_t i = 0; i < n; i++) { /* from the first, so that squares stay small */
		double d = x[i] - x[0];

		p.sum[i + 1] = p.sum[i] + d;
		p.squares[i + 1] = p.squares[i] + d * d;
	}
	partition_run(&p, n, penalty);
	*count = partition_starts(&p, n, starts);
	free(room);
	free(last);
	return 0;
}

/* Levels on both sides of each start; those that are too close to each other become one. */
static size_t join_segments(const double *x, size_t n, size_t *starts, size_t count,
			    double *scratch, struct change *out)
{
	for (;;) {
		size_t least = count;
		double step = INFINITY;

		for (size_t i = 0; i < count; i++) {
			size_t from = i ? starts[i - 1] : 0, to = i + 1 < count ? starts[i + 1] : n;
			double size;

			out[i].before = median_of(x + from, starts[i] - from, scratch);
			out[i].after = median_of(x + starts[i], to - starts[i], scratch);
			size = fabs(out[i].after - out[i].before) /
			       fmax(fmin(out[i].after, out[i].before), 1);
			if (size < step) {
				step = size;
				least = i;
			}
		}
		if (least == count || step >= CHANGES_LEAST)
			return count;
		count--;
		memmove(starts + least, starts + least + 1, (count - least) * sizeof(*starts));
	}
}

static int find_in(const double *medians, size_t n, double *smoothed, double *scratch,
		   size_t *starts, struct change *found, size_t *count)
{
	double variance =
		fmax(variance_of(medians, n, 1, scratch), variance_of(medians, n, 4, scratch));
	double floor = NOISE_FLOOR * median_of(medians, n, scratch);
	int rc;

	variance = fmax(variance, fmax(floor * floor, 1.0 / 12));
	smooth(medians, n, smoothed);
	rc = partition_find(smoothed, n, CHANGES_PENALTY * log((double)n) * variance, starts,
			    count);
	if (!rc)
		*count = join_segments(medians, n, starts, *count, scratch, found);
	return rc;
}

int changes_find(const double *medians, size_t blocks, uint64_t block, struct change *out,
		 size_t cap, size_t *count)
{
	double *room;
	size_t *starts;
	struct change *found;
	int rc = -ENOMEM;

	*count = 0;
	if (blocks < CHANGES_MIN)
		return 0;
	room = malloc(2 * blocks * sizeof(*room));
	starts = malloc(blocks * sizeof(*starts));
	found = malloc(blocks * sizeof(*found));
	if (room && starts && found)
		rc = find_in(medians, blocks, room, room + blocks, starts, found, count);
	if (*count > cap)
		*count = cap;
	for (size_t i = 0; i < *count; i++) {
		out[i] = found[i];
		out[i].lap = starts[i] * block;
	}
	free(room);
	free(starts);
	free(found);
	return rc;
}

size_t changes_refine(const uint64_t *v, size_t n, double before, double after)
{
	double sum = 0, best = 0;
	size_t at = 0;

	/* Each sample speaks for the nearer level, with at most the distance of the two. */
	for (size_t i = 0; i < n; i++) {
		sum += fabs((double)v[i] - before) - fabs((double)v[i] - after);
		if (sum < best) {
			best = sum;
			at = i + 1;
		}
	}
	return at;
}
