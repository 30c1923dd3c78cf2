/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the tests of softverbs: pairs of ends, and what is posted and reaped on them. */
#ifndef TESTS_SOFTVERBS_SOFT_H
#define TESTS_SOFTVERBS_SOFT_H

#include "soft_end.h"

static inline void end_close(struct end *e)
{
	if (e->qp)
		CHECK(!ibv_destroy_qp(e->qp));
	if (e->cq)
		CHECK(!ibv_destroy_cq(e->cq));
	if (e->mr)
		CHECK(!ibv_dereg_mr(e->mr));
	if (e->buf)
		munmap(e->buf, e->len);
	CHECK(!ibv_dealloc_pd(e->pd));
	CHECK(!ibv_close_device(e->ctx));
}

/* Two connected ends in this process, with memory of len bytes each. */
static inline void pair_open(struct end *a, struct end *b, enum ibv_qp_type type, size_t len,
			     const struct knobs *k)
{
	struct addr aa, ab;

	end_open(a, "soft0");
	end_open(b, "soft0");
	end_memory(a, len);
	end_memory(b, len);
	end_qp(a, type, 64);
	end_qp(b, type, 64);
	aa = end_addr(a);
	ab = end_addr(b);
	end_connect(a, &ab, k);
	end_connect(b, &aa, k);
}

static inline int post(struct end *e, enum ibv_wr_opcode op, uint64_t id, void *from, uint32_t len,
		       const struct addr *to, uint64_t offset, unsigned int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)from, .length = len, .lkey = e->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = op,
				  .send_flags = flags }, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = to->va + offset;
		wr.wr.atomic.rkey = to->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = to ? to->va + offset : 0;
		wr.wr.rdma.rkey = to ? to->rkey : 0;
	}
	return ibv_post_send(e->qp, &wr, &bad);
}

static inline int post_recv(struct end *e, uint64_t id, void *into, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)into, .length = len, .lkey = e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(e->qp, &wr, &bad);
}

/* One completion within limit seconds; false when none came. */
static inline int reap(struct end *e, struct ibv_wc *wc, double limit)
{
	double until = seconds() + limit;
	int n;

	do {
		n = ibv_poll_cq(e->cq, 1, wc);
		if (n)
			return n == 1;
	} while (seconds() < until);
	return 0;
}

#endif
