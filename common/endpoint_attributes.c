/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A QP's attributes as the device has them, for --verbose: what a way of connecting has set. */
#include "endpoint_connect.h"

#include "device.h"

#define ASKED                                                                                      \
	(IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY |      \
	 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |      \
	 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_CAP | \
	 IBV_QP_PATH_MIG_STATE)

static int path_text(const struct ibv_ah_attr *ah, char *out, size_t cap)
{
	char gid[GID_TEXT_MAX];

	gid_text(&ah->grh.dgid, gid);
	return snprintf(out, cap,
			"DLID 0x%04x, SL %u, path bits %u, static rate %u, port %u, GRH %u, DGID %s, "
			"SGID index %u, flow label 0x%05x, hop limit %u, traffic class %u", ah->dlid,
			ah->sl, ah->src_path_bits, ah->static_rate, ah->port_num, ah->is_global, gid,
			ah->grh.sgid_index, ah->grh.flow_label, ah->grh.hop_limit,
			ah->grh.traffic_class);
}

int endpoint_attributes_text(struct ibv_qp *qp, char *out, size_t cap)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RESET };
	char path[320] = "";
	int rc = ibv_query_qp(qp, &a, ASKED, &init);

	if (rc)
		return -rc;
	path_text(&a.ah_attr, path, sizeof(path));
	snprintf(out, cap,
		 "state %d, port %u, P_Key index %u, access 0x%x, Q_Key 0x%08x, path MTU %u, "
		 "timeout %u, retries %u, RNR retries %u, min RNR timer %u, RD atomics %u out, %u in, "
		 "migration %d, send WRs %u, receive WRs %u, inline %u; %s", a.qp_state, a.port_num,
		 a.pkey_index, a.qp_access_flags, a.qkey, mtu_bytes(a.path_mtu), a.timeout,
		 a.retry_cnt, a.rnr_retry, a.min_rnr_timer, a.max_rd_atomic, a.max_dest_rd_atomic,
		 a.path_mig_state, init.cap.max_send_wr, init.cap.max_recv_wr,
		 init.cap.max_inline_data, path);
	return 0;
}
