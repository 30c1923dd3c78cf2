/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The largest samples of a run whose samples are only counted, with their places. Pure. */
#ifndef COMMON_WORST_H
#define COMMON_WORST_H

#include <stdint.h>

#define WORST_MAX 100

struct worst_sample {
	uint64_t value, lap, at; /* lap from 1; at: when it ended, both counter units */
};

struct worst {
	unsigned int count;
	uint64_t floor; /* no sample up to here is among them */
	struct worst_sample v[WORST_MAX]; /* a heap: the smallest first */
};

void worst_init(struct worst *w);
void worst_insert(struct worst *w, uint64_t value, uint64_t lap, uint64_t at);

static inline void worst_see(struct worst *w, uint64_t value, uint64_t lap, uint64_t at)
{
	if (__builtin_expect(value > w->floor, 0))
		worst_insert(w, value, lap, at);
}

/* The largest first; of equal ones the earlier. No more may be inserted after it. */
void worst_sort(struct worst *w);

#endif
