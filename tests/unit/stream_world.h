/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device on paper for one end of a stream: requests take effect late, in batches, out of step
 * between queue pairs; a slot of a send queue is free only when a completion that covers it was
 * polled. The peer's part is played here too: it takes messages and gives credits, or sends.
 */
#ifndef TESTS_STREAM_WORLD_H
#define TESTS_STREAM_WORLD_H

#include <endian.h>

#include "draws.h"
#include "stream_parts.h"
#include "unit.h"

#define WORLD_QPS 8
#define WORLD_RING 1024
#define WORLD_CQ 4096

struct world_request {
	struct ibv_send_wr wr;
	struct ibv_sge sge;
};

struct world_qp {
	struct ibv_qp qp;
	struct world_request ring[WORLD_RING];
	uint64_t posted, done, freed;
	uint64_t data, signaled_end; /* messages that took effect; of those, before a signaled one */
	uint64_t taken, told, lost;  /* by the peer: messages; of them told; dropped */
	uint64_t receives, credits;  /* posted here; credits that came from this end */
	uint64_t announced, sent;    /* the peer as a sender: what it may, what it did */
	struct ibv_recv_wr recv_ring[4 * WORLD_RING];
	uint64_t recv_posted, recv_taken;
};

struct world_cq {
	struct ibv_cq cq;
	struct ibv_wc wc[WORLD_CQ];
	uint64_t slot[WORLD_CQ]; /* of the send queue, that the completion frees up to */
	uint64_t in, out;
};

struct world {
	struct ibv_context ctx;
	struct world_qp qp[WORLD_QPS];
	struct world_cq send, recv;
	struct ibv_qp *qps[WORLD_QPS];
	struct ibv_mr mr, *mrs[1];
	struct endpoint e;
	struct endpoint_cqs cqs;
	struct endpoint_address remote;
	uint32_t qpns[WORLD_QPS], psns[WORLD_QPS], rkeys[WORLD_QPS];
	struct lane lanes[WORLD_QPS];
	struct settings set;
	struct stream_plan plan;
	struct stream *s;
	struct wait w;
	struct error err;
	struct draws d;
	uint64_t to_send;  /* the peer's messages on each lane */
	double loss;       /* probability */
	uint64_t base;     /* counts begin here */
	bool slow;         /* the peer gives credits late */
};

static inline struct world *world_of(struct ibv_context *ctx)
{
	return (struct world *)(void *)((char *)ctx - offsetof(struct world, ctx));
}

static inline struct world_qp *world_qp(struct ibv_qp *qp)
{
	return (struct world_qp *)(void *)((char *)qp - offsetof(struct world_qp, qp));
}

static inline int world_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct world *w = world_of(qp->context);
	struct world_qp *q = world_qp(qp);

	for (; wr; wr = wr->next) {
		struct world_request *r = &q->ring[q->posted % WORLD_RING];

		if (q->posted - q->freed >= w->plan.depth + STREAM_SPARE_WRS) {
			*bad = wr;
			fail_msg("the send queue is full: %llu", (unsigned long long)q->posted);
		}
		r->wr = *wr;
		if (wr->num_sge)
			r->sge = *wr->sg_list;
		q->posted++;
	}
	return 0;
}

static inline int world_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct world *w = world_of(qp->context);
	struct world_qp *q = world_qp(qp);

	(void)bad;
	for (; wr; wr = wr->next) {
		assert_true(q->recv_posted - q->recv_taken < w->plan.receives);
		assert_true(wr->sg_list->addr + wr->sg_list->length <=
			    (uintptr_t)w->e.buffer.addr + w->e.buffer.bytes);
		q->recv_ring[q->recv_posted++ % (4 * WORLD_RING)] = *wr;
	}
	return 0;
}

static inline void world_complete(struct world_cq *cq, struct ibv_wc wc, uint64_t slot)
{
	cq->slot[cq->in % WORLD_CQ] = slot;
	cq->wc[cq->in++ % WORLD_CQ] = wc;
}

/* A message of the peer, data or credit, into the next receive. */
static inline void world_deliver(struct world *w, struct world_qp *q, bool imm, uint32_t data)
{
	const struct ibv_recv_wr *r = &q->recv_ring[q->recv_taken % (4 * WORLD_RING)];

	if (q->recv_taken == q->recv_posted)
		fail_msg("receiver not ready");
	q->recv_taken++;
	world_complete(&w->recv, (struct ibv_wc){ .wr_id = r->wr_id, .qp_num = q->qp.qp_num,
						  .wc_flags = imm ? IBV_WC_WITH_IMM : 0,
						  .imm_data = htobe32(data) }, 0);
}

/* The request that is due on a queue pair takes effect. */
static inline void world_effect(struct world *w, struct world_qp *q)
{
	const struct world_request *r = &q->ring[q->done++ % WORLD_RING];
	bool credit = r->wr.wr_id & ID_CREDIT;

	if (credit) {
		uint32_t count = be32toh(r->wr.imm_data);
		uint64_t told = q->announced + ((count - (uint32_t)q->announced) & COUNT_MASK);

		assert_true(count & CREDIT_BIT);
		assert_int_equal(r->wr.num_sge, 0);
		assert_true(told > q->announced && told <= q->sent);
		q->announced = told;
		q->credits++;
	} else if (!(r->wr.wr_id & ID_CONFIRM)) {
		q->data++;
		if (r->wr.send_flags & IBV_SEND_SIGNALED)
			q->signaled_end = q->data;
		if (w->loss > 0 && draw_uniform(&w->d) < w->loss)
			q->lost++;
		else
			q->taken++;
		if (w->plan.window && w->loss == 0 &&
		    q->taken + w->base - q->told > w->plan.window)
			fail_msg("more messages than receives");
	}
	if (r->wr.send_flags & IBV_SEND_SIGNALED)
		world_complete(&w->send, (struct ibv_wc){ .wr_id = r->wr.wr_id,
							  .qp_num = q->qp.qp_num }, q->done);
}

