/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls that came after rdma-core 44, declared as in rdma-core 65: the headers here may be older. */
#ifndef SOFTVERBS_NEWER_H
#define SOFTVERBS_NEWER_H

#include <infiniband/verbs.h>

struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

/* What struct ibv_mr_init_attr points at; mask: SV_MR_..., which members are set. */
struct sv_mr_init {
	size_t length;
	int access;
	uint64_t mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	struct ibv_dmah *dmah;
	struct ibv_buf *buf;
};

enum { SV_MR_IOVA = 1, SV_MR_ADDR = 2, SV_MR_BUF = 32 };

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *c, struct ibv_dmah_init_attr *a);
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *a);
int ibv_query_port_speed(struct ibv_context *c, uint32_t port, uint64_t *speed);
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t len,
			      int access);
int _ibv_query_comp_cntr_caps(struct ibv_context *c, struct ibv_comp_cntr_caps *caps, size_t size);
struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *c,
					   struct ibv_comp_cntr_init_attr *a);
int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
			    struct ibv_qp_attach_comp_cntr_attr *a);

#endif
