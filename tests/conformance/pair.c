/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Making and connecting the two ends. */
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct opt opt_default(enum ibv_qp_type type)
{
	return (struct opt){
		.type = type,
		.qp_access = type == IBV_QPT_RC ? ALL_ACCESS : IBV_ACCESS_REMOTE_WRITE,
		.mr_access = ALL_ACCESS,
		.timeout = 14,
		.retry = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.rd_atomic = 4,
		.cqe = 64,
		.depth = 16,
		.sge = 4,
		.inl = 64,
		.psn = 0xfffff0,	/* so that it wraps */
		.sig_all = true,
	};
}

struct ibv_qp *qp_create(struct conf *c, const struct opt *o, struct ibv_cq *scq,
			 struct ibv_cq *rcq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = scq,
		.recv_cq = rcq,
		.srq = srq,
		.cap = { .max_send_wr = o->depth, .max_recv_wr = srq ? 0 : o->depth,
			 .max_send_sge = o->sge, .max_recv_sge = srq ? 0 : o->sge,
			 .max_inline_data = o->inl },
		.qp_type = o->type,
		.sq_sig_all = o->sig_all,
	};

	return ibv_create_qp(c->pd, &init);
}

void av_to_self(struct conf *c, struct ibv_ah_attr *av)
{
	memset(av, 0, sizeof(*av));
	av->dlid = c->port.lid;
	av->port_num = c->port_num;
	av->is_global = c->grh;
	av->grh.dgid = c->gid;
	av->grh.sgid_index = (uint8_t)c->gid_index;
	av->grh.hop_limit = 64;
}

static uint8_t rd_depth(uint8_t wish, int limit)
{
	return limit < wish ? (uint8_t)limit : wish;
}

static int rtr_mask(struct conf *c, const struct opt *o, uint32_t dest, struct ibv_qp_attr *attr)
{
	if (o->type == IBV_QPT_UD)
		return IBV_QP_STATE;
	attr->path_mtu = c->port.active_mtu < IBV_MTU_1024 ? c->port.active_mtu : IBV_MTU_1024;
	attr->dest_qp_num = dest;
	attr->rq_psn = o->psn;
	av_to_self(c, &attr->ah_attr);
	if (o->type == IBV_QPT_UC)
		return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	attr->max_dest_rd_atomic = rd_depth(o->rd_atomic, c->dev.max_qp_rd_atom);
	attr->min_rnr_timer = o->min_rnr_timer;
	return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

static int rts_mask(struct conf *c, const struct opt *o, struct ibv_qp_attr *attr)
{
	attr->sq_psn = o->psn;
	if (o->type != IBV_QPT_RC)
		return IBV_QP_STATE | IBV_QP_SQ_PSN;
	attr->timeout = o->timeout;
	attr->retry_cnt = o->retry;
	attr->rnr_retry = o->rnr_retry;
	attr->max_rd_atomic = rd_depth(o->rd_atomic, c->dev.max_qp_init_rd_atom);
	return IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
}

int attr_for(struct conf *c, const struct opt *o, enum ibv_qp_state to, uint32_t dest,
	     struct ibv_qp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = to;
	if (to == IBV_QPS_RTR)
		return rtr_mask(c, o, dest, attr);
	if (to == IBV_QPS_RTS)
		return rts_mask(c, o, attr);
	if (to != IBV_QPS_INIT)
		return IBV_QP_STATE;
	attr->port_num = c->port_num;
	attr->pkey_index = o->pkey_index;
	attr->qp_access_flags = (unsigned int)o->qp_access;
	attr->qkey = QKEY;
	return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
	       (o->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
}

int qp_step(struct conf *c, const struct opt *o, struct ibv_qp *qp, enum ibv_qp_state to,
	    uint32_t dest)
{
	struct ibv_qp_attr attr;
	int mask = attr_for(c, o, to, dest, &attr);

	return ibv_modify_qp(qp, &attr, mask);
}

int qp_up(struct conf *c, const struct opt *o, struct ibv_qp *qp, enum ibv_qp_state to,
	  uint32_t dest)
{
	int rc = 0;

	for (int s = IBV_QPS_INIT; s <= (int)to && !rc; s++)
		rc = qp_step(c, o, qp, (enum ibv_qp_state)s, dest);
	return rc;
}

int qp_set(struct ibv_qp *qp, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = { .qp_state = to };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

int qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) ? -1 : (int)attr.qp_state;
}

static int end_open(struct pair *p, struct end *e, struct ibv_srq *srq,
		    struct ibv_comp_channel *channel)
{
	struct conf *c = p->c;

	if (posix_memalign((void **)&e->buf, 4096, BUF_SIZE)) {
		e->buf = NULL;
		return -1;
	}
	memset(e->buf, 0, BUF_SIZE);
	e->mr = ibv_reg_mr(c->pd, e->buf, BUF_SIZE, p->o.mr_access);
	e->scq = ibv_create_cq(c->ctx, p->o.cqe, e, NULL, 0);
	e->rcq = ibv_create_cq(c->ctx, p->o.cqe, e, channel, 0);
	if (!e->mr || !e->scq || !e->rcq)
		return -1;
	e->qp = qp_create(c, &p->o, e->scq, e->rcq, srq);
	return e->qp ? 0 : -1;
}

static int make_ahs(struct pair *p)
{
	struct ibv_ah_attr av;

	av_to_self(p->c, &av);
	p->a.ah = ibv_create_ah(p->c->pd, &av);
	p->b.ah = ibv_create_ah(p->c->pd, &av);
	return p->a.ah && p->b.ah ? 0 : -1;
}

static int connect_both(struct pair *p)
{
	errno = qp_up(p->c, &p->o, p->b.qp, IBV_QPS_RTS, p->a.qp->qp_num);
	if (!errno)
		errno = qp_up(p->c, &p->o, p->a.qp, IBV_QPS_RTS, p->b.qp->qp_num);
	return errno ? -1 : 0;
}

int pair_open(struct conf *c, struct pair *p, const struct opt *o)
{
	memset(p, 0, sizeof(*p));
	p->c = c;
	p->o = *o;
	if (!end_open(p, &p->a, NULL, NULL) && !end_open(p, &p->b, o->srq, o->channel) &&
	    !connect_both(p) && (o->type != IBV_QPT_UD || !make_ahs(p)))
		return 0;
	check(c, false, "-", "two connected QPs can be made");
	note("last errno: %s", strerror(errno));
	pair_close(p);
	return -1;
}

int pair_reconnect(struct pair *p)
{
	struct ibv_wc wc;

	if (qp_set(p->a.qp, IBV_QPS_RESET) || qp_set(p->b.qp, IBV_QPS_RESET))
		return -1;
	while (ibv_poll_cq(p->a.scq, 1, &wc) > 0 || ibv_poll_cq(p->a.rcq, 1, &wc) > 0 ||
	       ibv_poll_cq(p->b.scq, 1, &wc) > 0 || ibv_poll_cq(p->b.rcq, 1, &wc) > 0)
		;
	return connect_both(p);
}

static void end_close(struct end *e)
{
	if (e->ah)
		ibv_destroy_ah(e->ah);
	if (e->qp)
		ibv_destroy_qp(e->qp);
	if (e->scq)
		ibv_destroy_cq(e->scq);
	if (e->rcq)
		ibv_destroy_cq(e->rcq);
	if (e->mr)
		ibv_dereg_mr(e->mr);
	free(e->buf);
	memset(e, 0, sizeof(*e));
}

void pair_close(struct pair *p)
{
	end_close(&p->a);
	end_close(&p->b);
}
