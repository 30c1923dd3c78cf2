/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What peers see of a process: its arena. Offsets are from the start of the arena. */
#ifndef SOFTVERBS_SHM_H
#define SOFTVERBS_SHM_H

#include "fabric.h"
#include "spec.h"

#define SV_ABI 2			/* raise it when the same layout means something else */
#define SV_ARENA_SIZE (4ull << 30)	/* sparse: pages exist when touched */
#define SV_POOL_SIZE (64ull << 30)	/* the same, for registered memory; or less */
#define SV_POOL_LEAST (1ull << 30)
#define SV_MRS 131072
#define SV_PIECES 4
#define SV_MAX_SGE 16

struct sv_piece {			/* [start, end) of the MR in bytes from its begin */
	uint64_t start, end;
	int64_t pool;			/* offset in the pool, -1: by process_vm calls */
};

struct sv_mr_sh {
	uint32_t key;			/* 0: free */
	uint32_t pd, access, npieces;
	uint64_t iova, len, addr;
	struct sv_piece piece[SV_PIECES];
} __attribute__((aligned(64)));

struct sv_ctx_sh {			/* one an opened device */
	int32_t async_fd;		/* write end of its pipe */
	uint32_t gen;
	struct spec_port port[SPEC_PORTS];
};

struct sv_arena {
	char magic[8];
	uint32_t abi, owner;
	uint64_t nonce;
	uint32_t key_base;		/* keys of two processes differ */
	int32_t pid;
	struct sv_lock atomics;		/* for atomics on memory that is not shared */
	struct sv_mr_sh mr[SV_MRS];
};

uint32_t sv_abi(void);			/* of SV_ABI and of the layout of all that is shared */

#endif
