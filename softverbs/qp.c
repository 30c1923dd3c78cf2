/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Life of a QP. */
#include "qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "event.h"
#include "fault.h"
#include "pd.h"
#include "work.h"

struct sv_qp *sv_qps[SV_OBJECTS];
uint64_t sv_qp_offs[SV_OBJECTS];
struct sv_lock sv_tables;
uint32_t sv_qp_high;
static uint32_t next_idx, nqps;

static uint32_t pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static int check_caps(const struct spec_device *s, const struct ibv_qp_init_attr_ex *a)
{
	unsigned int type = a->qp_type == IBV_QPT_RC ? SPEC_RC : a->qp_type == IBV_QPT_UC ?
			    SPEC_UC : a->qp_type == IBV_QPT_UD ? SPEC_UD : 0;

	if (!(s->types & type))
		return EOPNOTSUPP;
	if (!a->send_cq || !a->recv_cq || a->cap.max_send_wr > s->max_qp_wr ||
	    a->cap.max_recv_wr > s->max_qp_wr || a->cap.max_send_sge > SV_MAX_SGE ||
	    a->cap.max_recv_sge > SV_MAX_SGE || a->cap.max_inline_data > s->max_inline)
		return EINVAL;
	return 0;
}

static int qp_enter(struct sv_qp *qp, uint32_t max)
{
	int ret = ENOMEM;

	sv_lock(&sv_tables);
	next_idx = nqps ? next_idx : 0;
	for (uint32_t n = 0; n < SV_OBJECTS && nqps < max && ret; n++) {
		uint32_t i = next_idx++ % SV_OBJECTS;

		if (sv_qps[i])
			continue;
		qp->sh->idx = i;
		__atomic_store_n(&sv_qps[i], qp, __ATOMIC_RELEASE);
		__atomic_store_n(&sv_qp_offs[i], qp->off, __ATOMIC_RELEASE);
		if (i >= sv_qp_high)
			__atomic_store_n(&sv_qp_high, i + 1, __ATOMIC_RELEASE);
		nqps++;
		ret = 0;
	}
	sv_unlock(&sv_tables);
	return ret;
}

static int sq_alloc(struct sv_sq *sq, const struct ibv_qp_cap *cap)
{
	size_t sges = cap->max_send_sge * sizeof(struct ibv_sge), in = cap->max_inline_data;

	sq->cap = cap->max_send_wr;
	sq->max_sge = cap->max_send_sge;
	sq->max_inline = cap->max_inline_data;
	sq->mask = pow2(sq->cap) - 1;
	sq->stride = (uint32_t)((sizeof(struct sv_wqe) + (sges > in ? sges : in) + 63) & ~63ul);
	sq->ring = aligned_alloc(64, ((size_t)sq->mask + 1) * sq->stride);
	if (sq->ring)
		memset(sq->ring, 0, ((size_t)sq->mask + 1) * sq->stride);
	return sq->ring ? 0 : ENOMEM;
}

int sv_rq_alloc(struct sv_rq *rq, uint32_t wr, uint32_t sge)
{
	rq->cap = wr;
	rq->mask = pow2(wr) - 1;
	rq->stride = (uint32_t)(sizeof(struct sv_rqe) + sge * sizeof(struct ibv_sge));
	rq->ring = sv_arena_alloc(((uint64_t)rq->mask + 1) * rq->stride);
	return rq->ring ? 0 : ENOMEM;
}

void sv_rq_free(struct sv_rq *rq)
{
	sv_arena_free(rq->ring, ((uint64_t)rq->mask + 1) * rq->stride);
	rq->ring = 0;
}

