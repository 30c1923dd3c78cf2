/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues: whose receive is taken, the limit, the last one of a QP in error. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "pair.h"

static int post_srq(struct ibv_srq *srq, struct end *e, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + 64 * (id % 128), 64, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

static struct ibv_srq *make(struct conf *c, uint32_t max_wr, uint32_t limit)
{
	struct ibv_srq_init_attr init = { .srq_context = c,
					  .attr = { .max_wr = max_wr, .max_sge = 1,
						    .srq_limit = limit } };

	return ibv_create_srq(c->pd, &init);
}

/* The type of the next async event within ms, or -1; it is acknowledged. */
static int next_event(struct conf *c, int ms, void **element)
{
	struct pollfd fd = { .fd = c->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	if (poll(&fd, 1, ms) != 1 || ibv_get_async_event(c->ctx, &e))
		return -1;
	*element = e.element.srq;
	ibv_ack_async_event(&e);
	return (int)e.event_type;
}

static void attributes(struct conf *c)
{
	struct ibv_srq_attr attr;
	struct ibv_srq *srq = make(c, (uint32_t)c->dev.max_srq_wr + 1, 0);

	check(c, !srq, "IBTA 10.2.9, ibv_create_srq(3)", "an SRQ above max_srq_wr is refused");
	if (srq)
		ibv_destroy_srq(srq);
	srq = make(c, 10, 0);
	if (!check(c, srq != NULL, "ibv_create_srq(3)", "an SRQ is made"))
		return;
	check(c, !ibv_query_srq(srq, &attr) && attr.max_wr >= 10 && attr.max_sge >= 1 &&
	      attr.srq_limit == 0, "ibv_query_srq(3)", "its attributes are given back");
	attr.srq_limit = 3;
	check(c, !ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) && !ibv_query_srq(srq, &attr) &&
	      attr.srq_limit == 3, "ibv_modify_srq(3)", "the limit is set");
	attr.srq_limit = attr.max_wr + 1;
	check(c, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) != 0, "ibv_modify_srq(3)",
	      "a limit above the size is refused");
	check_eq(c, ibv_destroy_srq(srq), 0, "ibv_destroy_srq(3)", "an unused SRQ is given up");
}

static void full(struct conf *c)
{
	struct ibv_srq *srq = make(c, 10, 0);
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_srq_attr attr;
	uint32_t n = 0;
	struct pair p;

	if (!srq)
		return;
	if (!pair_open(c, &p, &o)) {
		ibv_query_srq(srq, &attr);
		while (n <= attr.max_wr && !post_srq(srq, &p.b, n))
			n++;
		check_eq(c, n, attr.max_wr, "IBTA 10.2.9.2, ibv_post_srq_recv(3)",
			 "an SRQ takes as many receives as it says");
		check_eq(c, post_srq(srq, &p.b, n), ENOMEM, "ibv_post_srq_recv(3)",
			 "a full SRQ says ENOMEM");
		pair_close(&p);
	}
	check_eq(c, ibv_destroy_srq(srq), 0, "ibv_destroy_srq(3)",
		 "an SRQ with receives is given up");
}

static void receives(struct conf *c, struct pair *p, struct ibv_srq *srq)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct ibv_wc wc;
	int bad = 0;

	check(c, post_recv(&p->b, 1, 0, 64) != 0, "IBTA 10.2.9, ibv_post_recv(3)",
	      "a QP with an SRQ takes no receives of its own");
	for (uint64_t i = 0; i < 8; i++)
		bad += post_srq(srq, &p->b, i) != 0;
	for (uint64_t i = 0; i < 8; i++) {
		p->a.buf[0] = (uint8_t)(i + 1);
		bad += do_wr(p, &w) || wait_wc(p->b.rcq, &wc, WAIT_MS) || wc.wr_id != i ||
		       wc.qp_num != p->b.qp->qp_num || p->b.buf[64 * i] != i + 1;
	}
	check_eq(c, bad, 0, "IBTA 10.2.9.3", "messages take the receives of the SRQ");
	check_eq(c, post(p, &w), 0, "IBTA 10.2.9.3", "a SEND waits for an empty SRQ");
	check(c, quiet(p->b.rcq), "IBTA 10.2.9.3", "nothing is received meanwhile");
	post_srq(srq, &p->b, 9);
	check(c, wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 9 &&
	      wait_status(p->a.scq) == IBV_WC_SUCCESS, "IBTA 10.2.9.3",
	      "it is received once a receive is there");
	check_eq(c, ibv_destroy_srq(srq), EBUSY, "ibv_destroy_srq(3)",
		 "an SRQ with a QP is not given up");
}

/* The event comes once, when fewer than the limit are left, and disarms itself. */
static void limit(struct conf *c, struct pair *p, struct ibv_srq *srq)
{
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	void *element = NULL;
	int type;

	for (uint64_t i = 0; i < 5; i++)
		post_srq(srq, &p->b, i);
	check_eq(c, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0, "ibv_modify_srq(3)",
		 "a limit of 3 is armed with 5 receives");
	do_wr(p, &w);
	do_wr(p, &w);
	check_eq(c, next_event(c, QUIET_MS, &element), -1, "IBTA 10.2.9.1",
		 "no event with 3 receives left");
	do_wr(p, &w);
	type = next_event(c, WAIT_MS, &element);
	check_eq(c, type, IBV_EVENT_SRQ_LIMIT_REACHED, "IBTA 10.2.9.1, 11.6.3",
		 "the event comes with 2 left");
	check(c, element == srq, "ibv_get_async_event(3)", "and names the SRQ");
	check(c, !ibv_query_srq(srq, &attr) && attr.srq_limit == 0, "IBTA 10.2.9.1",
	      "the limit is disarmed");
	do_wr(p, &w);
	check_eq(c, next_event(c, QUIET_MS, &element), -1, "IBTA 10.2.9.1",
		 "and no event comes again");
}

static void last_wqe(struct conf *c, struct pair *p, struct ibv_srq *srq)
{
	void *element = NULL;
	int type;

	post_srq(srq, &p->b, 1);
	qp_set(p->b.qp, IBV_QPS_ERR);
	type = next_event(c, WAIT_MS, &element);
	check_eq(c, type, IBV_EVENT_QP_LAST_WQE_REACHED, "IBTA 10.3.1.7, 11.6.3",
		 "a QP in ERR says that it takes no more of the SRQ");
	check(c, element == p->b.qp, "ibv_get_async_event(3)", "the last WQE event names the QP");
	check(c, quiet(p->b.rcq), "IBTA 10.2.9.3", "the receives of the SRQ are not flushed");
}

void run_srq(struct conf *c)
{
	static void (*const parts[])(struct conf *, struct pair *, struct ibv_srq *) = {
		receives, limit, last_wqe,
	};

	if (!c->dev.max_srq) {
		skip(c, "the device has no SRQ", "shared receive queues");
		return;
	}
	attributes(c);
	full(c);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct opt o = opt_default(IBV_QPT_RC);
		struct pair p;

		o.srq = make(c, 16, 0);
		if (!o.srq)
			return;
		if (!pair_open(c, &p, &o)) {
			parts[i](c, &p, o.srq);
			pair_close(&p);
		}
		ibv_destroy_srq(o.srq);
	}
}
