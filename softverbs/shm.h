/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What peers see of a process: its arena. Offsets are from the start of the arena. */
#ifndef SOFTVERBS_SHM_H
#define SOFTVERBS_SHM_H

#include "fabric.h"
#include "spec.h"

#define SV_ABI 1
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

struct sv_cqe {
	uint32_t seq;			/* number of this CQE + 1, stored last */
	uint8_t status, opcode, flags, sl;
	uint64_t wr_id;
	uint32_t byte_len, imm, qpn, src_qp;
	uint32_t qp_idx, slot;		/* the local QP, and the WQE that is now free */
	uint16_t slid, pkey_index;
	uint8_t path_bits, is_send, solicited, pad;
	uint64_t ts;
} __attribute__((aligned(64)));

enum { SV_DISARMED, SV_ARMED_SOLICITED, SV_ARMED };

struct sv_cq_sh {
	struct sv_lock lock;		/* of the producers, and of arming */
	uint32_t idx, gen;		/* what its events carry */
	uint32_t mask, cap, prod, armed;
	uint32_t overrun, ignore_overrun, want_ts;
	uint32_t unread;		/* events in the channel */
	int32_t cpu;			/* of the last producer, when it pushed */
	int32_t chan_fd;		/* write end, -1: none */
	uint32_t chan_gen;
	uint64_t ring, ctx;
	uint32_t cons __attribute__((aligned(64)));
} __attribute__((aligned(64)));

struct sv_rqe {
	uint64_t wr_id;
	uint32_t nsge, slot;
	struct ibv_sge sge[];
};

/*
 * Cache lines are by writer: what peers write at each request (the lock, sequence numbers, the
 * consumer index) is apart from what both ends only read, and from what the owner writes.
 */
struct sv_rq {				/* producer: the owner; consumers: under the QP's or SRQ's lock */
	uint32_t cons;
	uint64_t ring __attribute__((aligned(64)));
	uint32_t mask, stride, cap;
	uint32_t prod __attribute__((aligned(64)));
};

struct sv_srq_sh {
	struct sv_lock lock;
	uint32_t idx, gen, pd, limit;
	uint64_t ctx;
	struct sv_rq rq;
} __attribute__((aligned(64)));

/* The responder half; the owner changes it under the lock too. */
struct sv_qp_sh {
	struct sv_lock lock;
	uint32_t epsn, established, last_wqe;
	uint64_t lost;			/* messages that UC and UD dropped here */
	uint32_t qpn __attribute__((aligned(64)));
	uint32_t state, type;
	uint32_t idx, pd, access, ver;	/* ver: counts changes, for what peers cached */
	uint32_t dest_qpn, qkey, mtu;
	uint32_t min_rnr, max_dest_rd, pkey_index, port;
	uint64_t ctx, recv_cq, srq;	/* srq 0: its own rq */
	struct ibv_ah_attr av;
	struct sv_rq rq;
} __attribute__((aligned(64)));

struct sv_arena {
	char magic[8];
	uint32_t abi, owner;
	uint64_t nonce;
	uint32_t key_base;		/* keys of two processes differ */
	int32_t pid;
	struct sv_lock atomics;		/* for atomics on memory that is not shared */
	struct sv_mr_sh mr[SV_MRS];
};

#endif
