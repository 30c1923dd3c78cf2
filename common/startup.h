/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Start-up: how many laps at the beginning are slower than the steady state, and by how much.
 * Pure.
 *
 * The second half of the samples stands for the steady state. Each lap is given u, the share of
 * steady samples that are at least as slow; beyond the largest of them u falls on with the square
 * of the distance. Laps of the steady state have u evenly spread, laps of a start-up have small
 * ones, with a density of a u^(a-1). The start-up is the prefix with the largest sum of
 * log(a u^(a-1)); by chance that sum exceeds s with a probability of at most exp(-s), so
 * STARTUP_EVIDENCE keeps false ones below one in 400 runs, below one in 100 with a heavier tail. A
 * "start-up" that reaches beyond a quarter of the samples is none: change points tell of it.
 */
#ifndef STARTUP_H
#define STARTUP_H

#include <stddef.h>
#include <stdint.h>

#define STARTUP_EVIDENCE 6.0
#define STARTUP_LEAST	 20 /* samples below which nothing is said */

struct startup {
	uint64_t laps; /* 0: none */
	double excess; /* median of those laps less the steady median */
};

/*
 * v[n]: the first samples in order of measurement, of @total in the run; a start-up has to end
 * among them. steady[m]: samples of its second half, ascending. 0 or -ENOMEM.
 */
int startup_find(const uint64_t *v, size_t n, uint64_t total, const uint64_t *steady, size_t m,
		 struct startup *out);

#endif
