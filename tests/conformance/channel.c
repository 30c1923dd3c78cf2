/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion channels: armed, solicited only, poll(), acknowledged. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "pair.h"

#define CLAUSE "IBTA 10.8.4, 11.4.2.2"

static bool readable(struct ibv_comp_channel *ch, int ms)
{
	struct pollfd fd = { .fd = ch->fd, .events = POLLIN };

	return poll(&fd, 1, ms) == 1;
}

/* Takes and acknowledges one event of this CQ. */
static bool take(struct ibv_comp_channel *ch, struct ibv_cq *cq, void *context)
{
	struct ibv_cq *got = NULL;
	void *ctx = NULL;

	if (!readable(ch, WAIT_MS) || ibv_get_cq_event(ch, &got, &ctx))
		return false;
	ibv_ack_cq_events(got, 1);
	return got == cq && ctx == context;
}

static void send_one(struct pair *p, unsigned int flags)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 8, .flags = flags };

	post_recv(&p->b, 1, 0, 64);
	do_wr(p, &w);
}

static void armed(struct conf *c, struct pair *p, struct ibv_comp_channel *ch)
{
	send_one(p, 0);
	check(c, !readable(ch, QUIET_MS), CLAUSE, "no event comes from a CQ that is not armed");
	wait_status(p->b.rcq);
	check_eq(c, ibv_req_notify_cq(p->b.rcq, 0), 0, "ibv_req_notify_cq(3)", "a CQ is armed");
	check(c, !readable(ch, QUIET_MS), CLAUSE, "no event comes without a completion");
	send_one(p, 0);
	check(c, take(ch, p->b.rcq, &p->b), "ibv_get_cq_event(3)",
	      "the event names the CQ and its context");
	check_eq(c, wait_status(p->b.rcq), IBV_WC_SUCCESS, CLAUSE, "the completion is there");
	send_one(p, 0);
	check(c, !readable(ch, QUIET_MS), CLAUSE, "one arming gives one event");
	wait_status(p->b.rcq);
	ibv_req_notify_cq(p->b.rcq, 0);
	ibv_req_notify_cq(p->b.rcq, 0);
	send_one(p, 0);
	send_one(p, 0);
	check(c, take(ch, p->b.rcq, &p->b) && !readable(ch, QUIET_MS), CLAUSE,
	      "arming twice gives one event");
}

static void solicited(struct conf *c, struct pair *p, struct ibv_comp_channel *ch)
{
	check_eq(c, ibv_req_notify_cq(p->b.rcq, 1), 0, "ibv_req_notify_cq(3)",
		 "a CQ is armed for solicited events");
	send_one(p, 0);
	check(c, !readable(ch, QUIET_MS), CLAUSE, "a plain SEND gives no event");
	wait_status(p->b.rcq);
	send_one(p, IBV_SEND_SOLICITED);
	check(c, take(ch, p->b.rcq, &p->b), CLAUSE, "a solicited SEND does");
	wait_status(p->b.rcq);
	ibv_req_notify_cq(p->b.rcq, 1);
	ibv_req_notify_cq(p->b.rcq, 0);
	send_one(p, 0);
	check(c, take(ch, p->b.rcq, &p->b), CLAUSE, "arming for all overrides solicited only");
	wait_status(p->b.rcq);
	ibv_req_notify_cq(p->b.rcq, 0);
	ibv_req_notify_cq(p->b.rcq, 1);
	send_one(p, 0);
	check(c, take(ch, p->b.rcq, &p->b), CLAUSE, "and solicited only does not take it back");
	wait_status(p->b.rcq);
}

static void errors_are_solicited(struct conf *c, struct pair *p, struct ibv_comp_channel *ch)
{
	post_recv(&p->b, 1, 0, 64);
	ibv_req_notify_cq(p->b.rcq, 1);
	qp_set(p->b.qp, IBV_QPS_ERR);
	check(c, take(ch, p->b.rcq, &p->b), "IBTA 10.8.4, ibv_req_notify_cq(3)",
	      "an error completion is an event for solicited only too");
	check_eq(c, wait_status(p->b.rcq), IBV_WC_WR_FLUSH_ERR, "IBTA 10.3.1.7",
		 "and the flushed receive is there");
}

static void write_imm(struct conf *c, struct pair *p, struct ibv_comp_channel *ch)
{
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8, .flags = IBV_SEND_SOLICITED };

	ibv_req_notify_cq(p->b.rcq, 0);
	do_wr(p, &w);
	check(c, !readable(ch, QUIET_MS), CLAUSE, "a WRITE gives its responder no event");
	post_recv(&p->b, 1, 0, 64);
	w.op = IBV_WR_RDMA_WRITE_WITH_IMM;
	do_wr(p, &w);
	check(c, take(ch, p->b.rcq, &p->b), CLAUSE, "a WRITE with immediate data does");
}

/* A non-blocking channel without events says EAGAIN. */
static void non_blocking(struct conf *c, struct pair *p, struct ibv_comp_channel *ch)
{
	struct ibv_cq *cq;
	void *ctx;
	int rc;

	(void)p;
	fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK);
	errno = 0;
	rc = ibv_get_cq_event(ch, &cq, &ctx);
	check(c, rc == -1 && errno == EAGAIN, "ibv_get_cq_event(3)",
	      "an empty channel that does not block says EAGAIN");
	check_eq(c, ibv_destroy_comp_channel(ch), EBUSY, "ibv_create_comp_channel(3)",
		 "a channel with a CQ is not given up");
}

/* Several completions between two armings: drain, arm, drain again, and none is missed. */
static void loop(struct conf *c, struct pair *p, struct ibv_comp_channel *ch)
{
	struct ibv_wc wc;
	int got = 0, events = 0;

	ibv_req_notify_cq(p->b.rcq, 0);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i <= round % 3; i++)
			send_one(p, 0);
		if (!take(ch, p->b.rcq, &p->b))
			break;
		events++;
		ibv_req_notify_cq(p->b.rcq, 0);
		while (wait_wc(p->b.rcq, &wc, 5) == IBV_WC_SUCCESS)
			got++;
	}
	check(c, events == 20 && got == 39, CLAUSE, "a loop of wait, arm, drain misses nothing");
	if (events != 20 || got != 39)
		note("%d events, %d completions", events, got);
}

void run_channel(struct conf *c)
{
	static void (*const parts[])(struct conf *, struct pair *, struct ibv_comp_channel *) = {
		armed, solicited, errors_are_solicited, write_imm, non_blocking, loop,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct opt o = opt_default(IBV_QPT_RC);
		struct pair p;

		o.channel = ibv_create_comp_channel(c->ctx);
		if (!check(c, o.channel != NULL, "ibv_create_comp_channel(3)", "a channel is made"))
			return;
		if (!pair_open(c, &p, &o)) {
			parts[i](c, &p, o.channel);
			pair_close(&p);
		}
		check_eq(c, ibv_destroy_comp_channel(o.channel), 0, "ibv_create_comp_channel(3)",
			 "a channel without CQs is given up");
	}
}
