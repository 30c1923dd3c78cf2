/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting: in which state, how much, and what is refused on the spot. */
#include <errno.h>
#include <string.h>

#include "pair.h"

#define CLAUSE_SQ "IBTA 10.3.1, 11.4.1.1"

static void in_states(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	qp_set(p.a.qp, IBV_QPS_RESET);
	check(c, post_recv(&p.a, 1, 0, 8) != 0, "IBTA 10.3.1.1", "a receive in RESET is refused");
	check(c, post(&p, &w) != 0, "IBTA 10.3.1.1", "a send in RESET is refused");
	qp_up(c, &o, p.a.qp, IBV_QPS_INIT, 0);
	check_eq(c, post_recv(&p.a, 1, 0, 8), 0, "IBTA 10.3.1.2", "a receive in INIT is taken");
	check(c, post(&p, &w) != 0, "IBTA 10.3.1.2", "a send in INIT is refused");
	qp_step(c, &o, p.a.qp, IBV_QPS_RTR, p.b.qp->qp_num);
	check_eq(c, post_recv(&p.a, 1, 0, 8), 0, "IBTA 10.3.1.3", "a receive in RTR is taken");
	check(c, post(&p, &w) != 0, "IBTA 10.3.1.3", "a send in RTR is refused");
	check(c, quiet(p.a.rcq) && quiet(p.a.scq), "IBTA 10.3.1",
	      "nothing completes that was refused or not served");
	pair_close(&p);
}

/* A full queue, and room again once completions were polled. */
static void full(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint32_t n, depth;
	struct pair p;
	int rc = 0;

	if (pair_open(c, &p, &o))
		return;
	ibv_query_qp(p.b.qp, &attr, IBV_QP_CAP, &init);
	depth = init.cap.max_recv_wr;
	for (n = 0; n <= depth && !(rc = post_recv(&p.b, n, 0, 8)); n++)
		;
	check(c, n >= o.depth && n <= depth && rc == ENOMEM, "ibv_post_recv(3), IBTA 10.2.1.3",
	      "a full receive queue says ENOMEM");
	if (n != depth || rc != ENOMEM)
		note("%u of %u were taken, errno %d", n, depth, rc);
	for (n = 0; n < 4 * o.depth; n++)
		if (do_wr(&p, &w) != IBV_WC_SUCCESS)
			break;
	check_eq(c, n, 4 * o.depth, "IBTA 10.2.1.3", "polling makes room in the send queue again");
	pair_close(&p);
}

/* The list stops at the first bad request, and *bad_wr shows it. */
static void bad_wr(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct ibv_send_wr wr[3], *bad = NULL;
	struct ibv_sge sge[3];
	struct ibv_wc wc;
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	for (int i = 0; i < 3; i++) {
		w.id = (uint64_t)i;
		wr_fill(&p, &w, &wr[i], &sge[i]);
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	wr[1].num_sge = c->dev.max_sge + 1;
	check(c, ibv_post_send(p.a.qp, wr, &bad) != 0 && bad == &wr[1], "ibv_post_send(3)",
	      "too many SGEs are refused, and bad_wr shows the request");
	check(c, wait_wc(p.a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 0 &&
	      quiet(p.a.scq), "ibv_post_send(3)",
		 "the requests before it are done, those behind not");
	wr[2].num_sge = 0;
	check_eq(c, ibv_post_send(p.a.qp, &wr[2], &bad), 0, "IBTA 10.7.3.1",
		 "a request without SGEs is taken");
	check_eq(c, wait_status(p.a.scq), IBV_WC_SUCCESS, "IBTA 10.7.3.1", "and done");
	wr[1].num_sge = 1;
	wr[1].opcode = (enum ibv_wr_opcode)99;
	bad = NULL;
	check(c, ibv_post_send(p.a.qp, &wr[1], &bad) != 0 && bad == &wr[1],
	      "IBTA 11.4.1.1, ibv_post_send(3)", "an unknown opcode is refused");
	pair_close(&p);
}

static void signals(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct ibv_wc wc;
	struct pair p;
	int bad = 0;

	o.sig_all = false;
	if (pair_open(c, &p, &o))
		return;
	w.id = 1;
	post(&p, &w);
	w.id = 2;
	w.flags = IBV_SEND_SIGNALED;
	post(&p, &w);
	check(c, wait_wc(p.a.scq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 2 &&
	      quiet(p.a.scq), "IBTA 10.7.2.1", "only a signaled request leaves a completion");
	for (uint64_t i = 0; i < 100; i++) {
		w.id = i;
		w.flags = i % 10 == 9 ? IBV_SEND_SIGNALED : 0;
		bad += post(&p, &w) != 0;
		if (w.flags)
			bad += wait_wc(p.a.scq, &wc, WAIT_MS) != IBV_WC_SUCCESS || wc.wr_id != i;
	}
	check_eq(c, bad, 0, "IBTA 10.7.2.1, 10.8.2.1",
		 "one signaled request in ten frees the slots of all before it");
	pair_close(&p);
}

void run_posting(struct conf *c)
{
	in_states(c);
	full(c);
	bad_wr(c);
	signals(c);
}
