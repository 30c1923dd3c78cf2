/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asynchronous events: which come, whom they name, that none comes unasked. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "pair.h"

#define CLAUSE "IBTA 11.6.3.2"

/* The next event within ms; it is acknowledged at once. */
static bool next(struct conf *c, int ms, struct ibv_async_event *e)
{
	struct pollfd fd = { .fd = c->ctx->async_fd, .events = POLLIN };

	if (poll(&fd, 1, ms) != 1 || ibv_get_async_event(c->ctx, e))
		return false;
	ibv_ack_async_event(e);
	return true;
}

/* An event of this type for this QP, others are passed over. */
static bool comes(struct conf *c, enum ibv_event_type type, struct ibv_qp *qp, int ms)
{
	double end = now_ms() + ms;
	struct ibv_async_event e;

	while (now_ms() < end)
		if (next(c, 20, &e) && e.event_type == type && e.element.qp == qp)
			return true;
	return false;
}

static void drain(struct conf *c)
{
	struct ibv_async_event e;

	while (next(c, 0, &e))
		;
}

static void nothing(struct conf *c)
{
	struct ibv_async_event e;
	int flags = fcntl(c->ctx->async_fd, F_GETFL);

	drain(c);
	check(c, !next(c, QUIET_MS, &e), "ibv_get_async_event(3)", "no event is there");
	fcntl(c->ctx->async_fd, F_SETFL, flags | O_NONBLOCK);
	errno = 0;
	check(c, ibv_get_async_event(c->ctx, &e) == -1 && errno == EAGAIN,
	      "ibv_get_async_event(3)", "where the file does not block, that is EAGAIN");
	fcntl(c->ctx->async_fd, F_SETFL, flags);
}

static void access_error(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8, .rkey = 0xdeadbeef };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	do_wr(&p, &w);
	check(c, comes(c, IBV_EVENT_QP_ACCESS_ERR, p.b.qp, WAIT_MS), CLAUSE,
	      "a refused key is an access error event at the responder");
	pair_close(&p);
	drain(c);
}

static void request_error(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .remote = 3 };
	struct pair p;

	if (c->dev.atomic_cap == IBV_ATOMIC_NONE) {
		skip(c, "no atomic operations", "an invalid request is an event at the responder");
		return;
	}
	if (pair_open(c, &p, &o))
		return;
	do_wr(&p, &w);
	check(c, comes(c, IBV_EVENT_QP_REQ_ERR, p.b.qp, WAIT_MS), CLAUSE,
	      "an invalid request is an event at the responder");
	pair_close(&p);
	drain(c);
}

/* A message for a QP that is still in RTR. */
static void established(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	qp_set(p.b.qp, IBV_QPS_RESET);
	qp_up(c, &o, p.b.qp, IBV_QPS_RTR, p.a.qp->qp_num);
	post_recv(&p.b, 1, 0, 64);
	check_eq(c, do_wr(&p, &w), IBV_WC_SUCCESS, "IBTA 10.3.1.3", "a QP in RTR receives");
	check_eq(c, wait_status(p.b.rcq), IBV_WC_SUCCESS, "IBTA 10.3.1.3",
		 "and completes receives");
	check(c, comes(c, IBV_EVENT_COMM_EST, p.b.qp, WAIT_MS), CLAUSE,
	      "the first message in RTR is the event communication established");
	check_eq(c, qp_step(c, &o, p.b.qp, IBV_QPS_RTS, 0), 0, "IBTA 10.3.1.4",
		 "it then goes to RTS");
	pair_close(&p);
	drain(c);
}

static void drained(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	check_eq(c, ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0,
		 "IBTA 11.2.5.2", "RTS to SQD with the wish for an event");
	check(c, comes(c, IBV_EVENT_SQ_DRAINED, p.a.qp, WAIT_MS), CLAUSE,
	      "the event send queue drained comes");
	pair_close(&p);
	drain(c);
}

/* Moving to ERR by hand is no event. */
static void by_hand(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_async_event e;
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	qp_set(p.a.qp, IBV_QPS_ERR);
	check(c, !next(c, QUIET_MS, &e), CLAUSE, "a QP moved to ERR by its owner is no event");
	pair_close(&p);
	drain(c);
}

void run_events(struct conf *c)
{
	nothing(c);
	access_error(c);
	request_error(c);
	established(c);
	drained(c);
	by_hand(c);
}
