/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several QPs on one CQ, one SRQ, one word of memory; a QP that is connected to itself. */
#include <errno.h>
#include <string.h>

#include "pair.h"

#define PAIRS 8
#define LAPS 20

struct group {
	struct ibv_qp *a[PAIRS], *b[PAIRS];
	struct ibv_cq *scq, *rcq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
};

static uint8_t buf[16384] __attribute__((aligned(4096)));

static void group_close(struct group *g)
{
	for (int i = 0; i < PAIRS; i++) {
		if (g->a[i])
			ibv_destroy_qp(g->a[i]);
		if (g->b[i])
			ibv_destroy_qp(g->b[i]);
	}
	if (g->srq)
		ibv_destroy_srq(g->srq);
	if (g->scq)
		ibv_destroy_cq(g->scq);
	if (g->rcq)
		ibv_destroy_cq(g->rcq);
	if (g->mr)
		ibv_dereg_mr(g->mr);
}

static int group_open(struct conf *c, struct group *g, bool with_srq)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 256, .max_sge = 1 } };

	memset(g, 0, sizeof(*g));
	memset(buf, 0, sizeof(buf));
	g->scq = ibv_create_cq(c->ctx, 512, NULL, NULL, 0);
	g->rcq = ibv_create_cq(c->ctx, 512, NULL, NULL, 0);
	g->mr = ibv_reg_mr(c->pd, buf, sizeof(buf), ALL_ACCESS);
	g->srq = with_srq ? ibv_create_srq(c->pd, &init) : NULL;
	if (!g->scq || !g->rcq || !g->mr || (with_srq && !g->srq))
		return -1;
	for (int i = 0; i < PAIRS; i++) {
		g->a[i] = qp_create(c, &o, g->scq, g->scq, NULL);
		g->b[i] = qp_create(c, &o, g->rcq, g->rcq, g->srq);
		if (!g->a[i] || !g->b[i] ||
		    qp_up(c, &o, g->b[i], IBV_QPS_RTS, g->a[i]->qp_num) ||
		    qp_up(c, &o, g->a[i], IBV_QPS_RTS, g->b[i]->qp_num))
			return -1;
	}
	return 0;
}

static int post_on(struct group *g, struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t id,
		   uint32_t off)
{
	struct ibv_sge sge = { (uintptr_t)buf + off, 8, g->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = op }, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)buf;
		wr.wr.atomic.rkey = g->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	return ibv_post_send(qp, &wr, &bad);
}

/* All QPs add to one word: no addition is lost, and no value is returned twice. */
static void one_word(struct conf *c, struct group *g)
{
	static uint8_t seen[PAIRS * LAPS];
	uint64_t sum, old;
	struct ibv_wc wc;
	int bad = 0, twice = 0;

	memset(seen, 0, sizeof(seen));
	for (uint32_t lap = 0; lap < LAPS; lap++) {
		for (uint32_t i = 0; i < PAIRS; i++)
			bad += post_on(g, g->a[i], IBV_WR_ATOMIC_FETCH_AND_ADD, i, 64 + 8 * i) != 0;
		for (uint32_t i = 0; i < PAIRS; i++) {
			if (wait_wc(g->scq, &wc, WAIT_MS) != IBV_WC_SUCCESS) {
				bad++;
				continue;
			}
			memcpy(&old, buf + 64 + 8 * wc.wr_id, 8);
			twice += old >= sizeof(seen) || seen[old]++;
		}
	}
	memcpy(&sum, buf, 8);
	check_eq(c, bad, 0, "IBTA 9.4.5", "eight QPs add to one word at a time");
	check_eq(c, (long long)sum, PAIRS * LAPS, "IBTA 9.4.5.1", "no addition is lost");
	check_eq(c, twice, 0, "IBTA 9.4.5.1", "no value is returned twice");
}

