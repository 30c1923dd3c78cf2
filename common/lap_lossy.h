/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the timed loops see by, and how they see where messages may be lost (UC, UD). There each
 * message says its lap's number: in the immediate data, or by its mark. An answer that comes after
 * its lap was given up is then not taken for the next one's.
 *
 * The number goes up by one a lap, and by one more after a lap that the client gave up. So the
 * server knows from what is left out which messages never came, and whether its last answer was in
 * time: 2 n numbers are n messages that never came, one more is that answer.
 */
#ifndef COMMON_LAP_LOSSY_H
#define COMMON_LAP_LOSSY_H

#include <endian.h>

#include "laps.h"
#include "wait_ops.h"

#define LAP_INLINE static inline __attribute__((always_inline))

/*
 * How an end sees the other's message: its mark in memory, the completion of a receive, or, of a
 * READ or an atomic, the own completion, which brings the answer.
 */
enum lap_sight { SEE_MEMORY, SEE_COMPLETION, SEE_OWN, SEE_LOSSY_MEMORY, SEE_LOSSY_COMPLETION };

static inline uint64_t lap_number(const struct lap_run *r, uint64_t lap)
{
	return r->number + lap;
}

/*
 * Posts the receives again that were consumed, once there are enough for a list. After the post of
 * a message, where its cost is hidden: more receives are there than a list takes.
 */
LAP_INLINE int lap_receive(struct lap_run *r, struct lane *l, enum lap_sight sight)
{
	int rc;

	if (sight != SEE_COMPLETION && sight != SEE_LOSSY_COMPLETION)
		return 0;
	if (l->consumed < r->recv_list)
		return 0;
	rc = lane_post_receives(l, l->consumed);
	l->consumed = 0;
	return rc ? lap_receive_failed(r, rc) : 0;
}

/* laps_lost.c: the way out of the loops: a wait that takes long, and what came instead. */

/* Goes on waiting for the message of @lap, on any lane: 0, or -1 with the reason in wait->end. */
int lap_seek(struct lap_run *r, struct lane *l, enum lap_sight sight, uint64_t lap,
	     enum clock_source clock, struct poll_gap *gap);
/* Takes @got (1, or an error) completions of another number: 0 go on, -1 see wait->end. */
int lap_take_other(struct lap_run *r, struct lane *l, uint64_t lap, int got,
		   const struct ibv_wc *wc);

/* A completion that came: 1 the message of @lap is there, 0 it is not, -1 see wait->end. */
LAP_INLINE int lap_take(struct lap_run *r, struct lane *l, uint64_t lap, int got,
			const struct ibv_wc *wc)
{
	if (__builtin_expect(got != 1 || wc->status != IBV_WC_SUCCESS ||
			     wc->imm_data != htobe32((uint32_t)lap_number(r, lap)), 0))
		return lap_take_other(r, l, lap, got, wc);
	(l - l->index + wc->wr_id)->consumed++;
	return --r->loss.left == 0;
}

LAP_INLINE int lap_see_number(struct lap_run *r, struct lane *l, uint64_t lap,
			      enum clock_source clock, struct poll_gap *gap)
{
	unsigned int n = r->wait->spins;

	r->loss.left = r->answers;
	if (__builtin_expect(r->loss.ahead, 0)) {
		r->loss.ahead = false;
		return 0;
	}
	while (n && !(gap && r->device)) {
		struct ibv_wc wc;
		int got = ibv_poll_cq(l->cqs->recv, 1, &wc), rc;

		if (!got) {
			if (gap)
				poll_gap_see(gap, clock);
			n--;
			continue;
		}
		rc = lap_take(r, l, lap, got, &wc);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	return lap_seek(r, l, SEE_LOSSY_COMPLETION, lap, clock, gap);
}

LAP_INLINE int lap_see_mark(struct lap_run *r, struct lane *l, uint64_t lap,
			    enum clock_source clock, struct poll_gap *gap)
{
	const uint64_t *p = (const uint64_t *)(const void *)(l->recv + r->mark.word);
	uint64_t want = mark_word(&r->mark, lap_number(r, lap));

	for (unsigned int n = r->wait->spins; n; n--) {
		if ((__atomic_load_n(p, __ATOMIC_ACQUIRE) & r->mark.mask) == want)
			return 0;
		if (gap)
			poll_gap_see(gap, clock);
	}
	return lap_seek(r, l, SEE_LOSSY_MEMORY, lap, clock, gap);
}

#endif
