/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receiver not ready, peers that do not answer, and how long each takes. */
#include <math.h>

#include "pair.h"

static void no_receive(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .id = 5, .len = 8 };
	struct pair p;
	double start;

	o.rnr_retry = 0;
	if (pair_open(c, &p, &o))
		return;
	post(&p, &w);
	check_wc(c, p.a.scq, IBV_WC_RNR_RETRY_EXC_ERR, 5, "IBTA 9.7.5.2.8",
		 "without a receive and RNR retries the SEND fails");
	check_eq(c, wait_state(p.a.qp, IBV_QPS_ERR), IBV_QPS_ERR, "IBTA 9.9.2.3",
		 "the requester's QP is in ERR");
	check_eq(c, qp_state(p.b.qp), IBV_QPS_RTS, "IBTA 9.7.5.2.8", "the responder's QP is not");
	pair_close(&p);
	o.rnr_retry = 3;
	o.min_rnr_timer = 20;	/* 10.24 ms */
	if (pair_open(c, &p, &o))
		return;
	start = now_ms();
	check_eq(c, do_wr(&p, &w), IBV_WC_RNR_RETRY_EXC_ERR, "IBTA 9.7.5.2.8",
		 "three RNR retries fail too");
	check(c, now_ms() - start >= 3 * 10.24, "IBTA 9.7.5.2.8",
	      "after three times the responder's timer at least");
	pair_close(&p);
}

/* A WRITE needs no receive, a WRITE with immediate data does. */
static void which_need_one(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct pair p;

	o.rnr_retry = 0;
	if (pair_open(c, &p, &o))
		return;
	check_eq(c, do_wr(&p, &w), IBV_WC_SUCCESS, "IBTA 9.4.3", "a WRITE needs no receive");
	w.op = IBV_WR_RDMA_READ;
	check_eq(c, do_wr(&p, &w), IBV_WC_SUCCESS, "IBTA 9.4.4", "a READ needs no receive");
	w.op = IBV_WR_RDMA_WRITE_WITH_IMM;
	check_eq(c, do_wr(&p, &w), IBV_WC_RNR_RETRY_EXC_ERR, "IBTA 9.7.5.2.8",
		 "a WRITE with immediate data needs one");
	pair_close(&p);
}

static void late_receive(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct pair p;

	o.rnr_retry = 7;
	o.min_rnr_timer = 1;	/* 0.01 ms */
	if (pair_open(c, &p, &o))
		return;
	check_eq(c, post(&p, &w), 0, "IBTA 9.7.5.2.8", "a SEND is posted before its receive");
	check(c, quiet(p.a.scq), "IBTA 9.7.5.2.8", "RNR retry 7 goes on for ever");
	post_recv(&p.b, 1, 0, 64);
	check_eq(c, wait_status(p.a.scq), IBV_WC_SUCCESS, "IBTA 9.7.5.2.8",
		 "it is done once the receive is there");
	check_eq(c, wait_status(p.b.rcq), IBV_WC_SUCCESS, "IBTA 9.7.5.2.8", "and received once");
	check(c, quiet(p.b.rcq), "IBTA 9.7.5.2.8", "not twice");
	pair_close(&p);
}

/* One WRITE that nobody answers: how long its failure took. */
static double fail_once(struct conf *c, struct pair *p, const char *what)
{
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .id = 8, .len = 8 };
	double start = now_ms();
	struct ibv_wc wc;
	int status;

	post(p, &w);
	status = wait_wc(p->a.scq, &wc, WAIT_MS);
	if (status != IBV_WC_RETRY_EXC_ERR || wc.wr_id != 8)
		check_eq(c, status, IBV_WC_RETRY_EXC_ERR, "IBTA 9.9.2.3", "%s: its status", what);
	return now_ms() - start;
}

/*
 * The formula: (retries + 1) times from 1 to 4 times 4.096 us * 2^timeout. A busy machine adds to
 * that, so the quickest of a few counts for the upper bound, and each for the lower one.
 */