/* The peer: a credit now and then, or its next message where it has the credit. */
static inline void world_peer(struct world *w, struct world_qp *q)
{
	uint64_t took = q->taken + w->base;

	if (w->plan.window && q->told < took && (!w->slow || draw_uniform(&w->d) < 0.05)) {
		q->told = took;
		world_deliver(w, q, true, CREDIT_BIT | ((uint32_t)took & COUNT_MASK));
	}
	if (q->sent < w->to_send && q->sent - q->announced < w->plan.window) {
		world_deliver(w, q, false, 0);
		q->sent++;
	}
}

/* The peer is asked for its counts: all that was sent has come, or never will. */
static inline void world_answer(struct world *w)
{
	json_t *m = json_object(), *lanes = json_array();

	for (unsigned int i = 0; i < w->plan.qps; i++) {
		struct world_qp *q = &w->qp[i];

		while (q->done < q->posted)
			world_effect(w, q);
		q->told = q->taken + w->base;
		json_array_append_new(lanes, json_integer((json_int_t)q->told));
	}
	json_object_set_new(m, "lanes", lanes);
	assert_int_equal(stream_take_counts(w->s, m), 0);
	json_decref(m);
}

static inline int world_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct world *w = world_of(cq->context);
	struct world_cq *c = (struct world_cq *)(void *)((char *)cq - offsetof(struct world_cq, cq));
	int got = 0;

	if (w->s->probing)
		world_answer(w);
	for (int i = 0; i < 6; i++) {
		struct world_qp *q = &w->qp[(unsigned int)(draw_uniform(&w->d) * w->plan.qps)];

		for (int k = (int)(draw_uniform(&w->d) * 8); k > 0 && q->done < q->posted; k--)
			world_effect(w, q);
		world_peer(w, q);
	}
	for (; got < n && c->out < c->in; got++, c->out++) {
		wc[got] = c->wc[c->out % WORLD_CQ];
		for (unsigned int i = 0; c == &w->send && i < w->plan.qps; i++)
			if (w->qp[i].qp.qp_num == wc[got].qp_num)
				w->qp[i].freed = c->slot[c->out % WORLD_CQ];
	}
	return got;
}

static inline int world_notify(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

static inline void world_open_endpoint(struct world *w, unsigned int qps)
{
	size_t send, recv;

	stream_areas(&w->set, w->plan.op, &send, &recv);
	w->ctx.ops = (struct ibv_context_ops){ .post_send = world_post_send,
					       .post_recv = world_post_recv,
					       .poll_cq = world_poll_cq,
					       .req_notify_cq = world_notify };
	w->send.cq.context = w->recv.cq.context = &w->ctx;
	w->cqs = (struct endpoint_cqs){ .send = &w->send.cq,
					.recv = w->plan.window ? &w->recv.cq : &w->send.cq };
	w->mrs[0] = &w->mr;
	w->e = (struct endpoint){ .ctx = &w->ctx, .cqs = &w->cqs, .cqs_count = 1,
				  .qps_per_cqs = qps, .mrs = w->mrs, .mr_count = 1, .qps = w->qps,
				  .qp_count = qps, .post = POST_SEND, .send_area = page_align(send),
				  .recv_area = page_align(recv) };
	w->e.buffer.bytes = qps * (w->e.send_area + w->e.recv_area);
	w->e.buffer.addr = calloc(1, w->e.buffer.bytes);
	w->remote = (struct endpoint_address){ .vaddr = 1ull << 40, .stride = 1ull << 32,
					       .qpns = w->qpns, .psns = w->psns, .rkeys = w->rkeys,
					       .qp_count = qps };
	for (unsigned int i = 0; i < qps; i++) {
		w->qps[i] = &w->qp[i].qp;
		w->qp[i].qp.context = &w->ctx;
		w->qp[i].qp.qp_num = 100 + i;
	}
}

/* With w->set, w->d and what is planted filled in. */
static inline void world_open(struct world *w, enum op_kind op, bool sends, bool receives)
{
	struct lane_plan plan = { .op = op, .size = w->set.sizes.v[0],
				  .recv_size = w->set.sizes.v[0] };
	struct stream_setup setup = { .settings = &w->set, .op = op, .endpoint = &w->e,
				      .remote = &w->remote, .lanes = w->lanes, .sends = sends,
				      .receives = receives, .confirm_by_read = op == OP_WRITE,
				      .clock = clock_source_default(), .hz = 1e9, .wait = &w->w };

	stream_plan(&w->plan, &w->set, op_get(op));
	error_init(&w->err, "test");
	world_open_endpoint(w, w->plan.qps);
	w->w = (struct wait){ .run_deadline = UINT64_MAX, .raw_done = true, .err = &w->err };
	wait_init(&w->w);
	lanes_fill(w->lanes, w->plan.qps, &w->e, &w->remote, &plan);
	assert_int_equal(stream_open(&w->s, &setup, &w->err), 0);
}

static inline void world_close(struct world *w)
{
	stream_close(w->s);
	free(w->e.buffer.addr);
	error_free(&w->err);
	free(w);
}

static inline struct world *world_new(uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->d = (struct draws){ seed };
	w->set = (struct settings){ .tx_depth = 128, .rx_depth = 512, .qps = 1, .post_list = 1,
				    .recv_post_list = 1, .cq_mod = OPTION_AUTO,
				    .buffer = OPTION_AUTO, .sizes = { { 8 }, 1 } };
	return w;
}

#endif