static int qp_alloc(struct sv_qp *qp, struct ibv_qp_init_attr_ex *a)
{
	struct sv_qp_sh *sh;
	int ret;

	qp->off = sv_object_alloc(SV_KIND_QP, sizeof(*sh));
	if (!qp->off)
		return ENOMEM;
	sh = qp->sh = sv_at(sv_self, qp->off);
	memset((uint8_t *)sh + sizeof(sh->lock), 0, sizeof(*sh) - sizeof(sh->lock));
	sh->type = a->qp_type;
	sh->pd = sv_pd(a->pd)->id;
	sh->ctx = sv_ctx(a->pd->context)->off;
	sh->recv_cq = sv_cq(a->recv_cq)->off;
	sh->srq = a->srq ? ((struct sv_srq *)(void *)a->srq)->off : 0;
	sh->ver = 1;
	sh->pkey_index = 0;
	sh->idx = UINT32_MAX;
	ret = sq_alloc(&qp->sq, &a->cap);
	if (!ret && !a->srq)
		ret = sv_rq_alloc(&sh->rq, a->cap.max_recv_wr, a->cap.max_recv_sge);
	if (!ret)
		ret = qp_enter(qp, qp->dev->spec->max_qp);
	if (ret)
		return ret;
	sh->qpn = sv_qpn_alloc((uint32_t)(qp->off >> 6));
	return sh->qpn ? 0 : ENOMEM;
}

static void qp_leave(struct sv_qp *qp)
{
	sv_lock(&sv_tables);
	if (qp->sh->idx != UINT32_MAX && sv_qps[qp->sh->idx] == qp) {
		__atomic_store_n(&sv_qps[qp->sh->idx], NULL, __ATOMIC_RELEASE);
		nqps--;
	}
	sv_unlock(&sv_tables);
}

static void qp_free(struct sv_qp *qp)
{
	if (qp->sh) {
		sv_lock(&qp->sh->lock);
		if (qp->sh->qpn)
			sv_qpn_free(qp->sh->qpn);
		qp->sh->qpn = 0;
		qp->sh->state = IBV_QPS_RESET;
		sv_unlock(&qp->sh->lock);
		sv_rq_free(&qp->sh->rq);
		qp_leave(qp);
		sv_object_free(SV_KIND_QP, qp->off);
	}
	sv_conn_drop(qp);
	free(qp->sq.ring);
	free(qp);
}

static void users(struct sv_qp *qp, int n)
{
	struct ibv_qp *b = &qp->ex.qp_base;

	__atomic_add_fetch(&sv_pd(b->pd)->refs, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sv_cq(b->send_cq)->refs, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sv_cq(b->recv_cq)->refs, n, __ATOMIC_RELAXED);
	if (b->srq)
		__atomic_add_fetch(&((struct sv_srq *)(void *)b->srq)->refs, n, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sv_ctx(b->context)->refs, n, __ATOMIC_RELAXED);
}

static void fill_base(struct sv_qp *qp, const struct ibv_qp_init_attr_ex *a)
{
	struct ibv_qp *b = &qp->ex.qp_base;

	b->context = a->pd->context;
	b->qp_context = a->qp_context;
	b->pd = a->pd;
	b->send_cq = a->send_cq;
	b->recv_cq = a->recv_cq;
	b->srq = a->srq;
	b->qp_num = qp->sh->qpn;
	b->handle = qp->sh->idx;
	b->state = IBV_QPS_RESET;
	b->qp_type = a->qp_type;
	pthread_mutex_init(&b->mutex, NULL);
	pthread_cond_init(&b->cond, NULL);
	qp->sig_all = a->sq_sig_all;
	qp->cap = a->cap;
	qp->rq_max_sge = a->cap.max_recv_sge;
}

static struct ibv_qp *create(struct ibv_pd *pd, struct ibv_qp_init_attr_ex *a)
{
	struct sv_dev *dev = sv_ctx(pd->context)->dev;
	struct sv_qp *qp;

