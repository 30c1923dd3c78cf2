/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the timed loops are made of. All choices fold away with constant arguments. */
#ifndef COMMON_LAP_OPS_H
#define COMMON_LAP_OPS_H

#include "laps.h"
#include "wait_ops.h"

#define LAP_INLINE static inline __attribute__((always_inline))

/*
 * How an end sees the other's message: its mark in memory, the completion of a receive, or, of a
 * READ or an atomic, the own completion, which brings the answer.
 */
enum lap_sight { SEE_MEMORY, SEE_COMPLETION, SEE_OWN };

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

/* Posts the message of @lap on @l; where its mark is awaited it carries one. */
LAP_INLINE int lap_post(struct lap_run *r, struct lane *l, enum lap_sight sight, uint64_t lap)
{
	if (sight == SEE_MEMORY)
		*(uint64_t *)(void *)(l->send + r->mark.word) =
			mark_word(&r->mark, lap_number(r, lap));
	return l->post(l, lap);
}

/* Waits for the own completion, which is the answer of a READ or an atomic. */
LAP_INLINE int lap_answer(struct lap_run *r, struct lane *l, uint64_t lap, enum clock_source clock,
			  struct poll_gap *gap)
{
	if (gap && r->device)
		return wait_cq_stamp(r->wait, l->cqs->stamped, clock, gap, &r->device[lap]);
	return wait_cq(r->wait, l->cqs->send, 1, clock, gap) < 0 ? -1 : 0;
}

/*
 * Waits until the other end's message of @lap is there. Where messages may be lost the lanes of
 * the two ends need not be the same: a receive is counted where it was taken, and once it was.
 */
LAP_INLINE int lap_see(struct lap_run *r, struct lane *l, enum lap_sight sight, uint64_t lap,
		       enum clock_source clock, struct poll_gap *gap)
{
	if (sight == SEE_OWN)
		return lap_answer(r, l, lap, clock, gap);
	if (sight == SEE_COMPLETION && gap && r->device) {
		if (wait_cq_stamp(r->wait, l->cqs->stamped, clock, gap, &r->device[lap]))
			return -1;
		l->consumed++;
		return 0;
	}
	if (sight == SEE_COMPLETION) {
		uint64_t index = 0;

		for (unsigned int left = r->answers; left; left--) {
			if (wait_cq_id(r->wait, l->cqs->recv, 1, clock, gap, &index) < 0)
				return -1;
			(l - l->index + index)->consumed++;
		}
		return 0;
	}
	return wait_word(r->wait, (const uint64_t *)(const void *)(l->recv + r->mark.word),
			 r->mark.mask, mark_word(&r->mark, lap_number(r, lap)), clock, gap);
}

/* Takes own completions while as many are out as the queue may hold: one more after a wait that ended. */
LAP_INLINE int lap_reap(struct lap_run *r, struct lane *l, enum lap_sight sight,
			enum clock_source clock, struct poll_gap *gap)
{
	struct endpoint_cqs *c = l->cqs;
	int got;

	if (sight == SEE_OWN)
		return 0;
	for (++c->unreaped; c->unreaped >= r->depth; c->unreaped -= got) {
		got = wait_cq(r->wait, c->send, r->depth < 16 ? r->depth : 16, clock, gap);
		if (got < 0)
			return -1;
	}
	return 0;
}

/*
 * Posts the receives again that were consumed, once there are enough for a list. After the post of
 * a message, where its cost is hidden: more receives are there than a list takes.
 */
LAP_INLINE int lap_receive(struct lap_run *r, struct lane *l, enum lap_sight sight)
{
	int rc;

	if (sight != SEE_COMPLETION || l->consumed < r->recv_list)
		return 0;
	rc = lane_post_receives(l, l->consumed);
	l->consumed = 0;
	return rc ? lap_receive_failed(r, rc) : 0;
}

LAP_INLINE void lap_add(struct lap_run *r, uint64_t sample, uint64_t t)
{
	histogram_add(r->histogram, sample);
	worst_see(r->worst, sample, r->histogram->count, t);
}

/* Counts the lap that ended with stamp @t. After the post, where its cost is hidden. */
LAP_INLINE void lap_count(struct lap_run *r, enum lap_record record, uint64_t t)
{
	if (record != RECORD_HISTOGRAM)
		return;
	if (r->before)
		lap_add(r, lap_difference(r, r->before, t), t);
	r->before = t;
}

/* What --detail keeps of a lap besides its stamps. */
LAP_INLINE void lap_keep_detail(struct lap_run *r, uint64_t lap, const struct poll_gap *gap)
{
	r->gap[lap] = gap->longest;
	if (r->cpu)
		r->cpu[lap] = lap_cpu(&r->section);
}

/* The answer of @lap, posted at @t, was seen. */
LAP_INLINE void lap_saw(struct lap_run *r, enum lap_record record, enum clock_source clock,
			uint64_t lap, uint64_t t, struct poll_gap *gap)
{
	uint64_t now;

	if (!lap_record_sees(record))
		return;
	now = cycles_read(clock);
	if (record == RECORD_PACED_HISTOGRAM) {
		lap_add(r, lap_difference(r, t, now), now);
		return;
	}
	r->seen[lap] = now;
	if (record == RECORD_DETAIL) {
		poll_gap_until(gap, now);
		lap_keep_detail(r, lap, gap);
	}
}

/* The stamp of a lap's start, where it is kept. */
LAP_INLINE void lap_stamp(struct lap_run *r, enum lap_record record, uint64_t lap, uint64_t t)
{
	if (!lap_record_counts(record))
		r->post[lap] = t;
}

/* The client's last stamp: the end of its last lap, or of the one that a deadline ended. */
LAP_INLINE void lap_end(struct lap_run *r, enum lap_record record, enum clock_source clock,
			uint64_t lap, uint64_t t)
{
	if (lap == r->last)
		t = cycles_read(clock);
	lap_count(r, record, t);
	lap_stamp(r, record, lap, t);
}

#endif
