/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How far one distribution lies from another: the Hodges-Lehmann shift, the median of all
 * differences of a sample of one and a sample of the other. Pure.
 *
 * Its interval comes from the same differences: those of rank half +/- z standard deviations of
 * the Mann-Whitney count, whose variance is that of as many samples as are independent
 * (common/interval.h).
 */
#ifndef SHIFT_H
#define SHIFT_H

#include <stddef.h>
#include <stdint.h>

struct shift {
	double by, lo, hi; /* in the unit of a_unit * a */
};

/* Sorted samples, each times its unit; effective: independent samples of each. a_n, b_n > 0. */
struct shift_side {
	const uint64_t *v;
	size_t n;
	double unit, effective;
};

void shift_find(const struct shift_side *a, const struct shift_side *b, double level,
		struct shift *out);

#endif
