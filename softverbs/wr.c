/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ibv_wr_* calls. Requests are built in the send queue beyond prod and count when
 * wr_complete sets prod; the queue's lock is held from wr_start to wr_complete or wr_abort.
 */
#include <errno.h>
#include <string.h>

#include "data.h"
#include "fault.h"
#include "pd.h"
#include "post.h"

static struct sv_qp *of(struct ibv_qp_ex *ex)
{
	return (struct sv_qp *)(void *)ex;
}

/* The first error is kept, and reported by wr_complete, which then posts nothing. */
static void error(struct sv_qp *qp, int err)
{
	if (!qp->sq.wr_err)
		qp->sq.wr_err = (uint32_t)err;
}

static struct sv_wqe *begin(struct ibv_qp_ex *ex, unsigned int opcode)
{
	struct sv_qp *qp = of(ex);
	struct sv_wqe *w = NULL;
	int ret = qp->sq.wr_err ? (int)qp->sq.wr_err : sv_sq_slot(qp, opcode, &w);

	if (ret) {
		error(qp, ret);
		return NULL;
	}
	qp->sq.prod++;
	w->wr_id = ex->wr_id;
	w->flags = (uint8_t)(ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE);
	w->imm = 0;
	w->nsge = 0;
	w->len = 0;
	return w;
}

/* The request that the setters work on; NULL after an error. */
static struct sv_wqe *current(struct sv_qp *qp)
{
	return qp->sq.wr_err || qp->sq.prod == qp->sq.wr_start ? NULL : sv_wqe(qp, qp->sq.prod - 1);
}

static void rdma(struct ibv_qp_ex *ex, unsigned int opcode, uint32_t rkey, uint64_t raddr,
		 uint32_t imm)
{
	struct sv_wqe *w = begin(ex, opcode);

	if (!w)
		return;
	w->rkey = rkey;
	w->raddr = raddr;
	w->imm = imm;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr)
{
	rdma(ex, IBV_WR_RDMA_WRITE, rkey, raddr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr, __be32 imm)
{
	rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, raddr, imm);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr)
{
	rdma(ex, IBV_WR_RDMA_READ, rkey, raddr, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	rdma(ex, IBV_WR_SEND, 0, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	rdma(ex, IBV_WR_SEND_WITH_IMM, 0, 0, imm);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr,
			      uint64_t compare, uint64_t swap)
{
	struct sv_wqe *w = begin(ex, IBV_WR_ATOMIC_CMP_AND_SWP);

	if (!w)
		return;
	w->rkey = rkey;
	w->raddr = raddr;
	w->compare = compare;
	w->swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t raddr, uint64_t add)
{
	struct sv_wqe *w = begin(ex, IBV_WR_ATOMIC_FETCH_AND_ADD);

	if (!w)
		return;
	w->rkey = rkey;
	w->raddr = raddr;
	w->compare = add;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct sv_wqe *w = current(of(ex));

	if (!w)
		return;
	w->av = ((struct sv_ah *)(void *)ah)->attr;
	w->rqpn = qpn;
	w->rqkey = qkey;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *sge)
{
	struct sv_wqe *w = current(of(ex));
	uint64_t len = 0;

	if (!w)
		return;
	if (n > of(ex)->sq.max_sge) {
		error(of(ex), EINVAL);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		w->sge[i] = sge[i];
		len += sge[i].length;
	}
	w->nsge = (uint8_t)n;
	w->len = len > UINT32_MAX ? UINT32_MAX : (uint32_t)len;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *buf)
{
	struct sv_wqe *w = current(of(ex));
	size_t len = 0;

	if (!w)
		return;
	for (size_t i = 0; i < n; i++) {
		if (w->opcode >= IBV_WR_RDMA_READ || buf[i].length > of(ex)->sq.max_inline ||
		    len + buf[i].length > of(ex)->sq.max_inline) {
			error(of(ex), EINVAL);
			return;
		}
		if (buf[i].length)
			memcpy((uint8_t *)w->sge + len, buf[i].addr, buf[i].length);
		len += buf[i].length;
	}
	w->flags |= IBV_SEND_INLINE;
	w->len = (uint32_t)len;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct sv_qp *qp = of(ex);

	sv_lock(&qp->lock);
	qp->sq.wr_err = 0;
	qp->sq.wr_start = qp->sq.prod;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct sv_qp *qp = of(ex);

	qp->sq.prod = qp->sq.wr_start;
	sv_unlock(&qp->lock);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct sv_qp *qp = of(ex);
	uint32_t n = qp->sq.prod - qp->sq.wr_start;
	int ret = sv_fail(qp->dev, SPEC_CALL_wr_complete);

	if (!ret)
		ret = (int)qp->sq.wr_err;
	qp->sq.prod = qp->sq.wr_start;
	for (; !ret && n; n--)
		sv_sq_commit(qp, sv_wqe(qp, qp->sq.prod));
	if (!ret)
		sv_sq_run(qp);
	sv_unlock(&qp->lock);
	return ret;
}

void sv_qp_ex_ops(struct sv_qp *qp)
{
	struct ibv_qp_ex *ex = &qp->ex;

	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_start = wr_start;
	ex->wr_abort = wr_abort;
	ex->wr_complete = wr_complete;
}
