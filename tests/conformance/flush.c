/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is queued when a QP goes to ERR comes back flushed: all of it, once, in order. */
#include "pair.h"

#define CLAUSE "IBTA 10.3.1.7, 10.8.2.1"

static void receives(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_wc wc;
	struct pair p;
	int bad = 0;

	if (pair_open(c, &p, &o))
		return;
	for (uint64_t i = 0; i < 8; i++)
		post_recv(&p.a, i, 0, 64);
	check_eq(c, qp_set(p.a.qp, IBV_QPS_ERR), 0, "IBTA 10.3.1.7", "RTS to ERR");
	for (uint64_t i = 0; i < 8; i++)
		bad += wait_wc(p.a.rcq, &wc, WAIT_MS) != IBV_WC_WR_FLUSH_ERR || wc.wr_id != i ||
		       wc.qp_num != p.a.qp->qp_num;
	check_eq(c, bad, 0, CLAUSE, "eight receives are flushed in order");
	check(c, quiet(p.a.rcq), CLAUSE, "once each");
	check_eq(c, post_recv(&p.a, 9, 0, 64), 0, "IBTA 10.3.1.7", "a receive is taken in ERR");
	check_wc(c, p.a.rcq, IBV_WC_WR_FLUSH_ERR, 9, "IBTA 10.3.1.7",
		 "a receive posted in ERR is flushed");
	pair_close(&p);
}

/* Unsignaled ones as well: an error is never silent. */
static void sends(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct ibv_wc wc;
	struct pair p;
	int bad = 0;

	o.sig_all = false;
	o.rnr_retry = 0;
	if (pair_open(c, &p, &o))
		return;
	for (uint64_t i = 0; i < 8; i++) {
		w.id = i;
		post(&p, &w);
	}
	check_wc(c, p.a.scq, IBV_WC_RNR_RETRY_EXC_ERR, 0, "IBTA 10.8.3.2",
		 "an unsignaled SEND that fails has a completion");
	for (uint64_t i = 1; i < 8; i++)
		bad += wait_wc(p.a.scq, &wc, WAIT_MS) != IBV_WC_WR_FLUSH_ERR || wc.wr_id != i;
	check_eq(c, bad, 0, CLAUSE, "the unsignaled ones behind it are flushed in order");
	check(c, quiet(p.a.scq), CLAUSE, "once each");
	w.id = 20;
	check_eq(c, post(&p, &w), 0, "IBTA 10.3.1.7", "a SEND is taken in ERR");
	check_wc(c, p.a.scq, IBV_WC_WR_FLUSH_ERR, 20, "IBTA 10.3.1.7",
		 "a SEND posted in ERR is flushed");
	check(c, quiet(p.b.rcq), CLAUSE, "the peer received nothing");
	pair_close(&p);
}

/* The responder's own queues are flushed when a request of the peer breaks its QP. */
static void responder(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8, .rkey = 0xdeadbeef };
	struct ibv_wc wc;
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	post_recv(&p.b, 1, 0, 64);
	post_recv(&p.b, 2, 0, 64);
	do_wr(&p, &w);
	check(c, wait_wc(p.b.rcq, &wc, WAIT_MS) == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 1 &&
	      wait_wc(p.b.rcq, &wc, WAIT_MS) == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 2,
	      "IBTA 9.9.3.1, 10.3.1.7",
		 "a refused WRITE flushes the responder's receives in order");
	pair_close(&p);
}

/* Completions that were there before the error stay what they were. */
static void before(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	post_recv(&p.b, 1, 0, 64);
	post_recv(&p.b, 2, 0, 64);
	check_eq(c, do_wr(&p, &w), IBV_WC_SUCCESS, "IBTA 9.4.1", "a SEND is done");
	qp_set(p.b.qp, IBV_QPS_ERR);
	check_wc(c, p.b.rcq, IBV_WC_SUCCESS, 1, CLAUSE,
	      "what was received before ERR is a success");
	check_wc(c, p.b.rcq, IBV_WC_WR_FLUSH_ERR, 2, CLAUSE,
	      "and the rest is flushed");
	pair_close(&p);
}

/* A QP that is destroyed takes its receives along without completions. */
static void destroyed(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	post_recv(&p.a, 1, 0, 64);
	check_eq(c, ibv_destroy_qp(p.a.qp), 0, "IBTA 11.2.5.4", "a QP with receives is destroyed");
	p.a.qp = NULL;
	check(c, quiet(p.a.rcq), "IBTA 11.2.5.4", "without completions");
	pair_close(&p);
}

void run_flush(struct conf *c)
{
	receives(c);
	sends(c);
	responder(c);
	before(c);
	destroyed(c);
}
