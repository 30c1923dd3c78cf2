/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two QPs of one device, connected to each other, each with its CQs and a registered buffer. */
#ifndef CONFORMANCE_PAIR_H
#define CONFORMANCE_PAIR_H

#include "conf.h"

#define BUF_SIZE 16384
#define QKEY 0x11111111
#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct opt {
	enum ibv_qp_type type;
	int qp_access, mr_access;
	uint8_t timeout, retry, rnr_retry, min_rnr_timer, rd_atomic;
	int cqe;
	uint32_t depth, sge, inl, psn;
	uint16_t pkey_index;
	bool sig_all;
	struct ibv_srq *srq;		/* of end b */
	struct ibv_comp_channel *channel;	/* for the receive CQ of end b */
};

struct end {
	struct ibv_qp *qp;
	struct ibv_cq *scq, *rcq;
	struct ibv_mr *mr;
	uint8_t *buf;
	struct ibv_ah *ah;	/* UD: to the other end */
};

/* a is the requester of nearly all checks, b the responder. */
struct pair {
	struct conf *c;
	struct opt o;
	struct end a, b;
};

struct opt opt_default(enum ibv_qp_type type);
/* 0, or -1 after a failed check that says where. pair_close accepts a half-open pair. */
int pair_open(struct conf *c, struct pair *p, const struct opt *o);
void pair_close(struct pair *p);
int pair_reconnect(struct pair *p);	/* both through RESET; 0 or -1 */

/* The steps of a connection, with all attributes that the type requires; errno or 0. */
struct ibv_qp *qp_create(struct conf *c, const struct opt *o, struct ibv_cq *scq,
			 struct ibv_cq *rcq, struct ibv_srq *srq);
void av_to_self(struct conf *c, struct ibv_ah_attr *av);
int attr_for(struct conf *c, const struct opt *o, enum ibv_qp_state to, uint32_t dest,
	     struct ibv_qp_attr *attr);	/* gives the mask */
int qp_step(struct conf *c, const struct opt *o, struct ibv_qp *qp, enum ibv_qp_state to,
	    uint32_t dest);
int qp_up(struct conf *c, const struct opt *o, struct ibv_qp *qp, enum ibv_qp_state to,
	  uint32_t dest);	/* from RESET through all steps to `to` */
int qp_set(struct ibv_qp *qp, enum ibv_qp_state to);	/* the state alone */
int qp_state(struct ibv_qp *qp);	/* asked of the device, -1 if that fails */

#include "work.h"

#endif
