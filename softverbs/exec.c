/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One work request takes effect: the requester's checks, then the responder, then what it said. */
#include <string.h>

#include "data.h"
#include "event.h"
#include "fault.h"
#include "work.h"

/* IBTA table 45: the RNR NAK timer field, in units of 10 us. */
static const uint32_t rnr_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
	1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152
};

int sv_gather(struct sv_job *j)
{
	struct sv_wqe *w = j->w;
	bool into = w->opcode == IBV_WR_RDMA_READ || w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		    w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	j->nseg = 0;
	if (w->flags & IBV_SEND_INLINE) {
		if (w->len)
			j->seg[j->nseg++] = (struct sv_seg){ .p = (uint8_t *)w->sge,
							     .len = w->len };
		return 0;
	}
	for (int i = 0; i < w->nsge; i++) {
		int n = sv_mr_segs(sv_self, w->sge[i].lkey, j->qp->sh->pd,
				   into ? IBV_ACCESS_LOCAL_WRITE : 0, w->sge[i].addr,
				   w->sge[i].length, j->seg + j->nseg);

		if (n < 0)
			return -1;
		j->nseg += n;
	}
	return 0;
}

static int no_answer(struct sv_qp *qp)
{
	struct sv_sq *sq = &qp->sq;
	uint64_t now = sv_now();

	if (!qp->attr.timeout) {	/* no timer: it would wait for ever */
		sq->retry_at = now + 1000000;
		return -1;
	}
	if (sq->tries > qp->attr.retry_cnt)
		return IBV_WC_RETRY_EXC_ERR;
	sq->tries++;
	sq->retry_at = (sq->retry_at ? sq->retry_at : now) + (4096ull << qp->attr.timeout);
	return -1;
}

static int rnr(struct sv_qp *qp, uint32_t timer)
{
	struct sv_sq *sq = &qp->sq;

	if (qp->attr.rnr_retry != 7 && sq->rnr_tries >= qp->attr.rnr_retry)
		return IBV_WC_RNR_RETRY_EXC_ERR;
	sq->rnr_tries++;
	sq->tries = 0;
	sq->retry_at = sv_now() + rnr_10us[timer & 31] * 10000ull;
	return -1;
}

/* Both ends cut messages into packets of their own path MTU, and check the other's. */
static int mtu_differs(struct sv_job *j)
{
	uint32_t mine = 128u << j->qp->sh->mtu, theirs = 128u << j->d->mtu;
	uint32_t less = mine < theirs ? mine : theirs;

	if (mine == theirs || j->w->len <= less)
		return IBV_WC_SUCCESS;
	if (j->w->opcode == IBV_WR_RDMA_READ)
		return IBV_WC_BAD_RESP_ERR;
	if (j->d->type == IBV_QPT_RC)
		sv_resp_error(j->p, j->d, IBV_EVENT_QP_REQ_ERR);
	return IBV_WC_REM_INV_REQ_ERR;
}

static void established(struct sv_job *j)
{
	if (j->d->state != IBV_QPS_RTR || j->d->established)
		return;
	j->d->established = 1;
	sv_event_raise(j->p, j->d->ctx, IBV_EVENT_COMM_EST, SV_OF_QP, j->d->idx, j->d->qpn);
}

/*
 * PSNs differ where the two ends were told different ones. Ahead of what is expected: a NAK for
 * the sequence, again and again. Behind it: a duplicate, which is acknowledged and not done; a
 * READ is done once more, and the answer of an atomic is not among those kept (IBTA 9.7.5.1.2).
 */
static int out_of_sequence(struct sv_job *j, uint32_t next)
{
	bool atomic = j->w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		      j->w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	if (atomic || ((j->d->epsn - j->qp->sq.psn) & 0xffffff) >= 0x800000)
		return SV_LOST;
	j->qp->sq.psn = next;
	return j->w->opcode == IBV_WR_RDMA_READ ? sv_respond(j) : IBV_WC_SUCCESS;
}

static int deliver(struct sv_job *j)
{
	struct sv_qp *qp = j->qp;
	bool rc = j->d->type == IBV_QPT_RC;
	uint32_t next = (qp->sq.psn + sv_packets(qp, j->w->len)) & 0xffffff;
	int ret;

	if (rc && qp->sq.psn != j->d->epsn)
		return out_of_sequence(j, next);
	ret = mtu_differs(j);
	if (!ret)
		ret = sv_respond(j);
	if (ret == SV_NAK_RNR && rc)
		return ret;
	established(j);
	qp->sq.psn = j->d->epsn = next;
	return ret;
}

static int check_local(struct sv_job *j)
{
	struct sv_wqe *w = j->w;
	bool atomic = w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		      w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	if ((atomic || w->opcode == IBV_WR_RDMA_READ) && !j->qp->attr.max_rd_atomic)
		return IBV_WC_LOC_QP_OP_ERR;
	if ((w->len > SPEC_MAX_MSG_LEAST && w->len > j->qp->dev->spec->max_msg) || (atomic && w->len < 8))
		return IBV_WC_LOC_LEN_ERR;
	return sv_gather(j) ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS;
}

static int connected(struct sv_job *j)
{
	struct sv_qp *qp = j->qp;
	uint32_t timer;
	int ret;

	j->d = (j->fault & SV_LOSE) ? NULL : sv_conn_lock(qp);
	if (!j->d) {
		qp->sq.psn = (qp->sq.psn + (qp->sh->type == IBV_QPT_RC ? 0 :
					    sv_packets(qp, j->w->len))) & 0xffffff;
		return qp->sh->type == IBV_QPT_RC ? no_answer(qp) : IBV_WC_SUCCESS;
	}
	j->p = qp->peer;
	timer = j->d->min_rnr;
	ret = (j->fault & SV_RNR) ? SV_NAK_RNR : deliver(j);
	if ((j->fault & SV_TWICE) && !ret && qp->sh->type != IBV_QPT_RC)
		deliver(j);
	if (qp->sh->type != IBV_QPT_RC && ret)
		j->d->lost++;
	sv_unlock(&j->d->lock);
	if (qp->sh->type != IBV_QPT_RC)
		return IBV_WC_SUCCESS;	/* unreliable: the requester never hears of it */
	if (ret == SV_NAK_RNR)
		return rnr(qp, timer);
	return ret == SV_LOST ? no_answer(qp) : ret;
}

int sv_exec(struct sv_qp *qp, struct sv_wqe *w)
{
	struct sv_job j;
	int ret;

	j.qp = qp;
	j.w = w;
	j.fault = 0;
	ret = check_local(&j);
	if (!ret && __builtin_expect(qp->dev->faults, 0)) {
		ret = sv_fault_status(qp, w);
		if (ret >= 0)
			return ret;
		ret = 0;
		j.fault = sv_fault_message(qp, w, &j.flip);
		if (j.fault & (SV_CORRUPT | SV_FLIP))
			ret = sv_fault_payload(&j);
	}
	if (!ret)
		ret = qp->sh->type == IBV_QPT_UD ? sv_exec_ud(&j) : connected(&j);
	if (!ret && __builtin_expect(j.fault & SV_FLIP, 0))
		sv_fault_answer(&j);
	if (ret >= 0) {
		qp->sq.retry_at = 0;
		qp->sq.tries = qp->sq.rnr_tries = 0;
	}
	return ret;
}
