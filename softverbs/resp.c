/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The responder, run by the requester's process under the responder QP's lock. */
#include <string.h>

#include "data.h"
#include "event.h"

static struct sv_rqe *rqe(struct sv_peer *p, const struct sv_rq *rq, uint32_t i)
{
	return sv_at(p, rq->ring + (uint64_t)(i & rq->mask) * rq->stride);
}

static bool pop(struct sv_peer *p, struct sv_rq *rq, struct sv_taken *t)
{
	const struct sv_rqe *e;

	if (rq->prod_seen == rq->cons)
		rq->prod_seen = __atomic_load_n(&rq->prod, __ATOMIC_ACQUIRE);
	if (rq->prod_seen == rq->cons)
		return false;
	e = rqe(p, rq, rq->cons);
	t->wr_id = e->wr_id;
	t->nsge = e->nsge < SV_MAX_SGE ? e->nsge : SV_MAX_SGE;
	t->slot = rq->cons;
	for (uint32_t i = 0; i < t->nsge; i++)	/* few: a call or a string instruction costs more */
		t->sge[i] = e->sge[i];
	__atomic_store_n(&rq->cons, rq->cons + 1, __ATOMIC_RELEASE);
	return true;
}

static bool srq_pop(struct sv_peer *p, struct sv_srq_sh *s, struct sv_taken *t)
{
	bool got, limit = false;

	sv_lock(&s->lock);
	got = pop(p, &s->rq, t);
	/* Armed once: the event comes when fewer than limit are left, and disarms. */
	if (got && s->limit && __atomic_load_n(&s->rq.prod, __ATOMIC_ACQUIRE) - s->rq.cons <
	    s->limit) {
		s->limit = 0;
		limit = true;
	}
	sv_unlock(&s->lock);
	if (limit)
		sv_event_raise(p, s->ctx, IBV_EVENT_SRQ_LIMIT_REACHED, SV_OF_SRQ, s->idx, s->gen);
	return got;
}

int sv_take(struct sv_peer *p, struct sv_qp_sh *d, struct sv_taken *t)
{
	bool got;

	if (d->srq) {
		got = srq_pop(p, sv_at(p, d->srq), t);
		t->qp_idx = UINT32_MAX;
	} else {
		got = pop(p, &d->rq, t);
		t->qp_idx = d->idx;
	}
	return got ? 0 : SV_NAK_RNR;
}

int sv_scatter(struct sv_peer *p, const struct sv_qp_sh *d, const struct sv_taken *t,
	       struct sv_seg *seg, uint64_t *room)
{
	int n = 0;

	*room = 0;
	for (uint32_t i = 0; i < t->nsge; i++) {
		int more = sv_mr_segs(p, t->sge[i].lkey, d->pd, IBV_ACCESS_LOCAL_WRITE,
				      t->sge[i].addr, t->sge[i].length, seg + n);

		if (more < 0)
			return -1;
		n += more;
		*room += t->sge[i].length;
	}
	return n;
}

/* The receive that was taken completes; the caller fills in the rest. NULL: overrun. */
static struct sv_cqe *recv_begin(struct sv_peer *p, struct sv_qp_sh *d, const struct sv_taken *t,
				 int status)
{
	struct sv_cqe *e = sv_cq_begin(p, sv_at(p, d->recv_cq));

	if (!e)
		return NULL;
	e->status = (uint8_t)status;
	e->opcode = IBV_WC_RECV;
	e->wr_id = t->wr_id;
	e->qpn = d->qpn;
	e->qp_idx = t->qp_idx;
	e->slot = t->slot;
	return e;
}

static void address(struct sv_cqe *e, const struct sv_job *j)
{
	const struct spec_port *to = sv_port_of(j->p, j->d);
	const struct ibv_ah_attr *av = &j->w->av;

	e->sl = av->sl;
	e->slid = (uint16_t)(e->slid | av->src_path_bits);
	e->path_bits = to && to->lmc ? (uint8_t)(av->dlid & ((1 << to->lmc) - 1)) : 0;
	e->flags |= av->is_global ? IBV_WC_GRH : 0;
}

void sv_recv_done(struct sv_job *j, const struct sv_taken *t, int status, uint64_t len)
{
	const struct spec_port *from = sv_port_of(sv_self, j->qp->sh);
	struct sv_cqe *e = recv_begin(j->p, j->d, t, status);
	const struct sv_wqe *w = j->w;
	bool write = w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if (!e) {
		sv_resp_error(j->p, j->d, IBV_EVENT_QP_FATAL);
		return;
	}
	e->src_qp = j->qp->sh->qpn;
	e->byte_len = (uint32_t)len;
	if (write)
		e->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	if (write || w->opcode == IBV_WR_SEND_WITH_IMM) {
		e->imm = w->imm;
		e->flags = IBV_WC_WITH_IMM;
	}
	e->solicited = !!(w->flags & IBV_SEND_SOLICITED);
	e->slid = from ? from->lid : 0;
	e->pkey_index = (uint16_t)j->d->pkey_index;
	if (j->d->type == IBV_QPT_UD)
		address(e, j);
	sv_cq_end(j->p, sv_at(j->p, j->d->recv_cq), e);
}

