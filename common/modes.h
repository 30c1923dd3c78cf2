/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two modes: samples that lie in two clusters, each of which holds at least a fifth of them, so
 * that the median says little. Pure.
 *
 * No bins and no model: the width of a window of MODES_WINDOW of the samples is the inverse of
 * their density. Two modes are there when a window between the first and the last fifth is wider
 * by MODES_RATIO than some window to its left and than some window to its right (a valley between
 * two peaks), by more than chance does it with so few samples, and the medians of both sides are
 * at least MODES_APART apart. A long tail is no second mode: its density only falls.
 */
#ifndef MODES_H
#define MODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODES_WINDOW 0.02
#define MODES_RATIO  2.0
#define MODES_APART  0.02 /* of the lower median */
#define MODES_LEAST  0.2  /* share of each cluster */
#define MODES_MIN    50	  /* samples below which nothing is said */

struct mode {
	double median, share;
};

struct modes {
	bool two; /* the rest is known only then */
	struct mode low, high;
	uint64_t highest; /* the largest sample of the low cluster */
};

/* Ascending samples. 0 or -ENOMEM. */
int modes_find(const uint64_t *sorted, size_t n, struct modes *out);

#endif
