/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The QPs' way from RESET to RTS, with the masks of IBTA vol. 1, 11.2.5.2 (modify QP). */
#include "endpoint_connect.h"
#include "endpoint_parts.h"

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

/* Where the peer is, by its address. */
static void fill_route(const struct endpoint_path *p, const struct endpoint_address *remote,
		       struct ibv_ah_attr *ah)
{
	ah->dlid = (uint16_t)(remote->lid + p->path_bits);
	ah->src_path_bits = p->path_bits;
	if (p->gid_index < 0)
		return;
	ah->is_global = 1;
	ah->grh.dgid = remote->gid.gid;
	ah->grh.sgid_index = (uint8_t)p->gid_index;
}

/* The way there is @route's, the rest the user's: the same whoever found the way. */
static void fill_ah(const struct endpoint_path *p, const struct endpoint_address *remote,
		    unsigned int i, const struct ibv_ah_attr *route, struct ibv_ah_attr *ah)
{
	bool load = p->load && i == remote->qp_count - 1;

	if (route)
		*ah = *route;
	if (!route || (p->gid_index >= 0 && !route->is_global))
		fill_route(p, remote, ah);
	ah->sl = load ? p->load_sl : p->sl;
	ah->static_rate = 0;
	ah->port_num = p->port;
	if (!ah->is_global)
		return;
	ah->grh.flow_label = p->flow_label;
	if (p->flow_label_counts)
		ah->grh.flow_label = (p->flow_label + i) & FLOW_LABEL_MAX;
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
		  const struct endpoint_address *remote, unsigned int i,
		  const struct ibv_ah_attr *route, struct error *err)
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
		fill_ah(p, remote, i, route, &a.ah_attr);
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
		    const struct endpoint_address *remote, const struct ibv_ah_attr *routes,
		    struct error *err)
{
	e->ahs = calloc(e->qp_count, sizeof(*e->ahs));
	if (!e->ahs)
		return error_set(err, EXIT_FAILED, ENOMEM, "%u address handles", e->qp_count);
	for (; e->ah_count < e->qp_count; e->ah_count++) {
		struct ibv_ah_attr attr = { .port_num = path->port };

		fill_ah(path, remote, e->ah_count, routes ? &routes[e->ah_count] : NULL, &attr);
		e->ahs[e->ah_count] = ibv_create_ah(e->pd, &attr);
		if (!e->ahs[e->ah_count])
			return error_set(err, EXIT_FAILED, errno,
					 "ibv_create_ah (port %u, GID index %d, remote LID 0x%04x; %s)",
					 path->port, path->gid_index, remote->lid, rtr_hint(errno));
	}
	return 0;
}

int endpoint_init_qp(struct endpoint *e, unsigned int i, struct ibv_qp_attr *a, int mask,
		     struct error *err)
{
	int rc;

	endpoint_progress(e, "connecting", e->qp_count, err);
	a->qp_access_flags = (unsigned int)qp_access(e);
	rc = ibv_modify_qp(e->qps[i], a, mask | IBV_QP_ACCESS_FLAGS);
	return rc ? error_set(err, EXIT_FAILED, rc, "QP 0x%06x to INIT (iWARP)", e->qps[i]->qp_num) : 0;
}

int endpoint_connect_qp(struct endpoint *e, unsigned int i, const struct endpoint_path *path,
			const struct endpoint_address *remote, const struct ibv_ah_attr *route,
			struct error *err)
{
	struct ibv_qp *qp = e->qps[i];

	endpoint_progress(e, "connecting", e->qp_count, err);
	return to_init(e, qp, path, err) || to_rtr(qp, path, remote, i, route, err) ||
	       to_rts(qp, path, e->psns[i], err) ? -1 : 0;
}

int endpoint_connect(struct endpoint *e, const struct endpoint_path *path,
		     const struct endpoint_address *remote, const struct ibv_ah_attr *routes,
		     struct error *err)
{
	e->qkey = path->qkey;
	for (unsigned int i = 0; i < e->qp_count; i++)
		if (endpoint_connect_qp(e, i, path, remote, routes ? &routes[i] : NULL, err))
			return -1;
	return e->qps[0]->qp_type == IBV_QPT_UD ? open_ahs(e, path, remote, routes, err) : 0;
}

void endpoint_connected(struct endpoint *e)
{
	if (e->qps[0]->qp_type != IBV_QPT_UD)
		e->in_order = ibv_query_qp_data_in_order(e->qps[0], IBV_WR_RDMA_WRITE, 0) ? 1 : 0;
}
