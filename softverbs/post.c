/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting: ibv_post_send, ibv_post_recv, ibv_post_srq_recv. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "fault.h"
#include "pd.h"
#include "post.h"

static bool allowed(enum ibv_qp_type type, unsigned int opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return true;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return type != IBV_QPT_UD;
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return type == IBV_QPT_RC;
	default:
		return false;
	}
}

/*
 * complete=post: what completed early waits for its time without a slot of the queue, so the ring
 * behind it grows, whatever cap says.
 */
static int grow(struct sv_sq *sq)
{
	uint32_t n = sq->mask + 1;
	struct sv_sq wide = *sq;

	if (n >= SV_RING_MAX)
		return ENOMEM;
	wide.mask = 2 * n - 1;
	wide.ring = aligned_alloc(64, 2 * (size_t)n * sq->stride);
	if (!wide.ring)
		return ENOMEM;
	memset(wide.ring, 0, 2 * (size_t)n * sq->stride);
	for (uint32_t i = sq->prod - n; i != sq->prod; i++)
		memcpy(sv_sq_at(&wide, i), sv_sq_at(sq, i), sq->stride);
	free(sq->ring);
	*sq = wide;
	return 0;
}

int sv_sq_slot(struct sv_qp *qp, unsigned int opcode, struct sv_wqe **out)
{
	struct sv_sq *sq = &qp->sq;
	uint32_t state = __atomic_load_n(&qp->sh->state, __ATOMIC_ACQUIRE);
	bool atomic = opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	if (state < IBV_QPS_RTS)
		return EINVAL;
	if (!allowed(qp->ex.qp_base.qp_type, opcode) ||
	    (atomic && qp->dev->spec->atomic == IBV_ATOMIC_NONE))
		return EINVAL;
	/* A WQE is free again when a completion that covers it was polled (IBTA chapter 10.8). */
	if (sq->prod - __atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE) >= sq->cap)
		return ENOMEM;
	if (__builtin_expect(sq->prod - sq->exec > sq->mask, 0) && grow(sq))
		return ENOMEM;
	*out = sv_wqe(qp, sq->prod);
	(*out)->opcode = (uint8_t)opcode;
	(*out)->due = (*out)->cdue = 0;
	(*out)->status = 0;
	return 0;
}

void sv_sq_commit(struct sv_qp *qp, struct sv_wqe *w)
{
	qp->sq.prod++;
	if (__builtin_expect(!qp->dev->plain, 0)) {
		w->n = __atomic_add_fetch(&qp->dev->nwr, 1, __ATOMIC_RELAXED);
		sv_delay_draw(qp, w);
		sv_fault_posted(qp, w);
	}
}

static int copy_inline(struct sv_qp *qp, struct sv_wqe *w, const struct ibv_send_wr *wr)
{
	uint8_t *to = (uint8_t *)w->sge;
	uint64_t len = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		if (len + wr->sg_list[i].length > qp->sq.max_inline)
			return EINVAL;
		if (wr->sg_list[i].length)	/* a piece of nothing may have no address */
			memcpy(to + len, (void *)(uintptr_t)wr->sg_list[i].addr,
			       wr->sg_list[i].length);
		len += wr->sg_list[i].length;
	}
	w->nsge = 0;
	w->len = (uint32_t)len;
	return 0;
}

static int copy_sges(struct sv_qp *qp, struct sv_wqe *w, const struct ibv_send_wr *wr)
{
	uint64_t len = 0;

	if ((uint32_t)wr->num_sge > qp->sq.max_sge)
		return EINVAL;
	for (int i = 0; i < wr->num_sge; i++) {
		w->sge[i] = wr->sg_list[i];
		len += wr->sg_list[i].length;
	}
	w->nsge = (uint8_t)wr->num_sge;
	w->len = len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;
	return 0;
}

