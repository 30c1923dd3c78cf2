/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Registered memory. A piece is shared (in the pool of its process, which peers map) or reached by
 * process_vm calls; its own process uses the pool too, so memory that a program unmapped behind
 * our back is orphaned and not a crash.
 */
#ifndef SOFTVERBS_MEM_H
#define SOFTVERBS_MEM_H

#include <sys/types.h>

#include "peer.h"

struct sv_seg {
	uint8_t *p;		/* NULL: va in process pid */
	uint64_t va, len;
	pid_t pid;
};

/* A gather or scatter list in pieces; an SGE has at most SV_PIECES. */
#define SV_SEGS (SV_MAX_SGE * SV_PIECES + 1)

/* The MR of key in that process, or NULL; the generation in the key has to be right. */
static inline struct sv_mr_sh *sv_mr_find(struct sv_peer *p, uint32_t key)
{
	uint32_t i = ((key >> 8) - p->arena->key_base) & 0xffffff;
	struct sv_mr_sh *mr;

	if (i >= SV_MRS || !key)
		return NULL;
	mr = &p->arena->mr[i];
	return __atomic_load_n(&mr->key, __ATOMIC_ACQUIRE) == key ? mr : NULL;
}

/*
 * [addr, addr + len) of the MR as segments: their number, or -1 when key, protection domain,
 * bounds or rights (access, bits of ibv_access_flags) do not allow it. seg has room for SV_PIECES.
 */
int sv_mr_segs(struct sv_peer *p, uint32_t key, uint32_t pd, uint32_t access, uint64_t addr,
	       uint64_t len, struct sv_seg *seg);

/*
 * Copies in order of the bytes; the last ones (up to 8, an aligned word) become visible last, by a
 * release store: who polls the end of a message sees all of it. 0, or -1: an address has gone.
 */
int sv_copy(const struct sv_seg *dst, int nd, const struct sv_seg *src, int ns);
void sv_copy_last(uint8_t *dst, const uint8_t *src, size_t n);
uint64_t sv_segs_len(const struct sv_seg *seg, int n);

/* In place: [addr, addr+len) of this process as pieces; 0 or errno. Balanced by sv_pages_put. */
int sv_pages_get(uint64_t addr, uint64_t len, bool pvm, struct sv_piece *piece, uint32_t *npieces);
void sv_pages_put(const struct sv_piece *piece, uint32_t npieces, uint64_t addr);
void sv_pages_forget(void);
void sv_pages_fork_prepare(void);
void sv_pages_fork_parent(void);
void sv_pages_fork_child(void);

/* warm.c: our own view of memory that is being registered, so far as a request may need soon. */
void sv_warm_own(const struct sv_mr_sh *mr);

/* One line of /proc/self/maps. */
struct sv_vma {
	uint64_t start, end, offset, inode;
	bool anon;		/* private, anonymous, readable and writable, not the stack */
	bool shared, readable, writable;
};

/* The mappings that touch [start, end), in order; -1 with errno, else their number (may be cut). */
int sv_vmas(uint64_t start, uint64_t end, struct sv_vma *v, int max);
/* Does any mapping but our own show this part of the pool? */
bool sv_vma_of_pool(uint64_t inode, uint64_t from, uint64_t to);
int sv_user_threads(void);

#endif
