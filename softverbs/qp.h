/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef SOFTVERBS_QP_H
#define SOFTVERBS_QP_H

#include "cq.h"

#define SV_RD_MAX 128		/* outstanding READs and atomics that are tracked */

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
	uint64_t wr_id __attribute__((aligned(64)));
	uint64_t raddr;
	uint32_t rkey, imm;
	uint8_t opcode, flags, nsge, status;
	uint32_t len;
	uint64_t due, cdue;
	struct ibv_sge sge[];		/* or inline data */
};

/* [tail, done): completed, not yet polled; [done, exec): took effect; [exec, prod): to be done. */
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

struct sv_qp {
	struct ibv_qp_ex ex;
	struct sv_lock lock __attribute__((aligned(64)));	/* before the lock of any sv_qp_sh */
	int sig_all;
	struct sv_qp_sh *sh;
	struct sv_dev *dev;
	/* The connection, looked up at the first WR and again when either end changed. */
	struct sv_peer *peer;
	struct sv_qp_sh *dest;
	uint32_t dest_ver, my_ver;
	bool reachable, in_work;
	struct sv_sq sq;
	uint64_t off;
	struct sv_lock rlock;		/* posters of receives */
	uint32_t rq_done, rq_max_sge;	/* RQ slots whose completion was polled */
	struct ibv_qp_cap cap;
	struct ibv_qp_attr attr;	/* as set by modify_qp */
	uint32_t async_events;
	struct sv_qp *work_next;	/* work.c */
	uint64_t work_due;
};

static inline struct sv_qp *sv_qp(struct ibv_qp *qp)
{
	return (struct sv_qp *)(void *)qp;
}

static inline struct sv_wqe *sv_wqe(const struct sv_qp *qp, uint32_t i)
{
	return (struct sv_wqe *)(void *)(qp->sq.ring + (size_t)(i & qp->sq.mask) * qp->sq.stride);
}

extern struct sv_qp *sv_qps[SV_OBJECTS];
extern uint64_t sv_qp_offs[SV_OBJECTS];	/* of its shared half, which is never unmapped */
extern struct sv_srq *sv_srqs[SV_OBJECTS];

#endif