	errno = check_caps(dev->spec, a);
	if (errno)
		return NULL;
	if (a->srq)
		a->cap.max_recv_wr = a->cap.max_recv_sge = 0;
	/* At least one of each, so that a QP can do something; reported back as granted. */
	if (!a->cap.max_send_sge)
		a->cap.max_send_sge = 1;
	qp = aligned_alloc(64, (sizeof(*qp) + 63) & ~63ul);
	if (!qp)
		return NULL;
	memset(qp, 0, sizeof(*qp));
	qp->dev = dev;
	errno = qp_alloc(qp, a);
	if (errno) {
		int err = errno;

		qp_free(qp);
		errno = err;
		return NULL;
	}
	fill_base(qp, a);
	users(qp, 1);
	return &qp->ex.qp_base;
}

struct ibv_qp *sv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex a = { .pd = pd };
	struct ibv_qp *qp;

	errno = sv_fail_ctx(pd->context, SPEC_CALL_create_qp);
	if (errno)
		return NULL;
	memcpy(&a, attr, sizeof(*attr));	/* the extended struct begins with it */
	qp = create(pd, &a);
	if (qp)
		attr->cap = a.cap;
	return qp;
}

struct ibv_qp *sv_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr)
{
	const uint64_t known = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			       IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			       IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	bool ops = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_qp *qp;

	errno = sv_fail_ctx(c, SPEC_CALL_create_qp_ex);
	if (errno)
		return NULL;
	if (attr->comp_mask & ~(uint32_t)(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
					  IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags) ||
	    (ops && attr->send_ops_flags & ~known)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		errno = EINVAL;
		return NULL;
	}
	qp = create(attr->pd, attr);
	if (qp && ops)
		sv_qp_ex_ops(sv_qp(qp));
	return qp;
}

static void wait_acks(struct sv_qp *qp)
{
	struct ibv_qp *b = &qp->ex.qp_base;

	pthread_mutex_lock(&b->mutex);
	while (b->events_completed != qp->async_events)
		pthread_cond_wait(&b->cond, &b->mutex);
	pthread_mutex_unlock(&b->mutex);
	pthread_mutex_destroy(&b->mutex);
	pthread_cond_destroy(&b->cond);
}

int sv_destroy_qp(struct ibv_qp *ibqp)
{
	struct sv_qp *qp = sv_qp(ibqp);
	uint32_t qpn = ibqp->qp_num;
	int ret = sv_fail(qp->dev, SPEC_CALL_destroy_qp);

	if (ret)
		return ret;
	sv_work_pause();
	sv_lock(&qp->lock);
	sv_work_del(qp);
	sv_lock(&qp->sh->lock);	/* a peer in the midst of a request to us ends it first */
	qp->sh->state = IBV_QPS_RESET;
	qp->sh->ver++;
	sv_qpn_free(qpn);
	qp->sh->qpn = 0;
	sv_unlock(&qp->sh->lock);
	sv_unlock(&qp->lock);
	sv_work_resume();
	sv_cq_purge(sv_cq(ibqp->send_cq), qpn);
	if (ibqp->recv_cq != ibqp->send_cq)
		sv_cq_purge(sv_cq(ibqp->recv_cq), qpn);
	sv_event_drop(sv_ctx(ibqp->context), SV_OF_QP, qp->sh->idx, qpn);
	qp_leave(qp);
	wait_acks(qp);
	users(qp, -1);
	qp_free(qp);
	return 0;
}

/* ff..., or on RoCE the IPv4 form of it: ::ffff:224.0.0.0 to 239.255.255.255. */
static bool is_multicast(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return gid->raw[0] == 0xff || (!memcmp(gid->raw, mapped, 12) && gid->raw[12] >> 4 == 14);
}

int sv_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid, uint16_t lid, bool join)
{
	enum spec_call call = join ? SPEC_CALL_attach_mcast : SPEC_CALL_detach_mcast;
	int ret = sv_fail_ctx(ibqp->context, call);

	if (ret)
		return ret;
	if (ibqp->qp_type != IBV_QPT_UD || !is_multicast(gid))
		return EINVAL;
	return join ? sv_group_join(ibqp->qp_num, gid, lid) :
		      sv_group_leave(ibqp->qp_num, gid, lid);
}
