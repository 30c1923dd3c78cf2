/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the timed loops are made of. All choices fold away with constant arguments. */
#ifndef COMMON_LAP_OPS_H
#define COMMON_LAP_OPS_H

#include "laps.h"
#include "wait_ops.h"

/* From one stamp to a later one; a clock that stepped back is counted and gives 0. */
static inline uint64_t lap_difference(struct lap_run *r, uint64_t from, uint64_t to)
{
	if (__builtin_expect(to >= from, 1))
		return to - from;
	r->backwards++;
	return 0;
}

static inline uint64_t lap_number(const struct lap_run *r, uint64_t lap)
{
	return r->number + lap;
}

/* One RDMA WRITE with the mark of @lap. */
static inline __attribute__((always_inline)) int lap_post_write(struct lap_run *r,
								enum post_how how, uint64_t lap)
{
	struct ibv_send_wr *bad;

	*r->send_word = mark_word(&r->mark, lap_number(r, lap));
	if (how == POST_HOW_SEND) {
		r->wr.wr_id = lap;
		return ibv_post_send(r->qp, &r->wr, &bad);
	}
	ibv_wr_start(r->qpx);
	r->qpx->wr_id = lap;
	r->qpx->wr_flags = r->wr.send_flags;
	ibv_wr_rdma_write(r->qpx, r->wr.wr.rdma.rkey, r->wr.wr.rdma.remote_addr);
	if (how == POST_HOW_WR_INLINE)
		ibv_wr_set_inline_data(r->qpx, (void *)(uintptr_t)r->sge.addr, r->sge.length);
	else
		ibv_wr_set_sge(r->qpx, r->sge.lkey, r->sge.addr, r->sge.length);
	return ibv_wr_complete(r->qpx);
}

static inline __attribute__((always_inline)) int lap_wait_mark(struct lap_run *r, uint64_t lap,
							       enum clock_source clock,
							       struct poll_gap *gap)
{
	return wait_word(r->wait, r->recv_word, r->mark.mask,
			 mark_word(&r->mark, lap_number(r, lap)), clock, gap);
}

/* Takes own completions once as many are out as the queue may hold. */
static inline __attribute__((always_inline)) int lap_reap(struct lap_run *r,
							  enum clock_source clock,
							  struct poll_gap *gap)
{
	int got;

	if (++r->unreaped < r->depth)
		return 0;
	got = wait_cq(r->wait, r->cq, r->depth < 16 ? r->depth : 16, clock, gap);
	if (got < 0)
		return -1;
	r->unreaped -= got;
	return 0;
}

/* Counts the lap that ended with stamp @t. After the post, where its cost is hidden. */
static inline __attribute__((always_inline)) void lap_count(struct lap_run *r,
							    enum lap_record record, uint64_t t)
{
	if (record != RECORD_HISTOGRAM)
		return;
	if (r->before)
		histogram_add(r->histogram, lap_difference(r, r->before, t));
	r->before = t;
}

#endif
