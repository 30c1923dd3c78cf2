/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lane: one QP with all that a timed loop touches to send and to receive on it. The lanes of an
 * end form a ring, which a ping-pong walks round: with one QP a lane's next is itself.
 */
#ifndef COMMON_LANE_H
#define COMMON_LANE_H

#include "endpoint.h"
#include "op.h"

struct lane;

/* Posts the lane's work request under @id; 0 or an errno value. */
typedef int (*lane_post)(struct lane *l, uint64_t id);

struct lane {
	struct lane *next;
	lane_post post;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;      /* NULL with ibv_post_send */
	struct endpoint_cqs *cqs;
	struct ibv_send_wr wr;      /* of this size: opcode, flags, remote address, AH */
	struct ibv_sge sge;
	struct ibv_recv_wr recv_wr; /* one receive, to be posted again and again */
	struct ibv_sge recv_sge;
	struct ibv_srq *srq;        /* or NULL: the QP's own receive queue */
	unsigned int index;
	char *send;                 /* first byte of the lane's send area */
	char *recv;                 /* where the payload of a message lands: behind a GRH on UD */
	uint32_t consumed;          /* receives to be posted again */
};

/* What all lanes of a size have in common. */
struct lane_plan {
	enum op_kind op;
	enum transport transport;
	uint64_t size, recv_size;   /* of messages; of the receives that are posted */
	uint32_t most_inline;       /* messages up to this size go inline; 0: none */
};

/* One lane, next left alone. What was consumed of its receives stays. */
void lane_fill(struct lane *l, unsigned int index, const struct endpoint *e,
	       const struct endpoint_address *remote, const struct lane_plan *plan);

/* The first @count lanes, zeroed at first; closed to a ring. */
void lanes_fill(struct lane *lanes, unsigned int count, const struct endpoint *e,
		const struct endpoint_address *remote, const struct lane_plan *plan);

/* Posts @n receives; 0 or an errno value. */
int lane_post_receives(struct lane *l, unsigned int n);

#endif