void sv_rq_flush(struct sv_peer *p, struct sv_qp_sh *d)
{
	struct sv_taken t;

	if (d->srq) {
		/* No more receives of the SRQ will complete on this QP. */
		if (!d->last_wqe)
			sv_event_raise(p, d->ctx, IBV_EVENT_QP_LAST_WQE_REACHED, SV_OF_QP, d->idx,
				       d->qpn);
		d->last_wqe = 1;
		return;
	}
	t.qp_idx = d->idx;
	while (pop(p, &d->rq, &t)) {
		struct sv_cqe *e = recv_begin(p, d, &t, IBV_WC_WR_FLUSH_ERR);

		if (!e)
			break;
		sv_cq_end(p, sv_at(p, d->recv_cq), e);
	}
}

void sv_resp_error(struct sv_peer *p, struct sv_qp_sh *d, int event)
{
	if (d->state == IBV_QPS_ERR)
		return;
	__atomic_store_n(&d->state, IBV_QPS_ERR, __ATOMIC_SEQ_CST);
	d->ver++;
	if (event >= 0)
		sv_event_raise(p, d->ctx, (enum ibv_event_type)event, SV_OF_QP, d->idx, d->qpn);
	sv_rq_flush(p, d);
}

static int nak(struct sv_job *j, int status)
{
	if (j->d->type == IBV_QPT_RC)
		sv_resp_error(j->p, j->d, status == IBV_WC_REM_ACCESS_ERR ?
			      IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR);
	return status;
}

static int respond_send(struct sv_job *j)
{
	struct sv_seg to[SV_SEGS];
	struct sv_taken t;
	uint64_t room;
	int n;

	if (sv_take(j->p, j->d, &t))
		return SV_NAK_RNR;
	n = sv_scatter(j->p, j->d, &t, to, &room);
	if (n < 0 || room < j->w->len) {
		int status = n < 0 ? IBV_WC_LOC_PROT_ERR : IBV_WC_LOC_LEN_ERR;

		sv_recv_done(j, &t, status, 0);
		sv_resp_error(j->p, j->d, -1);
		return n < 0 ? IBV_WC_REM_OP_ERR : IBV_WC_REM_INV_REQ_ERR;
	}
	if (sv_copy(to, n, j->seg, j->nseg)) {
		sv_recv_done(j, &t, IBV_WC_LOC_PROT_ERR, 0);
		sv_resp_error(j->p, j->d, -1);
		return IBV_WC_REM_OP_ERR;
	}
	sv_recv_done(j, &t, IBV_WC_SUCCESS, j->w->len);
	return IBV_WC_SUCCESS;
}

/* The rkey of a request without payload is not looked at (IBTA 9.7.4.1). */
static int remote(struct sv_job *j, uint32_t right, uint64_t len, struct sv_seg *at)
{
	if (!(j->d->access & right))
		return -IBV_WC_REM_INV_REQ_ERR;
	return len ? sv_mr_segs(j->p, j->w->rkey, j->d->pd, right, j->w->raddr, len, at) : 0;
}

static int refused(struct sv_job *j, int n)
{
	return nak(j, n == -IBV_WC_REM_INV_REQ_ERR ? IBV_WC_REM_INV_REQ_ERR :
						     IBV_WC_REM_ACCESS_ERR);
}

static int respond_write(struct sv_job *j)
{
	struct sv_seg at[SV_PIECES];
	bool imm = j->w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct sv_taken t;
	int n = remote(j, IBV_ACCESS_REMOTE_WRITE, j->w->len, at);

	if (n < 0)
		return refused(j, n);
	if (imm && sv_take(j->p, j->d, &t))
		return SV_NAK_RNR;
	if (n && sv_copy(at, n, j->seg, j->nseg))
		return nak(j, IBV_WC_REM_OP_ERR);
	if (imm)
		sv_recv_done(j, &t, IBV_WC_SUCCESS, j->w->len);
	return IBV_WC_SUCCESS;
}

static int respond_read(struct sv_job *j)
{
	struct sv_seg at[SV_PIECES];
	int n = remote(j, IBV_ACCESS_REMOTE_READ, j->w->len, at);

	if (n >= 0 && !j->d->max_dest_rd)
		n = -IBV_WC_REM_INV_REQ_ERR;
	if (n < 0)
		return refused(j, n);
	return n && sv_copy(j->seg, j->nseg, at, n) ? nak(j, IBV_WC_REM_OP_ERR) : 0;
}

static int respond_atomic(struct sv_job *j)
{
	struct sv_seg at[SV_PIECES], from = { .p = (uint8_t *)&j->w->old, .len = 8 };
	int n, ret;

	if (j->w->raddr % 8 || !j->d->max_dest_rd)
		return nak(j, IBV_WC_REM_INV_REQ_ERR);
	n = remote(j, IBV_ACCESS_REMOTE_ATOMIC, 8, at);
	if (n < 0)
		return refused(j, n);
	ret = sv_atomic(j->p, at, j->w, &j->w->old);
	if (ret)
		return nak(j, ret);
	return sv_copy(j->seg, j->nseg, &from, 1) ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS;
}

int sv_respond(struct sv_job *j)
{
	switch (j->w->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return respond_write(j);
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return respond_send(j);
	case IBV_WR_RDMA_READ:
		return respond_read(j);
	default:
		return respond_atomic(j);
	}
}
