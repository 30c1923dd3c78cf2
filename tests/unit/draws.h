/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random samples from a fixed seed, the same on every machine. */
#ifndef TESTS_DRAWS_H
#define TESTS_DRAWS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct draws {
	uint64_t x; /* not 0 */
};

static inline uint64_t draw_bits(struct draws *d)
{
	d->x ^= d->x << 13;
	d->x ^= d->x >> 7;
	d->x ^= d->x << 17;
	return d->x * 0x2545f4914f6cdd1d;
}

/* In (0, 1). */
static inline double draw_uniform(struct draws *d)
{
	return (double)(draw_bits(d) >> 11) * 0x1p-53 + 0x1p-54;
}

static inline double draw_normal(struct draws *d)
{
	double r = sqrt(-2 * log(draw_uniform(d)));

	return r * cos(2 * M_PI * draw_uniform(d));
}

static inline double draw_exponential(struct draws *d)
{
	return -log(draw_uniform(d));
}

/* A tenth of a long test in the everyday run, all of it with UNIT_ALL=1 (make soak). */
static inline uint64_t tests_share(uint64_t all)
{
	const char *whole = getenv("UNIT_ALL");

	return whole && *whole == '1' ? all : all / 10;
}

#endif
