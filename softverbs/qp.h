/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef SOFTVERBS_QP_H
#define SOFTVERBS_QP_H

#include "cq.h"
#include "wqe.h"

struct sv_qp {
	struct ibv_qp_ex ex;
	/* The send queue; taken before the lock of any sv_qp_sh. */
	struct sv_lock lock __attribute__((aligned(64)));
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
	return sv_sq_at(&qp->sq, i);
}

extern struct sv_qp *sv_qps[SV_OBJECTS];
extern uint64_t sv_qp_offs[SV_OBJECTS];	/* of the shared half, never unmapped */
extern uint32_t sv_qp_high;		/* entries from here on were never used */
extern struct sv_srq *sv_srqs[SV_OBJECTS];

#endif
