/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The QPs' way from RESET to RTS, with the masks of IBTA vol. 1, 11.2.5.2 (modify QP). */
#include "endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

static int qp_access(const struct endpoint *e)
{
	return e->access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			    IBV_ACCESS_REMOTE_ATOMIC);
}

static int to_init(struct endpoint *e, struct ibv_qp *qp, const struct endpoint_path *p,
		   struct error *err)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = (uint16_t)p->pkey_index,
		.port_num = p->port,
		.qp_access_flags = (unsigned int)qp_access(e),
		.qkey = p->qkey,
	};
	bool ud = qp->qp_type == IBV_QPT_UD;
	int rc;

	rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					   (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	return rc ? error_set(err, EXIT_FAILED, rc, "QP 0x%06x to INIT (port %u, P_Key index %d)",
			      qp->qp_num, p->port, p->pkey_index) : 0;
}

static void fill_ah(const struct endpoint_path *p, const struct endpoint_address *remote,
		    unsigned int i, struct ibv_ah_attr *ah)
{
	bool load = p->load && i == remote->qp_count - 1;

	ah->dlid = (uint16_t)(remote->lid + p->path_bits);
	ah->sl = load ? p->load_sl : p->sl;
	ah->src_path_bits = p->path_bits;
	ah->port_num = p->port;
	if (p->gid_index < 0)
		return;
	ah->is_global = 1;
	ah->grh.dgid = remote->gid.gid;
	ah->grh.flow_label = p->flow_label;
	if (p->flow_label_counts)
		ah->grh.flow_label = (p->flow_label + i) & FLOW_LABEL_MAX;
	ah->grh.sgid_index = (uint8_t)p->gid_index;
	ah->grh.hop_limit = p->hop_limit;
	ah->grh.traffic_class = load ? p->load_traffic_class : p->traffic_class;
}

static const char *rtr_hint(int rc)
{
	switch (rc) {
	case ETIMEDOUT:
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "the peer's address does not resolve: can its GID be reached from this port "
		       "(ping)?";
	case EINVAL:
		return "the device rejects an attribute: GID index, GRH, path MTU or LID";
	case ENODEV:
		return "the network interface behind the GID is gone";
	default:
		return "see the addresses above";
	}
}

static int to_rtr(struct ibv_qp *qp, const struct endpoint_path *p,
		  const struct endpoint_address *remote, unsigned int i, struct error *err)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_from_bytes(p->mtu),
		.dest_qp_num = remote->qpns[i],
		.rq_psn = remote->psns[i],
		.max_dest_rd_atomic = p->max_dest_rd_atomic,
		.min_rnr_timer = p->min_rnr_timer,
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	char gid[GID_TEXT_MAX] = "none";
	int rc;

	if (qp->qp_type == IBV_QPT_UD)
		mask = IBV_QP_STATE;
	else
		fill_ah(p, remote, i, &a.ah_attr);
	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	rc = ibv_modify_qp(qp, &a, mask);
	if (!rc)
		return 0;
	if (remote->has_gid)
		gid_text(&remote->gid.gid, gid);
	return error_set(err, EXIT_FAILED, rc,
			 "QP 0x%06x to RTR (port %u, GID index %d; remote LID 0x%04x, QPN 0x%06x, "
			 "GID %s; path MTU %u; %s)", qp->qp_num, p->port, p->gid_index, remote->lid,
			 remote->qpns[i], gid, p->mtu, rtr_hint(rc));
}

static int to_rts(struct ibv_qp *qp, const struct endpoint_path *p, uint32_t psn,
		  struct error *err)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = p->timeout,
		.retry_cnt = p->retry_count,
		.rnr_retry = p->rnr_retry,
		.max_rd_atomic = p->max_rd_atomic,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN, rc;

	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	rc = ibv_modify_qp(qp, &a, mask);
	return rc ? error_set(err, EXIT_FAILED, rc, "QP 0x%06x to RTS (timeout %u, retries %u)",
			      qp->qp_num, p->timeout, p->retry_count) : 0;
}

/* UD: how to reach the peer's port; one a QP, since flow labels may count up. */
static int open_ahs(struct endpoint *e, const struct endpoint_path *path,
		    const struct endpoint_address *remote, struct error *err)
{
	e->ahs = calloc(e->qp_count, sizeof(*e->ahs));
	if (!e->ahs)
		return error_set(err, EXIT_FAILED, ENOMEM, "%u address handles", e->qp_count);
	for (; e->ah_count < e->qp_count; e->ah_count++) {
		struct ibv_ah_attr attr = { .port_num = path->port };

		fill_ah(path, remote, e->ah_count, &attr);
		e->ahs[e->ah_count] = ibv_create_ah(e->pd, &attr);
		if (!e->ahs[e->ah_count])
			return error_set(err, EXIT_FAILED, errno,
					 "ibv_create_ah (port %u, GID index %d, remote LID 0x%04x; %s)",
					 path->port, path->gid_index, remote->lid, rtr_hint(errno));
	}
	return 0;
}

int endpoint_connect(struct endpoint *e, const struct endpoint_path *path,
		     const struct endpoint_address *remote, struct error *err)
{
	e->qkey = path->qkey;
	for (unsigned int i = 0; i < e->qp_count; i++)
		if (to_init(e, e->qps[i], path, err) || to_rtr(e->qps[i], path, remote, i, err) ||
		    to_rts(e->qps[i], path, e->psns[i], err))
			return -1;
	if (e->qps[0]->qp_type == IBV_QPT_UD)
		return open_ahs(e, path, remote, err);
	e->in_order = ibv_query_qp_data_in_order(e->qps[0], IBV_WR_RDMA_WRITE, 0) ? 1 : 0;
	return 0;
}
