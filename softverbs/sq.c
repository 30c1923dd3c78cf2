/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The send queue: requests take effect in order when due, and complete in order when due. */
#include <string.h>

#include "data.h"
#include "event.h"
#include "fault.h"
#include "work.h"

static const uint8_t wc_opcode[] = {
	[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND] = IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
	[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
};

static uint32_t state_of(const struct sv_qp *qp)
{
	return __atomic_load_n(&qp->sh->state, __ATOMIC_ACQUIRE);
}

/* After a request failed: RC is in error as a whole, of UC and UD the send queue alone. */
static void fail(struct sv_qp *qp, int event)
{
	struct sv_qp_sh *sh = qp->sh;

	sv_lock(&sh->lock);
	if (sh->type == IBV_QPT_RC || event >= 0) {
		sv_resp_error(sv_self, sh, event);
	} else if (sh->state == IBV_QPS_RTS) {
		__atomic_store_n(&sh->state, IBV_QPS_SQE, __ATOMIC_RELEASE);
		sh->ver++;
	}
	sv_unlock(&sh->lock);
}

/* False: overrun. */
static bool tell(struct sv_qp *qp, const struct sv_wqe *w)
{
	struct sv_cq_sh *cq = sv_cq(qp->ex.qp_base.send_cq)->sh;
	struct sv_cqe *e = sv_cq_begin(sv_self, cq);

	if (!e)
		return false;
	e->status = w->status;
	e->opcode = wc_opcode[w->opcode];
	e->wr_id = w->wr_id;
	e->qpn = qp->sh->qpn;
	e->qp_idx = qp->sh->idx;
	e->slot = qp->sq.done;
	e->is_send = 1;
	e->byte_len = w->len;
	sv_cq_end(sv_self, cq, e);
	return true;
}

static void complete_one(struct sv_qp *qp, const struct sv_wqe *w)
{
	bool told = true;

	if (w->status || qp->sig_all || (w->flags & IBV_SEND_SIGNALED))
		told = tell(qp, w);
	if (!told)
		fail(qp, IBV_EVENT_QP_FATAL);
	else if (w->status && w->status != IBV_WC_WR_FLUSH_ERR)
		fail(qp, -1);
}

/* With complete=post a request that brings nothing back completes before it takes effect. */
static bool may_complete(const struct sv_qp *qp, const struct sv_wqe *w, uint64_t now)
{
	if ((int32_t)(qp->sq.exec - qp->sq.done) <= 0)
		return w->opcode < IBV_WR_RDMA_READ;
	return w->cdue <= now || w->status == IBV_WC_WR_FLUSH_ERR;
}

/* False: nothing (more) may complete now. */
static bool complete(struct sv_qp *qp, uint64_t now)
{
	struct sv_sq *sq = &qp->sq;
	const uint32_t *end = qp->dev->spec->complete_post ? &sq->prod : &sq->exec;
	bool any = false;

	while (sq->done != *end) {
		struct sv_wqe *w = sv_wqe(qp, sq->done);

		if (!may_complete(qp, w, now))
			break;
		complete_one(qp, w);
		sq->done++;
		any = true;
	}
	return any;
}

/* A request that failed holds back the next ones until it has completed. */
static bool failing(const struct sv_qp *qp)
{
	return (int32_t)(qp->sq.exec - qp->sq.done) > 0 && sv_wqe(qp, qp->sq.exec - 1)->status;
}

static bool take_effect(struct sv_qp *qp, uint64_t now)
{
	struct sv_sq *sq = &qp->sq;
	uint32_t state = state_of(qp);
	struct sv_wqe *w;
	int ret;

	if (sq->exec == sq->prod || state == IBV_QPS_SQD || failing(qp))
		return false;
	w = sv_wqe(qp, sq->exec);
	if (state != IBV_QPS_RTS) {
		w->status = IBV_WC_WR_FLUSH_ERR;
		sq->exec++;
		return true;
	}
	if (w->due > now || sq->retry_at > now)
		return false;
	ret = sv_exec(qp, w);
	if (ret < 0)
		return false;
	w->status = (uint8_t)ret;
	if (w->due && !ret)
		sv_delay_effect(qp, w);
	if (ret && (int32_t)(sq->exec - sq->done) < 0)
		fail(qp, -1);	/* its completion said otherwise, too early */
	sq->exec++;
	return true;
}

static void drained(struct sv_qp *qp)
{
	if (!qp->attr.en_sqd_async_notify || qp->sq.done != qp->sq.exec)
		return;
	qp->attr.en_sqd_async_notify = 0;
	sv_event_raise(sv_self, qp->sh->ctx, IBV_EVENT_SQ_DRAINED, SV_OF_QP, qp->sh->idx,
		       qp->sh->qpn);
}

static void wait_for(struct sv_qp *qp)
{
	struct sv_sq *sq = &qp->sq;
	uint64_t due = UINT64_MAX;

	if ((int32_t)(sq->exec - sq->done) > 0)
		due = sv_wqe(qp, sq->done)->cdue;
	if (sq->exec != sq->prod && state_of(qp) != IBV_QPS_SQD && !failing(qp)) {
		uint64_t at = sv_wqe(qp, sq->exec)->due;

		at = at > sq->retry_at ? at : sq->retry_at;
		due = at < due ? at : due;
	}
	if (due != UINT64_MAX)
		sv_work_add(qp, due);
	else
		sv_work_del(qp);
}

void sv_sq_run(struct sv_qp *qp)
{
	struct sv_sq *sq = &qp->sq;
	uint64_t now = qp->dev->plain && !sq->retry_at ? 0 : sv_now();
	bool any;

	do {
		any = take_effect(qp, now);
		any |= complete(qp, now);
	} while (any && (sq->exec != sq->prod || sq->done != sq->exec));
	if (__builtin_expect(state_of(qp) == IBV_QPS_SQD, 0))
		drained(qp);
	if (sq->done != sq->prod || sq->exec != sq->prod || qp->in_work)
		wait_for(qp);
}
