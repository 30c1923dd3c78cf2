/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One end of a connection: opened, given memory and a QP, connected. */
#ifndef TESTS_SOFTVERBS_SOFT_END_H
#define TESTS_SOFTVERBS_SOFT_END_H

#include "soft_base.h"

static inline void end_open(struct end *e, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK(list);
	memset(e, 0, sizeof(*e));
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			e->ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	CHECK(e->ctx);
	CHECK(!ibv_query_port(e->ctx, 1, &e->port));
	e->pd = ibv_alloc_pd(e->ctx);
	CHECK(e->pd);
}

static inline void end_memory(struct end *e, size_t len)
{
	e->len = len;
	e->buf = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(e->buf != MAP_FAILED);
	e->mr = ibv_reg_mr(e->pd, e->buf, len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(e->mr);
}

static inline void end_qp(struct end *e, enum ibv_qp_type type, int depth)
{
	struct ibv_qp_init_attr a = {
		.qp_type = type,
		.cap = { .max_send_wr = (uint32_t)depth, .max_recv_wr = (uint32_t)depth,
			 .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64 },
	};
	struct ibv_qp_attr q = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11,
				 .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

	if (!e->cq)
		e->cq = ibv_create_cq(e->ctx, 4 * depth, NULL, NULL, 0);
	CHECK(e->cq);
	a.send_cq = a.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &a);
	CHECK(e->qp);
	CHECK(!ibv_modify_qp(e->qp, &q, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

static inline struct addr end_addr(const struct end *e)
{
	struct addr a = { .qpn = e->qp->qp_num, .lid = e->port.lid };

	if (e->mr) {
		a.rkey = e->mr->rkey;
		a.va = (uintptr_t)e->buf;
	}
	CHECK(!ibv_query_gid(e->ctx, 1, 0, &a.gid));
	return a;
}

struct knobs {
	uint8_t timeout, retry, rnr_retry, min_rnr;
};

/* To RTS against to; timeout 10 (4.2 ms), 3 retries, RNR 3 times 0.64 ms unless k says. */
static inline void end_connect(struct end *e, const struct addr *to, const struct knobs *k)
{
	static const struct knobs usual = { 10, 3, 3, 12 };
	int rc = e->qp->qp_type == IBV_QPT_RC, ud = e->qp->qp_type == IBV_QPT_UD;
	int eth = e->port.link_layer == IBV_LINK_LAYER_ETHERNET;
	struct ibv_qp_attr q = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024 };

	k = k ? k : &usual;
	q.dest_qp_num = to->qpn;
	q.max_dest_rd_atomic = q.max_rd_atomic = 4;
	q.min_rnr_timer = k->min_rnr;
	q.ah_attr.dlid = to->lid;
	q.ah_attr.port_num = 1;
	q.ah_attr.is_global = (uint8_t)eth;
	q.ah_attr.grh.dgid = to->gid;
	CHECK(!ibv_modify_qp(e->qp, &q, ud ? IBV_QP_STATE : IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)));
	q.qp_state = IBV_QPS_RTS;
	q.timeout = k->timeout;
	q.retry_cnt = k->retry;
	q.rnr_retry = k->rnr_retry;
	CHECK(!ibv_modify_qp(e->qp, &q, IBV_QP_STATE | IBV_QP_SQ_PSN | (rc ? IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0)));
}

#endif
