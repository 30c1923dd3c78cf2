/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The array of counter stamps that a timed loop fills, and what becomes of it. Its pages are
 * there before the run: a page fault in the loop would be a period of 512 laps in the result.
 */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct samples {
	uint64_t *v;  /* NULL when closed */
	size_t cap;   /* elements */
	size_t bytes; /* as mapped */
};

/* Room for cap stamps, populated and zero. -EINVAL for cap 0, -EOVERFLOW, -ENOMEM. */
int samples_open(struct samples *s, size_t cap);
/* Fine on a zeroed, half-open or closed struct. */
void samples_close(struct samples *s);

/* Number of samples that `stamps` stamps give after `warmup` laps are cut; 0 if there are none. */
size_t samples_count(size_t stamps, size_t warmup);
/*
 * out[k] = t[warmup + k + 1] - t[warmup + k], in counter units, not halved; samples_count() of
 * them. out == t works in place. A step backwards becomes 0 and is counted in *backwards:
 * 0, or -ERANGE when there was one.
 */
int samples_from_stamps(const uint64_t *t, size_t stamps, size_t warmup, uint64_t *out,
			uint64_t *backwards);

#endif
