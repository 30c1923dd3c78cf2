/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which parts of the pool are in use, and from where they were taken. Callers hold one mutex. */
#ifndef SOFTVERBS_CHUNK_H
#define SOFTVERBS_CHUNK_H

#include "mem.h"

struct sv_chunk {
	uint64_t start, end;	/* addresses in the program */
	uint64_t pool;
	bool head, tail;	/* the first, the last page holds other data too */
	int refs;		/* registrations that touch it */
	struct sv_chunk *next;	/* by pool offset */
};

struct sv_chunk *sv_chunk_new(uint64_t start, uint64_t end);	/* NULL: the pool is full */
void sv_chunk_free(struct sv_chunk *c);
/* It ends here now; freed when nothing is left of it. */
void sv_chunk_cut(struct sv_chunk *c, uint64_t end);
/* Adds to the references of all chunks in this part of the pool. */
void sv_chunk_ref(int64_t pool, uint64_t len, int add);
void sv_chunk_each_idle(void (*f)(struct sv_chunk *c));
/* Frees chunks without references that the program maps nowhere any more. */
void sv_chunk_drop_lost(bool (*mapped)(const struct sv_chunk *c));
void sv_chunk_reset(void);
struct sv_chunk *sv_chunk_first(void);

#endif
