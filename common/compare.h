/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Is one series slower than another? By the shift of their distributions, not by single figures. */
#ifndef COMMON_COMPARE_H
#define COMMON_COMPARE_H

#include <jansson.h>
#include <stdio.h>

#include "analysis.h"
#include "option_stats.h"
#include "shift.h"

enum verdict {
	VERDICT_SAME,	   /* the whole interval lies within the tolerance */
	VERDICT_FASTER,	   /* ... below it */
	VERDICT_SLOWER,	   /* ... above it */
	VERDICT_UNDECIDED, /* the interval reaches over an edge: more samples are needed */
};

/* Figures in usec, or in cycles where one of the series has no clock. */
struct comparison {
	const struct analysis *a, *b;
	bool cycles;
	double median[2];
	struct shift shift; /* of b against a, with its 95 % interval */
	double tolerance;
	double p90, p99, p99_9, max; /* of b divided by that of a; NAN: not known */
	enum verdict verdict;
};

/* 0, or -1 with EXIT_MISUSE where the units cannot be compared. */
int compare_run(struct comparison *c, const struct analysis *a, const struct analysis *b,
		const struct option_tolerance *tolerance, bool cycles, struct error *err);
void compare_text(FILE *out, const struct comparison *c);
json_t *compare_json(const struct comparison *c);

#endif
