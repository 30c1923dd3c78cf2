/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Planted delays: a sum of terms, drawn once a lap (a lap is one work request of the device).
 *
 *	2us				the same each time
 *	uniform(1us,3us)		even between both ends
 *	exp(1us)			exponential with this mean
 *	periodic(512,4,20us)		of every 512 laps the first 4 take 20us, the others nothing
 *	steps(0:1us|500:5us)		from lap 0 on 1us, from lap 500 on 5us
 *	file:PATH			one delay a line (TIME, a bare number is ns), used in a ring
 *	2us+exp(1us)			terms are added
 *
 * TIME is a decimal number with ns, us, ms or s; a bare 0 is allowed. The text and its errors
 * are the subject of spec.h. All of this is pure, except dist_open(), which reads the files.
 */
#ifndef SOFTVERBS_DIST_H
#define SOFTVERBS_DIST_H

#include <stddef.h>
#include <stdint.h>

#define DIST_TERMS 8
#define DIST_STEPS 16

enum dist_kind { DIST_CONST, DIST_UNIFORM, DIST_EXP, DIST_PERIODIC, DIST_STEP, DIST_FILE };

struct dist_step {
	uint64_t lap;
	uint64_t ns;
};

struct dist_term {
	enum dist_kind kind;
	uint64_t a, b;		/* ns: value or mean or low, high; PERIODIC: laps, laps */
	uint64_t extra;		/* ns, PERIODIC only */
	struct dist_step step[DIST_STEPS];	/* laps rising */
	int nsteps;
	char path[256];
	uint64_t *sample;	/* ns, from dist_open() */
	size_t nsamples;
};

/* n = 0: no delay was asked for, and a draw gives 0. */
struct dist {
	struct dist_term term[DIST_TERMS];
	int n;
};

/* The random numbers of one stream; equal seeds give equal streams on every machine. */
struct dist_state {
	uint64_t s[4];
};

void dist_seed(struct dist_state *st, uint64_t seed);
uint64_t dist_random(struct dist_state *st);
double dist_unit(struct dist_state *st);	/* [0, 1) */

/* Nanoseconds for this lap (laps count from 0). Each random term takes one number of st. */
uint64_t dist_draw(const struct dist *d, struct dist_state *st, uint64_t lap);

/*
 * Reads the files of all file: terms; 0, or -errno with the path in *path and the line in *line
 * (EINVAL: that line is no time; 0: the file itself). dist_close() accepts any half-open state.
 */
int dist_open(struct dist *d, const char **path, size_t *line);
void dist_close(struct dist *d);

#endif
