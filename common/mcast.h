/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A multicast group of UD queue pairs (IBTA vol. 1, 10.5). Joined by rdma_cm, which alone makes a
 * fabric forward the packets; where there is no rdma_cm the QP is attached, and no more.
 */
#ifndef COMMON_MCAST_H
#define COMMON_MCAST_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "error.h"
#include "gid.h"

#define MCAST_QPN 0xffffff /* destination of every multicast (IBTA vol. 1, 9.4.1) */
#define MCAST_DEFAULT "239.255.86.80"

struct rdma_event_channel;
struct rdma_cm_id;

struct mcast_wish {
	const char *address;           /* IPv4 or IPv6 group, or an MGID */
	struct ibv_context *ctx;
	const struct gid_entry *local; /* the GID that is used; NULL: none */
	uint8_t port, sl, hop_limit;
	uint32_t qkey;                 /* where no rdma_cm gives one */
	bool no_cm;                    /* do not try rdma_cm */
	uint64_t deadline;
};

struct mcast {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;     /* joined; NULL: attached only */
	struct ibv_ah_attr ah;     /* to the group */
	uint32_t qkey;
	struct ibv_ah *handle;     /* a sender's */
	struct ibv_qp *attached;   /* a receiver's */
};

/* 0 or -1. Fills ah and qkey, which the QPs must have. */
int mcast_join(struct mcast *m, const struct mcast_wish *wish, struct error *err);
int mcast_open_sender(struct mcast *m, struct ibv_pd *pd, struct error *err);
int mcast_attach(struct mcast *m, struct ibv_qp *qp, struct error *err);
/* Any half-open state is fine. */
void mcast_close(struct mcast *m, struct error *err);

/* The MGID of a group address: 0 or -EINVAL. IPv4 on RoCE v2 is mapped, else below ff0e::ffff:0:0. */
int mcast_gid(const char *address, enum gid_type type, union ibv_gid *mgid);

#endif
