/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receiving side: receives, posted in lists and again; credits, given and taken. */
#include "stream_ops.h"

#include <errno.h>
#include <stdlib.h>

static int recv_failed(struct stream *s, int rc)
{
	error_set(s->w->err, EXIT_FAILED, rc > 0 ? rc : -rc, "posting receives");
	s->w->end = WAIT_FAILED;
	return -1;
}

static void fill_receive(struct stream *s, unsigned int i, struct stream_lane *owner, uint64_t offset)
{
	unsigned int lane = owner->lane->index;

	s->recv_sges[i] = (struct ibv_sge){
		.addr = (uintptr_t)stream_target(s, lane) + offset,
		.length = (uint32_t)s->plan.largest + (s->plan.ud ? UD_GRH_BYTES : 0),
		.lkey = endpoint_mr(s->set.endpoint, lane)->lkey,
	};
	s->recv_wrs[i] = (struct ibv_recv_wr){
		.wr_id = lane | offset / SLOT_ALIGN << ID_LANE_BITS,
		.sg_list = &s->recv_sges[i],
		.num_sge = 1,
		.next = &s->recv_wrs[i + 1],
	};
}

static int post_filled(struct stream *s, struct stream_lane *l, unsigned int n)
{
	struct ibv_srq *srq = s->set.endpoint->srq;
	struct ibv_recv_wr *bad;
	int rc;

	s->recv_wrs[n - 1].next = NULL;
	rc = srq ? ibv_post_srq_recv(srq, s->recv_wrs, &bad) :
		   ibv_post_recv(l->lane->qp, s->recv_wrs, &bad);
	return rc ? recv_failed(s, rc) : 0;
}

/* The lane's next slots; a receive queue gives them back in this order. */
static int post_in_order(struct stream *s, struct stream_lane *l, unsigned int n)
{
	while (n) {
		unsigned int some = n < s->plan.recv_list ? n : s->plan.recv_list;

		for (unsigned int i = 0; i < some; i++)
			fill_receive(s, i, l, l->recv_slot++ % s->recv_slots * s->recv_stride);
		if (post_filled(s, l, some))
			return -1;
		n -= some;
	}
	return 0;
}

/* An SRQ gives receives back in any order: the very ones that were taken. */
static int post_pending(struct stream *s)
{
	unsigned int n = s->pending_count;

	for (unsigned int i = 0; i < n; i++)
		fill_receive(s, i, &s->lanes[ID_LANE(s->pending[i])], ID_OFFSET(s->pending[i]));
	s->pending_count = 0;
	return n ? post_filled(s, NULL, n) : 0;
}

int stream_post_all_receives(struct stream *s)
{
	if (!s->plan.receives)
		return 0;
	if (!s->plan.srq) {
		for (unsigned int i = 0; i < s->plan.qps; i++)
			if (post_in_order(s, &s->lanes[i], s->plan.receives))
				return -1;
		return 0;
	}
	for (unsigned int i = 0; i < s->plan.receives; i++)
		if (post_in_order(s, &s->lanes[i % s->plan.qps], 1))
			return -1;
	return 0;
}

int stream_post_again(struct stream *s, struct stream_lane *l)
{
	unsigned int n = l->consumed;

	l->consumed = 0;
	return s->plan.srq ? post_pending(s) : post_in_order(s, l, n);
}

static int consume(struct stream *s, struct stream_lane *l, uint64_t id)
{
	l->consumed++;
	if (s->plan.srq)
		s->pending[s->pending_count++] = id;
	if ((s->plan.srq ? s->pending_count : l->consumed) < s->plan.recv_list)
		return 0;
	return stream_post_again(s, l);
}

/* A SEND of no bytes; a credit, by its immediate data. */
static int post_credit(struct stream *s, struct stream_lane *l, uint32_t imm)
{
	const struct lane *lane = l->lane;
	struct ibv_qp_ex *q = lane->qpx;
	struct ibv_send_wr *bad, wr = {
		.wr_id = ID_CREDIT | lane->index,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(imm),
	};

	if (s->plan.ud)
		wr.wr.ud = lane->wr.wr.ud;
	if (!q)
		return ibv_post_send(lane->qp, &wr, &bad);
	ibv_wr_start(q);
	q->wr_id = wr.wr_id;
	q->wr_flags = wr.send_flags;
	ibv_wr_send_imm(q, wr.imm_data);
	if (s->plan.ud)
		ibv_wr_set_ud_addr(q, wr.wr.ud.ah, wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey);
	ibv_wr_set_sge_list(q, 0, NULL);
	return ibv_wr_complete(q);
}

