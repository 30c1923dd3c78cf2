/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Remote access: rights of the region and of the QP, bounds, keys, protection domains. */
#include <stdio.h>
#include <string.h>

#include "pair.h"

#define CLAUSE "IBTA 9.7.4.1.5, 10.6.3.2"

static const struct {
	enum ibv_wr_opcode op;
	int right;
	const char *name;
} ops[] = {
	{ IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE, "WRITE" },
	{ IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ, "READ" },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC, "FETCH_ADD" },
};

static bool untouched(const struct pair *p)
{
	for (int i = 0; i < BUF_SIZE; i++)
		if (p->b.buf[i] || p->a.buf[4096])
			return false;
	return true;
}

/* One request that must fail with status, and leave no byte behind. */
static void fails(struct conf *c, struct opt *o, const struct wr *w, int status, const char *what)
{
	struct pair p;

	if (pair_open(c, &p, o))
		return;
	memset(p.a.buf, 0x99, 64);
	check(c, do_wr(&p, w) == status && untouched(&p), CLAUSE,
	      "%s fails and nothing is written", what);
	pair_close(&p);
}

static void rights(struct conf *c)
{
	int n = c->dev.atomic_cap == IBV_ATOMIC_NONE ? 2 : 3;

	for (int i = 0; i < n; i++) {
		struct opt o = opt_default(IBV_QPT_RC);
		struct wr w = { .op = ops[i].op, .len = 8, .compare = 1 };
		char what[64];
		struct pair p;
		int status;

		o.qp_access &= ~ops[i].right;
		/* FETCH_ADD on a QP without the right is an invalid request to some, and the
		 * specification allows both (9.7.5.2.4 names the operation not enabled). */
		if (pair_open(c, &p, &o))
			continue;
		status = do_wr(&p, &w);
		check(c, (status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR) &&
		      untouched(&p), "IBTA 9.7.4.1.5, 9.7.5.2.4",
		      "%s on a QP without the right fails and nothing is written", ops[i].name);
		if (status != IBV_WC_REM_ACCESS_ERR && status != IBV_WC_REM_INV_REQ_ERR)
			note("status %d", status);
		pair_close(&p);
		o = opt_default(IBV_QPT_RC);
		o.mr_access &= ~ops[i].right;
		snprintf(what, sizeof(what), "%s to a region without the right", ops[i].name);
		fails(c, &o, &w, IBV_WC_REM_ACCESS_ERR, what);
	}
}

static void bounds(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr over = { .op = IBV_WR_RDMA_WRITE, .len = 9, .remote = BUF_SIZE - 8 };
	struct wr under = { .op = IBV_WR_RDMA_WRITE, .len = 8, .remote = (uint64_t)-1 };
	struct wr far = { .op = IBV_WR_RDMA_READ, .len = 8, .off = 4096, .remote = 1ull << 40 };
	struct wr wrap = { .op = IBV_WR_RDMA_WRITE, .len = 16 };
	struct wr last = { .op = IBV_WR_RDMA_WRITE, .len = 8, .remote = BUF_SIZE - 8 };
	struct pair p;

	fails(c, &o, &over, IBV_WC_REM_ACCESS_ERR, "a WRITE one byte over the end");
	fails(c, &o, &under, IBV_WC_REM_ACCESS_ERR, "a WRITE one byte before the start");
	fails(c, &o, &far, IBV_WC_REM_ACCESS_ERR, "a READ far behind the region");
	if (pair_open(c, &p, &o))
		return;
	wrap.remote = (uint64_t)-8 - (uintptr_t)p.b.buf;
	check_eq(c, do_wr(&p, &wrap), IBV_WC_REM_ACCESS_ERR, CLAUSE,
		 "an address that wraps around 2^64 is refused");
	pair_close(&p);
	if (pair_open(c, &p, &o))
		return;
	check_eq(c, do_wr(&p, &last), IBV_WC_SUCCESS, CLAUSE,
		 "a WRITE up to the last byte is done");
	pair_close(&p);
}

static void keys(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8, .rkey = 0xdeadbeef };
	struct ibv_mr *mr;
	struct pair p;
	uint32_t low;

	fails(c, &o, &w, IBV_WC_REM_ACCESS_ERR, "a key that was never given out");
	if (pair_open(c, &p, &o))
		return;
	mr = ibv_reg_mr(c->pd, p.b.buf, BUF_SIZE, ALL_ACCESS);
	w.rkey = mr ? mr->rkey : 0;
	check(c, mr && do_wr(&p, &w) == IBV_WC_SUCCESS, CLAUSE,
		 "a second key of the same memory works");
	ibv_dereg_mr(mr);
	check_eq(c, do_wr(&p, &w), IBV_WC_REM_ACCESS_ERR, "IBTA 10.6.3.3, 11.2.10.3",
		 "and no more once its region is given up");
	check(c, !pair_reconnect(&p), "IBTA 10.3.1.1", "the pair can be connected again");
	low = p.b.mr->rkey ^ 1;
	w.rkey = low;
	check_eq(c, do_wr(&p, &w), IBV_WC_REM_ACCESS_ERR, CLAUSE, "a key one bit off is refused");
	pair_close(&p);
}

/* A region belongs to the domain that it was registered in. */
static void domains(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct ibv_pd *pd = ibv_alloc_pd(c->ctx);
	struct ibv_mr *mr;
	struct pair p;

	if (pd && !pair_open(c, &p, &o)) {
		mr = ibv_reg_mr(pd, p.b.buf, BUF_SIZE, ALL_ACCESS);
		w.rkey = mr ? mr->rkey : 0;
		check(c, do_wr(&p, &w) == IBV_WC_REM_ACCESS_ERR && untouched(&p),
		      "IBTA 10.2.3, 9.7.4.1.5", "a key of another protection domain is refused");
		if (mr)
			ibv_dereg_mr(mr);
		pair_close(&p);
	}
	if (pd)
		ibv_dealloc_pd(pd);
}

/* Requests before the failed one are done, those behind it are not. */
static void around(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w[3] = { { .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 8 },
			   { .op = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, .rkey = 0xdeadbeef },
			   { .op = IBV_WR_RDMA_WRITE, .id = 3, .len = 8, .remote = 64 } };
	struct ibv_wc wc;
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	memset(p.a.buf, 1, 8);
	for (int i = 0; i < 3; i++)
		post(&p, &w[i]);
	check(c, wait_wc(p.a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 1 &&
	      p.b.buf[0] == 1, "IBTA 9.9.2.3", "the request before the failed one is done");
	check_wc(c, p.a.scq, IBV_WC_REM_ACCESS_ERR, 2, "IBTA 9.9.2.3", "the failed one says why");
	check(c, wait_wc(p.a.scq, &wc, WAIT_MS) == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 3 &&
	      p.b.buf[64] == 0, "IBTA 10.3.1.7", "the one behind it is flushed, not done");
	check_eq(c, wait_state(p.a.qp, IBV_QPS_ERR), IBV_QPS_ERR, "IBTA 9.9.2.3",
		 "the requester's QP is in ERR");
	check_eq(c, wait_state(p.b.qp, IBV_QPS_ERR), IBV_QPS_ERR, "IBTA 9.9.3.1",
		 "the responder's QP is in ERR");
	pair_close(&p);
}

void run_access(struct conf *c)
{
	rights(c);
	bounds(c);
	keys(c);
	domains(c);
	around(c);
}
