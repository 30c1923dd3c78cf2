/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the timed loops are made of. All choices fold away with constant arguments. */
#ifndef COMMON_LAP_OPS_H
#define COMMON_LAP_OPS_H

#include "lap_lossy.h"

/* From one stamp to a later one; a clock that stepped back is counted and gives 0. */
static inline uint64_t lap_difference(struct lap_run *r, uint64_t from, uint64_t to)
{
	if (__builtin_expect(to >= from, 1))
		return to - from;
	r->backwards++;
	return 0;
}

/* Posts the message of @lap on @l; where its mark or its number is awaited it carries one. */
LAP_INLINE int lap_post(struct lap_run *r, struct lane *l, enum lap_sight sight, uint64_t lap)
{
	if (sight == SEE_MEMORY || sight == SEE_LOSSY_MEMORY)
		*(uint64_t *)(void *)(l->send + r->mark.word) =
			mark_word(&r->mark, lap_number(r, lap));
	if (sight == SEE_LOSSY_COMPLETION)
		l->wr.imm_data = htobe32((uint32_t)lap_number(r, lap));
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
 * Waits until the other end's message of @lap is there. A receive is counted on the lane that it
 * was posted by, which with an SRQ need not be this one.
 */
LAP_INLINE int lap_see(struct lap_run *r, struct lane *l, enum lap_sight sight, uint64_t lap,
		       enum clock_source clock, struct poll_gap *gap)
{
	if (sight == SEE_OWN)
		return lap_answer(r, l, lap, clock, gap);
	if (sight == SEE_LOSSY_COMPLETION)
		return lap_see_number(r, l, lap, clock, gap);
	if (sight == SEE_LOSSY_MEMORY)
		return lap_see_mark(r, l, lap, clock, gap);
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