/* Each message takes one receive of the SRQ; its completion names the QP it came by. */
static void one_srq(struct conf *c, struct group *g)
{
	static const uint32_t base = 1024;
	int from[PAIRS] = { 0 }, bad = 0, uneven = 0;
	struct ibv_wc wc;

	for (uint32_t i = 0; i < PAIRS * LAPS; i++) {
		struct ibv_sge sge = { (uintptr_t)buf + base + 8 * i, 8, g->mr->lkey };
		struct ibv_recv_wr rr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad_rr;

		bad += ibv_post_srq_recv(g->srq, &rr, &bad_rr) != 0;
	}
	for (uint32_t i = 0; i < PAIRS; i++)
		buf[8 * i] = (uint8_t)(i + 1);
	for (uint32_t lap = 0; lap < LAPS; lap++) {
		for (uint32_t i = 0; i < PAIRS; i++)
			bad += post_on(g, g->a[i], IBV_WR_SEND, i, 8 * i) != 0;
		for (uint32_t i = 0; i < PAIRS; i++)
			bad += wait_wc(g->scq, &wc, WAIT_MS) != IBV_WC_SUCCESS;
	}
	for (int n = 0; n < PAIRS * LAPS; n++) {
		if (wait_wc(g->rcq, &wc, WAIT_MS) != IBV_WC_SUCCESS || wc.wr_id >= PAIRS * LAPS) {
			bad++;
			continue;
		}
		for (int i = 0; i < PAIRS; i++)
			from[i] += g->b[i]->qp_num == wc.qp_num &&
				   buf[base + 8 * wc.wr_id] == i + 1;
	}
	for (int i = 0; i < PAIRS; i++)
		uneven += from[i] != LAPS;
	check_eq(c, bad, 0, "IBTA 10.2.9", "eight QPs receive from one SRQ into one CQ");
	check_eq(c, uneven, 0, "IBTA 10.2.9.3, 11.4.2.1",
		 "each completion names its QP, each receive has its message");
}

static void itself(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .len = 8, .off = 0 };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	qp_set(p.a.qp, IBV_QPS_RESET);
	if (check_eq(c, qp_up(c, &o, p.a.qp, IBV_QPS_RTS, p.a.qp->qp_num), 0, "IBTA 10.3.1",
		     "a QP is connected to itself")) {
		p.a.buf[0] = 0x44;
		post_recv(&p.a, 1, 4096, 64);
		check(c, do_wr(&p, &w) == IBV_WC_SUCCESS &&
		      wait_status(p.a.rcq) == IBV_WC_SUCCESS && p.a.buf[4096] == 0x44,
		      "IBTA 9.4.1", "and receives what it sends");
	}
	pair_close(&p);
}

/* A number that was just given up would let late packets of the old QP into the new one. */
static void numbers(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_cq *cq = ibv_create_cq(c->ctx, 16, NULL, NULL, 0);
	uint32_t last = 0;
	int same = 0, made = 0;

	for (int i = 0; cq && i < 32; i++) {
		struct ibv_qp *qp = qp_create(c, &o, cq, cq, NULL);

		if (!qp)
			break;
		same += qp->qp_num == last;
		last = qp->qp_num;
		made++;
		ibv_destroy_qp(qp);
	}
	check(c, made == 32 && !same, "IBTA 10.2.4.4, 9.7.1",
	      "the next QP does not get the number just given up");
	if (cq)
		ibv_destroy_cq(cq);
}

void run_many(struct conf *c)
{
	struct group g;

	if (c->dev.atomic_cap == IBV_ATOMIC_NONE)
		skip(c, "no atomic operations", "eight QPs add to one word");
	else if (check(c, !group_open(c, &g, false), "-", "eight pairs are connected"))
		one_word(c, &g);
	if (c->dev.atomic_cap != IBV_ATOMIC_NONE)
		group_close(&g);
	if (check(c, !group_open(c, &g, true), "-", "eight pairs with one SRQ are connected"))
		one_srq(c, &g);
	group_close(&g);
	itself(c);
	numbers(c);
}