static void unanswered(struct conf *c, struct pair *p, const struct opt *o, const char *what)
{
	double t = 4.096e-3 * exp2(o->timeout) * (o->retry + 1), quickest = 1e9;
	int n;

	for (n = 0; n < 5 && quickest > 4 * t; n++) {
		double took;

		if (n) {
			qp_set(p->a.qp, IBV_QPS_RESET);
			qp_up(c, o, p->a.qp, IBV_QPS_RTS, p->b.qp ? p->b.qp->qp_num : 0xfffffe);
		}
		took = fail_once(c, p, what);
		quickest = took < quickest ? took : quickest;
	}
	check(c, quickest < WAIT_MS, "IBTA 9.7.6.1.3, 9.9.2.3", "%s: the retries run out", what);
	check(c, quickest >= t * 0.95, "IBTA 9.7.6.1.3", "%s: not before the time of the formula",
	      what);
	check(c, quickest <= 4 * t, "IBTA 9.7.6.1.3", "%s: within 4 times the formula", what);
	note("the quickest of %d took %.2f ms, the formula says %.2f", n, quickest, t);
	check_eq(c, wait_state(p->a.qp, IBV_QPS_ERR), IBV_QPS_ERR, "IBTA 9.9.2.3",
		 "%s: the QP is in ERR", what);
}

static void silent_peers(struct conf *c)
{
	static const char *const names[] = { "peer in RESET", "peer in ERR", "peer destroyed",
					     "peer in INIT" };
	struct opt o = opt_default(IBV_QPT_RC);
	struct pair p;

	o.timeout = 12;	/* 16.8 ms */
	o.retry = 2;
	for (int i = 0; i < 4; i++) {
		if (pair_open(c, &p, &o))
			return;
		if (i == 1)
			qp_set(p.b.qp, IBV_QPS_ERR);
		else
			qp_set(p.b.qp, IBV_QPS_RESET);
		if (i == 3)
			qp_step(c, &o, p.b.qp, IBV_QPS_INIT, 0);
		if (i == 2) {
			ibv_destroy_qp(p.b.qp);
			p.b.qp = NULL;
		}
		unanswered(c, &p, &o, names[i]);
		pair_close(&p);
	}
}

/*
 * PSNs that do not match. Ahead of what is expected, a request is out of sequence, and its retries
 * run out; behind it, it is taken for a duplicate: acknowledged, and not done.
 */
static void other_psn(struct conf *c, int off, const char *what)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct ibv_wc wc;
	struct pair p;
	int status;

	o.timeout = 10;
	o.retry = 1;
	if (pair_open(c, &p, &o))
		return;
	qp_set(p.b.qp, IBV_QPS_RESET);
	o.psn = (o.psn + (uint32_t)off) & 0xffffff;
	qp_up(c, &o, p.b.qp, IBV_QPS_RTS, p.a.qp->qp_num);
	p.a.buf[0] = 1;
	post(&p, &w);
	status = wait_wc(p.a.scq, &wc, WAIT_MS);
	check(c, p.b.buf[0] == 0, "IBTA 9.7.1, 9.7.4.1.2", "a PSN %s: nothing is written", what);
	if (off < 0)
		check_eq(c, status, IBV_WC_RETRY_EXC_ERR, "IBTA 9.7.5.2.3, 9.9.2.3",
			 "a PSN %s: the retries run out", what);
	else
		check_eq(c, status, IBV_WC_SUCCESS, "IBTA 9.7.1, 9.7.5.1.2",
			 "a PSN %s: it is acknowledged as a duplicate", what);
	pair_close(&p);
}

void run_retry(struct conf *c)
{
	no_receive(c);
	which_need_one(c);
	late_receive(c);
	silent_peers(c);
	other_psn(c, -100, "ahead of what is expected");
	other_psn(c, 100, "behind what is expected");
}
