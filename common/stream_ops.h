/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the inner loop of a stream is made of. All choices fold away with constant arguments. */
#ifndef COMMON_STREAM_OPS_H
#define COMMON_STREAM_OPS_H

#include <endian.h>

#include "post_ops.h"
#include "stream_parts.h"

enum stream_post { STREAM_SEND, STREAM_WR, STREAM_WR_INLINE, STREAM_POSTS };

/* Messages that the lane may post in one list now. A shorter list only at the end. */
static inline __attribute__((always_inline)) unsigned int
stream_room_of(const struct stream_lane *l, unsigned int list)
{
	uint64_t room = l->limit > l->sent ? l->limit - l->sent : 0;

	if (room >= list)
		return list;
	return l->limit == l->quota ? (unsigned int)room : 0;
}

static inline unsigned int stream_room(const struct stream *s, const struct stream_lane *l)
{
	return stream_room_of(l, s->plan.list);
}

/* After a completion or a credit. */
static inline void stream_refresh(struct stream *s, struct stream_lane *l)
{
	uint64_t limit = l->completed + s->plan.depth;

	if (s->credits && l->credited + l->written_off + s->plan.window < limit)
		limit = l->credited + l->written_off + s->plan.window;
	l->limit = limit < l->quota ? limit : l->quota;
	if (!l->ready && stream_room(s, l))
		stream_enqueue(s, l);
}

/* The next message of the lane, as @wr with @sge. @last: of its list. */
static inline __attribute__((always_inline)) void
stream_next(struct stream *s, struct stream_lane *l, struct ibv_send_wr *wr, struct ibv_sge *sge,
	    enum op_kind op, bool ud, bool verify, bool last)
{
	struct lane *lane = l->lane;
	uint64_t at = l->at;
	bool to_target = op == OP_WRITE || op == OP_WRITE_IMM || op == OP_READ;

	sge->addr = (uintptr_t)lane->send + at;
	if (to_target && !ud)
		wr->wr.rdma.remote_addr = l->target + at;
	if (verify && op < OP_READ)
		verify_fill(lane->send + at, s->size,
			    verify_key(s->set.seed, lane->index, l->sent));
	if (verify && op == OP_CMP_SWAP) {
		wr->wr.atomic.compare_add = l->sent;
		wr->wr.atomic.swap = l->sent + 1;
	}
	if (op == OP_WRITE_IMM || op == OP_SEND_IMM)
		wr->imm_data = htobe32((uint32_t)l->sent & COUNT_MASK);
	l->at = at + s->stride == s->walk ? 0 : at + s->stride;
	l->sent++;
	l->unsignaled++;
	wr->wr_id = lane->index | (uint64_t)l->unsignaled << ID_LANE_BITS;
	if (l->unsignaled == s->plan.cq_mod || l->sent == l->quota || (last && s->plan.signal_lists)) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		l->unsignaled = 0;
	} else {
		wr->send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	}
}

/* @n messages of the lane in one post; 0 or an errno value. */
static inline __attribute__((always_inline)) int
stream_post_list(struct stream *s, struct stream_lane *l, unsigned int n, enum stream_post how,
		 enum op_kind op, bool ud, bool verify)
{
	struct lane *lane = l->lane;
	struct ibv_send_wr *bad;

	if (how == STREAM_SEND && n == 1) {
		stream_next(s, l, &lane->wr, &lane->sge, op, ud, verify, true);
		return ibv_post_send(lane->qp, &lane->wr, &bad);
	}
	if (how == STREAM_SEND) {
		for (unsigned int i = 0; i < n; i++) {
			s->wrs[i] = lane->wr;
			s->sges[i] = lane->sge;
			s->wrs[i].sg_list = &s->sges[i];
			s->wrs[i].next = i + 1 < n ? &s->wrs[i + 1] : NULL;
			stream_next(s, l, &s->wrs[i], &s->sges[i], op, ud, verify, i + 1 == n);
		}
		return ibv_post_send(lane->qp, s->wrs, &bad);
	}
	ibv_wr_start(lane->qpx);
	for (unsigned int i = 0; i < n; i++) {
		stream_next(s, l, &lane->wr, &lane->sge, op, ud, verify, i + 1 == n);
		lane->qpx->wr_id = lane->wr.wr_id;
		lane->qpx->wr_flags = lane->wr.send_flags;
		post_wr(lane, op, ud, how == STREAM_WR_INLINE);
	}
	return ibv_wr_complete(lane->qpx);
}

/* The lane in front has posted: it goes to the end of the queue, or out of it. */
static inline __attribute__((always_inline)) void stream_turn(struct stream *s,
							      struct stream_lane *l, bool more)
{
	if (more && l == s->tail)
		return;
	s->head = l->next_ready;
	l->next_ready = NULL;
	l->ready = more;
	if (more) {
		s->tail->next_ready = l;
		s->tail = l;
	} else if (!s->head) {
		s->tail = NULL;
	}
}

/* The inner loop: the lanes in turn, a list each, while there is room. @single: lists of one. */
static inline __attribute__((always_inline)) int
stream_burst_with(struct stream *s, unsigned int budget, enum stream_post how, enum op_kind op,
		  bool ud, bool verify, bool single)
{
	unsigned int posted = 0, list = single ? 1 : s->plan.list;

	while (s->head && posted < budget) {
		struct stream_lane *l = s->head;
		unsigned int n = single ? 1 : stream_room_of(l, list);
		int rc = stream_post_list(s, l, n, how, op, ud, verify);

		if (__builtin_expect(rc, 0))
			return stream_post_failed(s, l, rc);
		posted += n;
		stream_turn(s, l, stream_room_of(l, list) != 0);
	}
	s->sent += posted;
	return (int)posted;
}

#endif
