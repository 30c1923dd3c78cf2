/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The timed loops of the latency programs: a ping-pong, whose ends see each other's messages in
 * memory or by a completion; an initiator alone is the client of one whose answer is its own
 * completion. Programs make functions of them with constant arguments (bench.h).
 */
#ifndef COMMON_PINGPONG_OPS_H
#define COMMON_PINGPONG_OPS_H

#include "lap_ops.h"

LAP_INLINE int pingpong_client(struct lap_run *r, enum lap_sight sight, enum lap_record record,
			       enum clock_source clock)
{
	struct poll_gap gap, *g = record == RECORD_DETAIL ? &gap : NULL;
	uint64_t i, t = 0;
	int rc;

	for (i = r->first; i < r->last; i++) {
		struct lane *l = r->lane;

		if (lap_record_paced(record) && r->pace->before_post(r, i))
			return -1;
		t = cycles_read(clock);
		lap_stamp(r, record, i, t);
		if (t >= r->deadline || stop_signal)
			break;
		gap = (struct poll_gap){ .last = t };
		rc = lap_post(r, l, sight, i);
		if (rc)
			return lap_post_failed(r, rc, i);
		lap_count(r, record, t);
		if (lap_receive(r, l, sight) || lap_reap(r, l, sight, clock, g) ||
		    lap_see(r, l, sight, i, clock, g))
			return -1;
		lap_saw(r, record, clock, i, t, g);
		if (lap_record_paced(record) && r->pace->after_seen(r, i))
			return -1;
		r->lane = l->next;
		r->laps = i + 1;
	}
	lap_end(r, record, clock, i, t);
	return 0;
}

LAP_INLINE int pingpong_server(struct lap_run *r, enum lap_sight sight, enum lap_record record,
			       enum clock_source clock)
{
	struct poll_gap gap = { .last = cycles_read(clock) };
	struct poll_gap *g = record == RECORD_DETAIL ? &gap : NULL;
	int rc;

	for (uint64_t i = r->first; i < r->last; i++) {
		struct lane *l = r->lane;
		uint64_t t;

		gap.longest = 0;
		if (lap_see(r, l, sight, i, clock, g))
			return -1;
		if (record == RECORD_DETAIL) {
			r->seen[i] = cycles_read(clock);
			poll_gap_until(g, r->seen[i]);
		}
		if (lap_record_paced(record) && (r->pace->after_seen(r, i) || r->pace->before_post(r, i)))
			return -1;
		t = cycles_read(clock);
		lap_stamp(r, record, i, t);
		if (t >= r->deadline || stop_signal)
			break;
		rc = lap_post(r, l, sight, i);
		if (rc)
			return lap_post_failed(r, rc, i);
		lap_count(r, record, t);
		/* It is answered: the client's done may come before the own completion is seen. */
		r->lane = l->next;
		r->laps = i + 1;
		rc = lap_receive(r, l, sight) || lap_reap(r, l, sight, clock, g);
		if (record == RECORD_DETAIL)
			lap_keep_detail(r, i, g);
		if (rc)
			return -1;
	}
	return 0;
}

#endif
