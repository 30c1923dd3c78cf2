/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How well some runs agree on a figure: the interval of their mean by Student's t, as netperf has
 * it. The laps of one run share its CPUs, caches and paths; only runs show what changes with
 * those. Pure.
 */
#ifndef COMMON_CONFIDENCE_H
#define COMMON_CONFIDENCE_H

struct confidence {
	unsigned int n;
	double mean, least, most;
	double half;         /* of the interval's width, in the values' unit; NAN for n < 2 */
	double half_percent; /* of the mean */
};

/* @level such as 0.99; n >= 1. */
void confidence_of(const double *v, unsigned int n, double level, struct confidence *out);

/* t with P(|T| <= t) = level for @df degrees of freedom, df >= 1. */
double confidence_t(double level, unsigned int df);

#endif