static int address(struct sv_wqe *w, const struct ibv_send_wr *wr, enum ibv_qp_type type)
{
	if (type == IBV_QPT_UD) {
		if (!wr->wr.ud.ah)
			return EINVAL;
		w->av = ((struct sv_ah *)(void *)wr->wr.ud.ah)->attr;
		w->rqpn = wr->wr.ud.remote_qpn;
		w->rqkey = wr->wr.ud.remote_qkey;
		return 0;
	}
	if (w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		w->raddr = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->compare = wr->wr.atomic.compare_add;
		w->swap = wr->wr.atomic.swap;
	} else {
		w->raddr = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
	}
	return 0;
}

static int enqueue(struct sv_qp *qp, const struct ibv_send_wr *wr)
{
	struct sv_wqe *w;
	int ret = sv_sq_slot(qp, wr->opcode, &w);

	if (ret)
		return ret;
	if (wr->num_sge < 0)
		return EINVAL;
	w->wr_id = wr->wr_id;
	w->flags = (uint8_t)wr->send_flags;
	w->imm = wr->imm_data;
	ret = address(w, wr, qp->ex.qp_base.qp_type);
	if (ret)
		return ret;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		ret = copy_sges(qp, w, wr);
	else if (w->opcode >= IBV_WR_RDMA_READ)
		ret = EINVAL;
	else
		ret = copy_inline(qp, w, wr);
	if (!ret)
		sv_sq_commit(qp, w);
	return ret;
}

int sv_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct sv_qp *qp = sv_qp(ibqp);
	int ret = sv_fail(qp->dev, SPEC_CALL_post_send);

	if (ret) {
		*bad = wr;
		return ret;
	}
	sv_lock(&qp->lock);
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = enqueue(qp, wr);
	if (ret)
		*bad = wr;
	sv_sq_run(qp);
	sv_unlock(&qp->lock);
	return ret;
}

static int rq_put(struct sv_rq *rq, uint32_t used, uint32_t max_sge, const struct ibv_recv_wr *wr)
{
	struct sv_rqe *e;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return EINVAL;
	if (used >= rq->cap)
		return ENOMEM;
	e = sv_at(sv_self, rq->ring + (uint64_t)(rq->prod & rq->mask) * rq->stride);
	e->wr_id = wr->wr_id;
	e->nsge = (uint32_t)wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++)
		e->sge[i] = wr->sg_list[i];
	/* Full barrier: see the state check of post_recv, and sv_resp_error. */
	__atomic_exchange_n(&rq->prod, rq->prod + 1, __ATOMIC_SEQ_CST);
	return 0;
}

int sv_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct sv_qp *qp = sv_qp(ibqp);
	struct sv_rq *rq = &qp->sh->rq;
	int ret = sv_fail(qp->dev, SPEC_CALL_post_recv);

	if (!ret && (qp->sh->srq || __atomic_load_n(&qp->sh->state, __ATOMIC_ACQUIRE) ==
				    IBV_QPS_RESET))
		ret = EINVAL;
	if (!ret) {
		sv_lock(&qp->rlock);
		for (; wr && !ret; wr = ret ? wr : wr->next)
			ret = rq_put(rq, rq->prod - __atomic_load_n(&qp->rq_done, __ATOMIC_ACQUIRE),
				     qp->rq_max_sge, wr);
		sv_unlock(&qp->rlock);
	}
	if (ret)
		*bad = wr;
	/* In error the receives just posted are flushed, by whoever sees both. */
	if (__atomic_load_n(&qp->sh->state, __ATOMIC_SEQ_CST) == IBV_QPS_ERR) {
		sv_lock(&qp->sh->lock);
		if (qp->sh->state == IBV_QPS_ERR && !qp->sh->srq)
			sv_rq_flush(sv_self, qp->sh);
		sv_unlock(&qp->sh->lock);
	}
	return ret;
}

int sv_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct sv_srq *srq = (struct sv_srq *)(void *)ibsrq;
	struct sv_rq *rq = &srq->sh->rq;
	int ret = sv_fail_ctx(ibsrq->context, SPEC_CALL_post_srq_recv);

	sv_lock(&srq->lock);
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = rq_put(rq, rq->prod - __atomic_load_n(&rq->cons, __ATOMIC_ACQUIRE),
			     srq->max_sge, wr);
	sv_unlock(&srq->lock);
	if (ret)
		*bad = wr;
	return ret;
}
