/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Control path: protection domains, memory regions, address handles, QPs, SRQs. */
#ifndef SOFTVERBS_PD_H
#define SOFTVERBS_PD_H

#include "qp.h"

struct ibv_pd *sv_alloc_pd(struct ibv_context *c);
int sv_dealloc_pd(struct ibv_pd *pd);
struct ibv_td *sv_alloc_td(struct ibv_context *c, struct ibv_td_init_attr *attr);
int sv_dealloc_td(struct ibv_td *td);
struct ibv_pd *sv_alloc_parent_domain(struct ibv_context *c,
				      struct ibv_parent_domain_init_attr *attr);

struct ibv_mr *sv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
			 unsigned int access, enum spec_call call);
int sv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t len,
		int access);
int sv_dereg_mr(struct ibv_mr *mr);

struct ibv_ah *sv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int sv_destroy_ah(struct ibv_ah *ah);
int sv_init_ah_from_wc(struct ibv_context *c, uint8_t port, struct ibv_wc *wc,
		       struct ibv_grh *grh, struct ibv_ah_attr *attr);
/* 0 or errno: port, GRH and GID index as this port has them. */
int sv_check_av(struct ibv_context *c, const struct ibv_ah_attr *attr);

struct ibv_srq *sv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int sv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int sv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int sv_destroy_srq(struct ibv_srq *srq);
int sv_get_srq_num(struct ibv_srq *srq, uint32_t *num);
int sv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

struct ibv_qp *sv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *sv_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr);
int sv_destroy_qp(struct ibv_qp *qp);
int sv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int sv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		struct ibv_qp_init_attr *init);
int sv_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid, bool join);

/* The masks of the IBTA table; 0 or EINVAL. */
int sv_qp_check_mask(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask);

int sv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int sv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int sv_rq_alloc(struct sv_rq *rq, uint32_t wr, uint32_t sge);
void sv_rq_free(struct sv_rq *rq);
void sv_qp_ex_ops(struct sv_qp *qp);

#endif
