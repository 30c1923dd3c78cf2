/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Change points: laps from which on the level is another one. Pure.
 *
 * The samples are cut into blocks, and the medians of the blocks, freed of single odd ones by a
 * running median of five, into segments: the partition with the least sum of squares plus
 * CHANGES_PENALTY * log(blocks) * (variance of a block's median) for each change. The variance is
 * taken from differences of neighbouring blocks and of blocks four apart, whichever is larger, so
 * that neither the steps themselves nor correlated laps count as noise or as steps. A step has to
 * be CHANGES_LEAST of the level. Its place is then found lap by lap between the two levels.
 */
#ifndef CHANGES_H
#define CHANGES_H

#include <stddef.h>
#include <stdint.h>

#define CHANGES_PENALTY 8.0
#define CHANGES_LEAST	0.01
#define CHANGES_BLOCKS	4096 /* at most */
#define CHANGES_MIN	20   /* blocks below which nothing is said */

struct change {
	uint64_t lap; /* first sample of the new level, from 0 */
	double before, after;
};

/* Samples in a block for a series of n. */
uint64_t changes_block(uint64_t n);
/* Medians of whole blocks of v[n]; scratch[2 * block]. Returns their number. */
size_t changes_medians(const uint64_t *v, size_t n, uint64_t block, uint64_t *scratch,
		       double *medians);
/*
 * At most @cap changes between blocks: lap is that of a block's start. Their number in *count.
 * 0 or -ENOMEM.
 */
int changes_find(const double *medians, size_t blocks, uint64_t block, struct change *out,
		 size_t cap, size_t *count);
/* Place of the change inside v[n]: the number of samples that belong to the level before. */
size_t changes_refine(const uint64_t *v, size_t n, double before, double after);

#endif
