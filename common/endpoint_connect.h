/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The QPs' way from RESET to RTS, whoever found the way to the peer. */
#ifndef COMMON_ENDPOINT_CONNECT_H
#define COMMON_ENDPOINT_CONNECT_H

#include "endpoint.h"

#define FLOW_LABEL_MAX 0xfffff

/* How the QPs talk; both ends have the same but for the addresses. */
struct endpoint_path {
	uint8_t port, sl, traffic_class, hop_limit, path_bits;
	uint32_t flow_label;
	bool flow_label_counts; /* QP i has flow_label + i */
	bool load;              /* the last QP has these: */
	uint8_t load_sl, load_traffic_class;
	int pkey_index, gid_index; /* gid_index -1: no GRH */
	uint16_t mtu; /* bytes */
	uint8_t timeout, retry_count, rnr_retry, min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic; /* negotiated */
	uint32_t qkey; /* UD */
};

/*
 * All QPs to INIT, RTR and RTS; UD: address handles. @routes: LIDs and GIDs of QP i as rdma_cm has
 * them; NULL: those of the addresses.
 */
int endpoint_connect(struct endpoint *e, const struct endpoint_path *path,
		     const struct endpoint_address *remote, const struct ibv_ah_attr *routes,
		     struct error *err);
/* QP @i alone; @route as above, or NULL. */
int endpoint_connect_qp(struct endpoint *e, unsigned int i, const struct endpoint_path *path,
			const struct endpoint_address *remote, const struct ibv_ah_attr *route,
			struct error *err);
/* iWARP: QP @i to INIT alone, by the attributes of rdma_cm; connecting takes it further. */
int endpoint_init_qp(struct endpoint *e, unsigned int i, struct ibv_qp_attr *a, int mask,
		     struct error *err);
/* All are connected: asks whether WRITE data arrives in order. */
void endpoint_connected(struct endpoint *e);
/* What ibv_query_qp says, but for QPNs and PSNs. 0 or -errno. */
int endpoint_attributes_text(struct ibv_qp *qp, char *out, size_t cap);

#endif
