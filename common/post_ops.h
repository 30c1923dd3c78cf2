/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One work request by the ibv_wr_* calls. All choices fold away with constant arguments. */
#ifndef COMMON_POST_OPS_H
#define COMMON_POST_OPS_H

#include "lane.h"

/* Between ibv_wr_start and ibv_wr_complete; wr_id and wr_flags are set already. */
static inline __attribute__((always_inline)) void post_wr(struct lane *l, enum op_kind op, bool ud,
							  bool in_line)
{
	struct ibv_qp_ex *q = l->qpx;
	const struct ibv_send_wr *wr = &l->wr;

	switch (op) {
	case OP_WRITE:
		ibv_wr_rdma_write(q, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case OP_WRITE_IMM:
		ibv_wr_rdma_write_imm(q, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, wr->imm_data);
		break;
	case OP_SEND:
		ibv_wr_send(q);
		break;
	case OP_SEND_IMM:
		ibv_wr_send_imm(q, wr->imm_data);
		break;
	case OP_READ:
		ibv_wr_rdma_read(q, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case OP_FETCH_ADD:
		ibv_wr_atomic_fetch_add(q, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		break;
	default:
		ibv_wr_atomic_cmp_swp(q, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add, wr->wr.atomic.swap);
	}
	if (ud)
		ibv_wr_set_ud_addr(q, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	if (in_line)
		ibv_wr_set_inline_data(q, (void *)(uintptr_t)l->sge.addr, l->sge.length);
	else
		ibv_wr_set_sge(q, l->sge.lkey, l->sge.addr, l->sge.length);
}

#endif
