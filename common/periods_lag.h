/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Within periods.c: a series by lap or by time, and the lag at which it repeats. Pure. */
#ifndef PERIODS_LAG_H
#define PERIODS_LAG_H

#include <stdbool.h>
#include <stddef.h>

/* The series by lap or by time, and its autocorrelation. */
struct layout {
	bool by_lap;
	size_t n;      /* laps or bins */
	double bin;    /* ticks; by lap: 0 */
	double *v, *r; /* v[n], r[lags] */
	size_t lags;
	double noise;  /* deviation of r where nothing is */
	double lag;    /* what was found, to a fraction of a bin; 0: nothing */
	double height; /* mean autocorrelation at its multiples */
};

/* From v: r, noise, lag and height. 0 or -ENOMEM. */
int layout_find(struct layout *l);

#endif
