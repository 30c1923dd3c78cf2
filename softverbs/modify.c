/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ibv_modify_qp and ibv_query_qp. */
#include <errno.h>
#include <string.h>

#include "data.h"
#include "device.h"
#include "event.h"
#include "fault.h"
#include "pd.h"
#include "work.h"

int sv_check_av(struct ibv_context *c, const struct ibv_ah_attr *a)
{
	const struct spec_port *p = sv_port(c, a->port_num);

	if (!p || a->sl > 15 || (a->is_global && a->grh.sgid_index >= p->ngids))
		return EINVAL;
	/* Ethernet has no other address than the GID, and a port may ask for it. */
	if ((p->grh_required || p->link == SPEC_LINK_ETH) && !a->is_global)
		return EINVAL;
	return 0;
}

static int check_values(struct sv_qp *qp, const struct ibv_qp_attr *a, int mask)
{
	struct ibv_context *c = qp->ex.qp_base.context;
	const struct spec_device *s = qp->dev->spec;
	uint8_t port_num = mask & IBV_QP_PORT ? a->port_num : (uint8_t)qp->sh->port;
	const struct spec_port *port = sv_port(c, port_num);

	if ((mask & (IBV_QP_PORT | IBV_QP_PKEY_INDEX)) && !port)
		return EINVAL;
	if ((mask & IBV_QP_PKEY_INDEX) && a->pkey_index >= port->npkeys)
		return EINVAL;
	if (mask & IBV_QP_AV) {
		/* libraries and programs leave the port out of the vector at times */
		struct ibv_ah_attr av = a->ah_attr;

		av.port_num = av.port_num ? av.port_num : port_num;
		if (sv_check_av(c, &av))
			return EINVAL;
	}
	if ((mask & IBV_QP_PATH_MTU) && (a->path_mtu < IBV_MTU_256 || !port ||
					 a->path_mtu > port->mtu))
		return EINVAL;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && a->max_rd_atomic > s->max_rd_atomic)
		return EINVAL;
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && a->max_dest_rd_atomic > s->max_rd_atomic)
		return EINVAL;
	if (((mask & IBV_QP_TIMEOUT) && a->timeout > 31) ||
	    ((mask & IBV_QP_RETRY_CNT) && a->retry_cnt > 7) ||
	    ((mask & IBV_QP_RNR_RETRY) && a->rnr_retry > 7) ||
	    ((mask & IBV_QP_MIN_RNR_TIMER) && a->min_rnr_timer > 31) ||
	    ((mask & IBV_QP_DEST_QPN) && a->dest_qp_num > 0xffffff))
		return EINVAL;
	return mask & IBV_QP_ALT_PATH ? EOPNOTSUPP : 0;	/* no automatic path migration */
}

static void set_path(struct sv_qp *qp, const struct ibv_qp_attr *a, int mask)
{
	struct sv_qp_sh *sh = qp->sh;
	struct ibv_qp_attr *to = &qp->attr;

	if (mask & IBV_QP_PKEY_INDEX)
		sh->pkey_index = to->pkey_index = a->pkey_index;
	if (mask & IBV_QP_PORT)
		sh->port = to->port_num = a->port_num;
	if (mask & IBV_QP_QKEY)
		sh->qkey = to->qkey = a->qkey;
	if (mask & IBV_QP_ACCESS_FLAGS)
		sh->access = to->qp_access_flags = a->qp_access_flags;
	if (mask & IBV_QP_PATH_MTU)
		sh->mtu = to->path_mtu = a->path_mtu;
	if (mask & IBV_QP_DEST_QPN)
		sh->dest_qpn = to->dest_qp_num = a->dest_qp_num;
	if (mask & IBV_QP_RQ_PSN)
		sh->epsn = to->rq_psn = a->rq_psn & 0xffffff;
	if (mask & IBV_QP_AV) {
		sh->av = to->ah_attr = a->ah_attr;
		if (!sh->av.port_num)
			sh->av.port_num = to->ah_attr.port_num = (uint8_t)sh->port;
		if (qp->dev->trace)
			trace_path(qp->dev->trace, qp->dev->ibv.name, "qp", sh->qpn, &sh->av);
	}
}

