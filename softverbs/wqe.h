/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The send queue of a QP, in private memory: peers never look at it. */
#ifndef SOFTVERBS_WQE_H
#define SOFTVERBS_WQE_H

#include <infiniband/verbs.h>
#include <stdint.h>

#define SV_RD_MAX 128		/* outstanding READs and atomics that are tracked */
#define SV_RING_MAX (1u << 24)	/* requests of a QP that wait with complete=post, at most */

/*
 * A send WQE: posted, takes effect (status set) when due, completes when cdue. What a WRITE needs,
 * with its first SGE, is one cache line, the second.
 */
struct sv_wqe {
	union {
		struct {		/* atomics; old: what was found */
			uint64_t compare, swap, old;
		};
		struct {		/* UD */
			struct ibv_ah_attr av;
			uint32_t rqpn, rqkey;
		};
	};
	uint64_t n;			/* number of this WR on the device, from 1 */
	uint64_t posted;		/* when its delay began, 0: there is none */
	uint64_t wr_id __attribute__((aligned(64)));
	uint64_t raddr;
	uint32_t rkey, imm;
	uint8_t opcode, flags, nsge, status;
	uint32_t len;
	uint64_t due, cdue;
	struct ibv_sge sge[];		/* or inline data */
};

/*
 * [tail, done): completed, not yet polled; [done, exec): took effect; [exec, prod): to be done.
 * complete=post: exec may be behind done, and behind tail.
 */
struct sv_sq {
	uint8_t *ring;
	uint32_t mask, stride;
	uint32_t prod, exec, done, tail;
	uint64_t retry_at;		/* the head waits until then, 0: no */
	uint32_t psn;			/* of the next packet */
	uint32_t cap, max_sge, max_inline;
	uint32_t tries, rnr_tries;
	uint32_t wr_err, wr_start;	/* of the ibv_wr_* batch */
	uint32_t batch;			/* async=: completions to hold back */
	uint32_t nrd;
	uint64_t rd_done[SV_RD_MAX];	/* when the last READs and atomics complete */
};

static inline struct sv_wqe *sv_sq_at(const struct sv_sq *sq, uint32_t i)
{
	return (struct sv_wqe *)(void *)(sq->ring + (size_t)(i & sq->mask) * sq->stride);
}

#endif