int stream_announce(struct stream *s, struct stream_lane *l)
{
	int rc;

	if (l->credits_out == STREAM_SPARE_WRS)
		return 0;
	if (stream_post_again(s, l))
		return -1;
	rc = post_credit(s, l, CREDIT_BIT | ((uint32_t)l->received & COUNT_MASK));
	if (rc)
		return stream_post_failed(s, l, rc);
	l->credits_out++;
	s->announced += l->received - l->announced;
	l->announced = l->received;
	return 1;
}

int stream_flush_credits(struct stream *s)
{
	int sent = 0;

	for (unsigned int i = 0; i < s->plan.qps && s->announced != s->received; i++) {
		struct stream_lane *l = &s->lanes[i];
		int one = l->received != l->announced ? stream_announce(s, l) : 0;

		if (one < 0)
			return -1;
		sent += one;
	}
	return sent;
}

/* Counts may come late or not at all where messages are lost; they never go back. */
static int take_credit(struct stream *s, struct stream_lane *l, const struct ibv_wc *wc)
{
	uint32_t delta = (be32toh(wc->imm_data) - (uint32_t)l->credited) & COUNT_MASK;
	uint64_t known = l->sent - l->written_off;

	if (!(delta & (COUNT_MASK + 1) / 2)) {
		l->credited += delta;
		s->credited += delta;
	}
	/* It was late and not lost. */
	if (l->credited > known && l->written_off) {
		uint64_t found = l->credited - known < l->written_off ? l->credited - known :
									l->written_off;
		l->written_off -= found;
		s->written_off -= found;
	}
	stream_refresh(s, l);
	/* At once: the peer counts on it. */
	if (!s->plan.srq)
		return post_in_order(s, l, 1);
	if (s->pending_count == s->plan.recv_list && post_pending(s))
		return -1;
	s->pending[s->pending_count++] = wc->wr_id;
	return post_pending(s);
}

static int take_data(struct stream *s, struct stream_lane *l, const struct ibv_wc *wc)
{
	if (s->plan.verify && stream_check_received(s, l, wc))
		return -1;
	l->received++;
	s->received++;
	if (consume(s, l, wc->wr_id))
		return -1;
	if (l->received - l->announced >= s->plan.credit_each)
		return stream_announce(s, l) < 0 ? -1 : 0;
	return 0;
}

static struct stream_lane *lane_of(struct stream *s, const struct ibv_wc *wc)
{
	unsigned int from = 0, to = s->plan.qps;

	if (!s->plan.srq)
		return &s->lanes[ID_LANE(wc->wr_id)];
	while (to - from > 1) {
		unsigned int mid = (from + to) / 2;

		if (s->qpns[mid].qpn <= wc->qp_num)
			from = mid;
		else
			to = mid;
	}
	return &s->lanes[s->qpns[from].lane];
}

static int take(struct stream *s, const struct ibv_wc *wc)
{
	struct stream_lane *l;

	if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0))
		return stream_bad(s, wc);
	l = lane_of(s, wc);
	if ((wc->wc_flags & IBV_WC_WITH_IMM) && be32toh(wc->imm_data) & CREDIT_BIT)
		return take_credit(s, l, wc);
	s->recv_empty = 0;
	return take_data(s, l, wc);
}

int stream_poll_recv(struct stream *s)
{
	const struct endpoint *e = s->set.endpoint;
	struct ibv_wc wc[16];
	int all = 0;

	for (unsigned int g = 0; g < e->cqs_count; g++) {
		int got = ibv_poll_cq(e->cqs[g].recv, 16, wc);

		if (got < 0)
			return wait_poll_failed(s->w, got);
		for (int i = 0; i < got; i++)
			if (take(s, &wc[i]))
				return -1;
		all += got;
	}
	return all;
}

int stream_post_confirm(struct stream *s, struct stream_lane *l)
{
	struct lane *lane = l->lane;
	const struct endpoint *e = s->set.endpoint;
	uint64_t last = (l->sent - 1) % s->slots * s->stride + s->size - 1;
	struct ibv_sge sge = { (uintptr_t)lane->send + e->send_area - SLOT_ALIGN, 1, lane->sge.lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = ID_CONFIRM | lane->index,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = l->target + last, .rkey = lane->wr.wr.rdma.rkey },
	};

	if (!lane->qpx)
		return ibv_post_send(lane->qp, &wr, &bad);
	ibv_wr_start(lane->qpx);
	lane->qpx->wr_id = wr.wr_id;
	lane->qpx->wr_flags = wr.send_flags;
	ibv_wr_rdma_read(lane->qpx, wr.wr.rdma.rkey, wr.wr.rdma.remote_addr);
	ibv_wr_set_sge(lane->qpx, sge.lkey, sge.addr, sge.length);
	return ibv_wr_complete(lane->qpx);
}
