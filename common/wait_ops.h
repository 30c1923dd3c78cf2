/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The waits of the timed loops, inline: a wait that succeeds at once costs a few loads. */
#ifndef COMMON_WAIT_OPS_H
#define COMMON_WAIT_OPS_H

#include <errno.h>

#include "cycles.h"
#include "wait.h"

/* The longest time between two polls of a lap; for --detail. */
struct poll_gap {
	uint64_t last, longest; /* counter */
};

static inline void poll_gap_until(struct poll_gap *g, uint64_t now)
{
	if (now - g->last > g->longest)
		g->longest = now - g->last;
	g->last = now;
}

/*
 * After a poll that found nothing; the stamp of what was seen ends the last gap. A CPU is often
 * lost just behind the read of its counter: a read before the poll would hide that.
 */
static inline void poll_gap_see(struct poll_gap *g, enum clock_source clock)
{
	poll_gap_until(g, cycles_read(clock));
}

/*
 * Polls a word of memory until it holds @want under @mask. 0, or -1 with the reason in w->end.
 * @gap: NULL, or where the longest time between two polls is kept.
 */
static inline __attribute__((always_inline)) int wait_word(struct wait *w, const uint64_t *p,
							   uint64_t mask, uint64_t want,
							   enum clock_source clock,
							   struct poll_gap *gap)
{
	unsigned int n = w->spins;
	struct wait_slow slow = { .start = 0 };

	while ((__atomic_load_n(p, __ATOMIC_ACQUIRE) & mask) != want) {
		if (gap)
			poll_gap_see(gap, clock);
		if (--n)
			continue;
		n = w->spins;
		if (wait_slow_look(w, &slow))
			return -1;
	}
	if (__builtin_expect(slow.start != 0, 0))
		wait_slow_end(w, &slow);
	return 0;
}

/*
 * Takes completions of @cq, at most @max (16) at once, until at least one came. Their number, or
 * -1 with the reason in w->end. @id: NULL, or where the wr_id of the first one goes.
 */
static inline __attribute__((always_inline)) int wait_cq_id(struct wait *w, struct ibv_cq *cq,
							    int max, enum clock_source clock,
							    struct poll_gap *gap, uint64_t *id)
{
	struct ibv_wc wc[16];
	unsigned int n = w->spins;
	struct wait_slow slow = { .cq = cq };
	int got;

	while (!(got = ibv_poll_cq(cq, max, wc))) {
		if (gap)
			poll_gap_see(gap, clock);
		if (--n)
			continue;
		n = w->spins;
		if (wait_slow_look(w, &slow))
			return -1;
	}
	if (__builtin_expect(slow.start != 0, 0))
		wait_slow_end(w, &slow);
	if (__builtin_expect(got < 0, 0))
		return wait_poll_failed(w, got);
	for (int i = 0; i < got; i++)
		if (__builtin_expect(wc[i].status != IBV_WC_SUCCESS, 0))
			return wait_bad_completion(w, &wc[i]);
	if (id)
		*id = wc[0].wr_id;
	return got;
}

static inline __attribute__((always_inline)) int wait_cq(struct wait *w, struct ibv_cq *cq, int max,
							 enum clock_source clock,
							 struct poll_gap *gap)
{
	return wait_cq_id(w, cq, max, clock, gap, NULL);
}

/* One completion of @cq with the device's time of it: 0, or -1 with the reason in w->end. */
static inline int wait_cq_stamp(struct wait *w, struct ibv_cq_ex *cq, enum clock_source clock,
				struct poll_gap *gap, uint64_t *stamp)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };
	struct wait_slow slow = { .cq = ibv_cq_ex_to_cq(cq) };
	unsigned int n = w->spins;
	struct ibv_wc wc;
	int rc;

	while ((rc = ibv_start_poll(cq, &attr)) == ENOENT) {
		poll_gap_see(gap, clock);
		if (--n)
			continue;
		n = w->spins;
		if (wait_slow_look(w, &slow))
			return -1;
	}
	if (rc)
		return wait_poll_failed(w, -rc);
	wc = (struct ibv_wc){ .wr_id = cq->wr_id, .status = cq->status };
	if (wc.status == IBV_WC_SUCCESS)
		*stamp = ibv_wc_read_completion_ts(cq);
	else
		wc.vendor_err = ibv_wc_read_vendor_err(cq);
	ibv_end_poll(cq);
	if (slow.start)
		wait_slow_end(w, &slow);
	return wc.status == IBV_WC_SUCCESS ? 0 : wait_bad_completion(w, &wc);
}

#endif