static void set_timers(struct sv_qp *qp, const struct ibv_qp_attr *a, int mask)
{
	struct sv_qp_sh *sh = qp->sh;
	struct ibv_qp_attr *to = &qp->attr;

	if (mask & IBV_QP_SQ_PSN)
		qp->sq.psn = to->sq_psn = a->sq_psn & 0xffffff;
	if (mask & IBV_QP_TIMEOUT)
		to->timeout = a->timeout;
	if (mask & IBV_QP_RETRY_CNT)
		to->retry_cnt = a->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		to->rnr_retry = a->rnr_retry;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		sh->min_rnr = to->min_rnr_timer = a->min_rnr_timer;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = a->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		sh->max_dest_rd = to->max_dest_rd_atomic = a->max_dest_rd_atomic;
	if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = a->en_sqd_async_notify;
}

/* Back to new: both queues empty, no attribute left. Completions go with purge, after the locks. */
static void reset(struct sv_qp *qp)
{
	struct sv_sq *sq = &qp->sq;

	sq->prod = sq->exec = sq->done = sq->tail = 0;
	sq->retry_at = sq->tries = sq->rnr_tries = sq->nrd = 0;
	memset(sq->rd_done, 0, sizeof(sq->rd_done));
	sv_work_del(qp);
	sv_conn_drop(qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->sh->rq.cons = qp->sh->rq.prod = qp->sh->rq.prod_seen = qp->rq_done = 0;
	qp->sh->dest_qpn = qp->sh->port = qp->sh->established = qp->sh->last_wqe = 0;
}

static void enter(struct sv_qp *qp, enum ibv_qp_state to)
{
	struct sv_qp_sh *sh = qp->sh;

	if (to == IBV_QPS_ERR) {
		sv_resp_error(sv_self, sh, -1);
		return;
	}
	__atomic_store_n(&sh->state, to, __ATOMIC_SEQ_CST);
	if (to == IBV_QPS_RESET)
		reset(qp);
}

static int change(struct sv_qp *qp, const struct ibv_qp_attr *a, int mask)
{
	enum ibv_qp_state from = qp->sh->state, to = mask & IBV_QP_STATE ? a->qp_state : from;
	int ret;

	if ((mask & IBV_QP_CUR_STATE) && a->cur_qp_state != from)
		return EINVAL;
	ret = sv_qp_check_mask(qp->ex.qp_base.qp_type, from, to, mask);
	if (!ret)
		ret = check_values(qp, a, mask);
	if (ret)
		return ret;
	set_path(qp, a, mask);
	set_timers(qp, a, mask);
	if (to != from || to == IBV_QPS_RESET)
		enter(qp, to);
	qp->sh->ver++;
	return 0;
}

int sv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *a, int mask)
{
	struct sv_qp *qp = sv_qp(ibqp);
	int ret = sv_fail(qp->dev, SPEC_CALL_modify_qp);

	if (ret)
		return ret;
	sv_lock(&qp->lock);
	sv_lock(&qp->rlock);
	sv_lock(&qp->sh->lock);
	ret = change(qp, a, mask);
	ibqp->state = qp->sh->state;
	sv_unlock(&qp->sh->lock);
	sv_unlock(&qp->rlock);
	if (!ret && ibqp->state == IBV_QPS_RTS)
		sv_conn_warm(qp);
	if (!ret && ibqp->state != IBV_QPS_RESET)
		sv_sq_run(qp);		/* flushes, or goes on after SQD */
	sv_unlock(&qp->lock);
	if (!ret && ibqp->state == IBV_QPS_RESET) {
		sv_cq_purge(sv_cq(ibqp->send_cq), ibqp->qp_num);
		if (ibqp->send_cq != ibqp->recv_cq)
			sv_cq_purge(sv_cq(ibqp->recv_cq), ibqp->qp_num);
	}
	return ret;
}

int sv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *a, int mask,
		struct ibv_qp_init_attr *init)
{
	struct sv_qp *qp = sv_qp(ibqp);
	int ret = sv_fail(qp->dev, SPEC_CALL_query_qp);

	(void)mask;		/* a hint only: all of it is cheap */
	if (ret)
		return ret;
	sv_lock(&qp->lock);
	sv_lock(&qp->sh->lock);
	*a = qp->attr;
	a->qp_state = a->cur_qp_state = ibqp->state = qp->sh->state;
	a->sq_psn = qp->sq.psn;
	a->rq_psn = qp->sh->epsn;
	a->sq_draining = qp->sh->state == IBV_QPS_SQD && qp->sq.done != qp->sq.exec;
	a->cap = qp->cap;
	sv_unlock(&qp->sh->lock);
	sv_unlock(&qp->lock);
	memset(init, 0, sizeof(*init));
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = qp->cap;
	init->qp_type = ibqp->qp_type;
	init->sq_sig_all = qp->sig_all;
	return 0;
}
