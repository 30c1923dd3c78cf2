/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Local access: the requester's and the receiver's own buffers. */
#include <string.h>

#include "pair.h"

#define CLAUSE "IBTA 9.9.2.1, 11.6.2"

static void fails(struct conf *c, const struct opt *o, const struct wr *w, const char *what)
{
	struct pair p;

	if (pair_open(c, &p, o))
		return;
	memset(p.a.buf, 0x99, 64);
	post_recv(&p.b, 1, 0, 64);
	check_eq(c, do_wr(&p, w), IBV_WC_LOC_PROT_ERR, CLAUSE,
		 "%s is a local protection error", what);
	check(c, p.b.buf[0] == 0, CLAUSE, "%s sends nothing", what);
	pair_close(&p);
}

static void requester(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr key = { .op = IBV_WR_SEND, .len = 8, .lkey = 0xdeadbeef };
	struct wr over = { .op = IBV_WR_RDMA_WRITE, .len = 9, .off = BUF_SIZE - 8 };
	struct wr write_key = { .op = IBV_WR_RDMA_WRITE, .len = 8, .lkey = 0xdeadbeef };
	struct wr read = { .op = IBV_WR_RDMA_READ, .len = 8, .off = 4096 };

	fails(c, &o, &key, "a SEND with a local key never given out");
	fails(c, &o, &write_key, "a WRITE with a local key never given out");
	fails(c, &o, &over, "a WRITE from one byte over the end of its region");
	read.lkey = 0xdeadbeef;
	fails(c, &o, &read, "a READ with a local key never given out");
}

/* A READ brings data into the own region, which must allow it. */
static void read_only(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_READ, .len = 8 };
	struct ibv_mr *mr;
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	memset(p.b.buf, 1, 8);
	mr = ibv_reg_mr(c->pd, p.a.buf, BUF_SIZE, 0);
	w.lkey = mr ? mr->lkey : 0;
	check_eq(c, do_wr(&p, &w), IBV_WC_LOC_PROT_ERR, CLAUSE,
		 "a READ into a region without local write is a local protection error");
	check(c, p.a.buf[0] == 0, "IBTA 10.6.3.2", "and writes nothing there");
	if (mr)
		ibv_dereg_mr(mr);
	pair_close(&p);
}

static void other_domain(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct ibv_pd *pd = ibv_alloc_pd(c->ctx);
	struct ibv_mr *mr;
	struct pair p;

	if (pd && !pair_open(c, &p, &o)) {
		mr = ibv_reg_mr(pd, p.a.buf, BUF_SIZE, ALL_ACCESS);
		w.lkey = mr ? mr->lkey : 0;
		check_eq(c, do_wr(&p, &w), IBV_WC_LOC_PROT_ERR, "IBTA 10.2.3, 11.6.2",
			 "a local key of another protection domain is a local protection error");
		if (mr)
			ibv_dereg_mr(mr);
		pair_close(&p);
	}
	if (pd)
		ibv_dealloc_pd(pd);
}

static void given_up(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct ibv_mr *mr;
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	mr = ibv_reg_mr(c->pd, p.a.buf, BUF_SIZE, ALL_ACCESS);
	w.lkey = mr ? mr->lkey : 0;
	check(c, do_wr(&p, &w) == IBV_WC_SUCCESS, "IBTA 10.6.3", "a second local key works");
	if (mr)
		ibv_dereg_mr(mr);
	check_eq(c, do_wr(&p, &w), IBV_WC_LOC_PROT_ERR, "IBTA 11.2.10.3, 11.6.2",
		 "a local key is refused once its region is given up");
	pair_close(&p);
}

/* The receive's own buffer is wrong: both ends hear of it, each in its words. */
static void receiver(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = 4, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	memset(p.a.buf, 1, 8);
	mr = ibv_reg_mr(c->pd, p.b.buf, BUF_SIZE, 0);
	sge = (struct ibv_sge){ (uintptr_t)p.b.buf, 64, mr ? mr->lkey : 0 };
	check_eq(c, ibv_post_recv(p.b.qp, &wr, &bad), 0, "IBTA 11.4.1.2",
		 "a receive into a region without local write is taken");
	check_eq(c, do_wr(&p, &w), IBV_WC_REM_OP_ERR, "IBTA 9.9.3.1, 11.6.2",
		 "the sender has a remote operation error");
	check_wc(c, p.b.rcq, IBV_WC_LOC_PROT_ERR, 4, "IBTA 9.9.3.1, 11.6.2",
		 "the receiver has a local protection error");
	check(c, p.b.buf[0] == 0, "IBTA 10.6.3.2", "nothing was written");
	if (mr)
		ibv_dereg_mr(mr);
	pair_close(&p);
}

void run_local(struct conf *c)
{
	requester(c);
	read_only(c);
	other_domain(c);
	given_up(c);
	receiver(c);
}
