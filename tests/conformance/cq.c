/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: polling, resizing, overrun, one CQ for many queues. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "pair.h"

static void polling(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct ibv_wc wc[8];

	check_eq(c, ibv_poll_cq(p->a.scq, 8, wc), 0, "ibv_poll_cq(3)", "an empty CQ gives 0");
	for (uint64_t i = 0; i < 5; i++) {
		w.id = i;
		post(p, &w);
	}
	check(c, wait_wc(p->a.scq, wc, WAIT_MS) == IBV_WC_SUCCESS && wc[0].wr_id == 0,
	      "IBTA 11.4.2.1", "one is polled where one is asked for");
	wait_state(p->a.qp, IBV_QPS_RTS);
	check(c, !quiet(p->a.scq), "IBTA 11.4.2.1", "the others stay");
}

static int wait_n(struct ibv_cq *cq, int n, uint64_t first)
{
	struct ibv_wc wc;
	int good = 0;

	for (int i = 0; i < n; i++)
		good += wait_wc(cq, &wc, WAIT_MS) == IBV_WC_SUCCESS &&
			wc.wr_id == first + (uint64_t)i;
	return good;
}

/* Completions that are in the CQ survive a change of its size. */
static void resizing(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	int before = p->a.scq->cqe, rc;
	double end;

	for (uint64_t i = 0; i < 10; i++) {
		w.id = i;
		post(p, &w);
	}
	/* A READ behind them is done last, so all ten are in the CQ once its data is there. */
	memset(p->b.buf, 1, 8);
	w = (struct wr){ .op = IBV_WR_RDMA_READ, .id = 10, .off = 4096, .len = 8 };
	post(p, &w);
	end = now_ms() + WAIT_MS;
	while (!*(volatile uint8_t *)&p->a.buf[4096] && now_ms() < end)
		;
	quiet(p->b.scq);
	rc = ibv_resize_cq(p->a.scq, before * 4);
	if (rc == EOPNOTSUPP || rc == ENOSYS) {
		skip(c, "the device does not resize", "resizing");
		return;
	}
	check(c, !rc && p->a.scq->cqe >= before * 4, "IBTA 11.2.8.3, ibv_resize_cq(3)",
	      "a CQ is made larger");
	rc = ibv_resize_cq(p->a.scq, 5);
	check(c, rc != 0, "IBTA 11.2.8.3, ibv_resize_cq(3)",
	      "a size below what is in the CQ is refused");
	check_eq(c, wait_n(p->a.scq, 11, 0), 11, "IBTA 11.2.8.3",
		 "what was in the CQ is still there, in order");
	check_eq(c, ibv_resize_cq(p->a.scq, 5), 0, "IBTA 11.2.8.3", "an empty CQ is made smaller");
	check(c, ibv_resize_cq(p->a.scq, c->dev.max_cqe + 1) != 0, "IBTA 11.2.8.3",
	      "a size above max_cqe is refused");
	w = (struct wr){ .op = IBV_WR_RDMA_WRITE, .id = 20, .len = 8 };
	post(p, &w);
	check_eq(c, wait_n(p->a.scq, 1, 20), 1, "IBTA 11.2.8.3", "the CQ works on");
}

/* More completions than entries: the CQ is in error, and the device says so. */
static void overrun(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct pollfd fd = { .fd = c->ctx->async_fd, .events = POLLIN };
	bool seen = false;
	int cqe, posted = 0;
	struct pair p;

	o.cqe = 4;
	o.depth = 1024;
	if (pair_open(c, &p, &o))
		return;
	cqe = p.a.scq->cqe;
	while (posted <= cqe + 8 && posted < 1024 && !post(&p, &w))
		posted++;
	if (posted <= cqe)
		skip(c, "the CQ is larger than the send queue", "overrun");
	for (double end = now_ms() + WAIT_MS; posted > cqe && now_ms() < end && !seen;) {
		struct ibv_async_event e;

		if (poll(&fd, 1, 100) != 1 || ibv_get_async_event(c->ctx, &e))
			continue;
		seen = e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == p.a.scq;
		ibv_ack_async_event(&e);
	}
	if (posted > cqe)
		check(c, seen, "IBTA 10.8.1, 11.6.3.2", "an overrun is an event that names the CQ");
	pair_close(&p);
	/* Events of the QPs that went down with it. */
	for (struct ibv_async_event e; poll(&fd, 1, 0) == 1 && !ibv_get_async_event(c->ctx, &e);)
		ibv_ack_async_event(&e);
}

static void shared(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_cq *cq = ibv_create_cq(c->ctx, 64, NULL, NULL, 0);
	struct ibv_qp *a = cq ? qp_create(c, &o, cq, cq, NULL) : NULL;
	struct ibv_qp *b = cq ? qp_create(c, &o, cq, cq, NULL) : NULL;
	static char buf[64];
	struct ibv_mr *mr = ibv_reg_mr(c->pd, buf, sizeof(buf), ALL_ACCESS);
	int sends = 0, recvs = 0;

	if (a && b && mr && !qp_up(c, &o, a, IBV_QPS_RTS, b->qp_num) &&
	    !qp_up(c, &o, b, IBV_QPS_RTS, a->qp_num)) {
		struct ibv_sge sge = { (uintptr_t)buf, 8, mr->lkey };
		struct ibv_recv_wr rr = { .sg_list = &sge, .num_sge = 1 }, *bad_rr;
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
					  .opcode = IBV_WR_SEND }, *bad;
		struct ibv_wc wc;

		ibv_post_recv(b, &rr, &bad_rr);
		ibv_post_send(a, &wr, &bad);
		for (int i = 0; i < 2 && wait_wc(cq, &wc, WAIT_MS) == IBV_WC_SUCCESS; i++) {
			sends += wc.opcode == IBV_WC_SEND && wc.qp_num == a->qp_num;
			recvs += wc.opcode == IBV_WC_RECV && wc.qp_num == b->qp_num;
		}
	}
	check(c, sends == 1 && recvs == 1, "IBTA 10.2.8",
	      "one CQ serves four queues of two QPs");
	if (a)
		ibv_destroy_qp(a);
	if (b)
		ibv_destroy_qp(b);
	if (cq)
		ibv_destroy_cq(cq);
	if (mr)
		ibv_dereg_mr(mr);
}

/* Completions of a destroyed QP may be there or not, but polling must be safe. */
static void after_destroy(struct conf *c, struct pair *p)
{
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct ibv_wc wc[16];
	int n;

	for (int i = 0; i < 8; i++)
		post(p, &w);
	ibv_destroy_qp(p->a.qp);
	p->a.qp = NULL;
	n = ibv_poll_cq(p->a.scq, 16, wc);
	check(c, n >= 0 && n <= 8, "IBTA 11.2.5.4",
		 "a CQ can be polled after its QP was destroyed");
}

void run_cq(struct conf *c)
{
	static void (*const parts[])(struct conf *, struct pair *) = { polling, resizing,
								       after_destroy };
	struct opt o = opt_default(IBV_QPT_RC);
	struct pair p;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (pair_open(c, &p, &o))
			return;
		parts[i](c, &p);
		pair_close(&p);
	}
	overrun(c);
	shared(c);
}
