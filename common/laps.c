/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "laps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lap_ops.h"
#include "news.h"
#include "plan.h"

int lap_store_open(struct lap_store *s, const struct settings *set, bool dumps, bool paced,
		   struct error *err)
{
	uint64_t cap;
	int rc;

	memset(s, 0, sizeof(*s));
	s->warmup = set->warmup;
	s->paced = paced;
	s->kept = plan_kept_laps(set, dumps);
	if (!s->kept) {
		s->histogram = malloc(sizeof(*s->histogram));
		s->worst = malloc(sizeof(*s->worst));
		if (!s->histogram || !s->worst)
			return error_set(err, EXIT_FAILED, ENOMEM, "histogram");
	}
	/* The first exchange is kept even where neither warm-up nor samples are. */
	cap = s->kept + s->warmup + 2;
	rc = samples_open(&s->post, cap);
	if (!rc && (set->detail || paced))
		rc = samples_open(&s->seen, cap);
	if (!rc && set->detail)
		rc = samples_open(&s->gap, cap);
	if (!rc && set->detail)
		rc = samples_open(&s->cpu, cap);
	if (!rc && set->hw_timestamps)
		rc = samples_open(&s->device, cap);
	if (rc)
		return error_set(err, EXIT_FAILED, -rc, "memory for %llu laps",
				 (unsigned long long)cap);
	return 0;
}

void lap_store_close(struct lap_store *s)
{
	samples_close(&s->post);
	samples_close(&s->seen);
	samples_close(&s->gap);
	samples_close(&s->cpu);
	samples_close(&s->device);
	free(s->histogram);
	free(s->worst);
	s->histogram = NULL;
	s->worst = NULL;
}

static void attach(struct lap_run *r, struct lap_store *s)
{
	r->post = s->post.v;
	r->seen = s->seen.v;
	r->gap = s->gap.v;
	r->device = s->device.v;
	r->cpu = s->cpu.v && lap_section_init(&r->section) ? s->cpu.v : NULL;
	r->histogram = s->histogram;
	r->worst = s->worst;
	r->before = 0;
	if (!s->histogram)
		return;
	histogram_init(s->histogram);
	worst_init(s->worst);
}

static uint64_t add_ticks(uint64_t t, uint64_t more)
{
	return more < UINT64_MAX - t ? t + more : UINT64_MAX;
}

/* The loop that records in arrays, and the one for laps that are not all kept. */
static enum lap_record kept_record(const struct lap_store *s)
{
	return s->paced ? RECORD_PACED : s->seen.v ? RECORD_DETAIL : RECORD_STAMPS;
}

static enum lap_record main_record(const struct lap_store *s)
{
	if (!s->histogram)
		return kept_record(s);
	return s->paced ? RECORD_PACED_HISTOGRAM : RECORD_HISTOGRAM;
}

/*
 * News came, and nothing that ends the run: the loop goes on. What the look took is in no sample of
 * a histogram, and in one of an array.
 */
static bool looked_around(struct lap_run *r, uint64_t last, uint64_t deadline,
			  enum clock_source clock, int *rc)
{
	if (*rc || r->laps == last || !news_came())
		return false;
	r->before = 0;
	*rc = wait_sleep(r->wait, 0);
	return !*rc && cycles_read(clock) < deadline;
}

/*
 * Runs laps up to @last; 0 when all of them were done or the deadline came. A loss ends the loop,
 * which then goes on.
 */
static int call_loop(struct lap_run *r, const struct lap_loops *loops, enum lap_side side,
		     enum lap_record record, enum clock_source clock, uint64_t last,
		     uint64_t deadline)
{
	lap_loop loop = loops->by[side][record][clock];

	for (;;) {
		int rc;

		if (r->cpu)
			lap_watch(&r->section);

		r->first = r->laps;
		r->last = last;
		r->deadline = deadline;
		rc = loop(r);
		if (r->cpu)
			lap_unwatch();
		if (looked_around(r, last, deadline, clock, &rc))
			continue;
		if (!rc || r->wait->end != WAIT_LOST)
			return rc;
		r->wait->end = WAIT_OK;
		if (side == LAP_SERVER)
			laps_skip(r, record, last);
		else if (laps_give_up(r, record))
			return -1;
	}
}

static void count_none_lost(struct lap_run *r)
{
	r->lost = r->late = 0;
	r->loss.open_count = 0;
}

static void begin_run(struct lap_run *r, struct lap_store *s, enum lap_side side)
{
	attach(r, s);
	r->laps = r->missed = 0;
	r->loss.side = side;
	r->loss.ahead = false;
	count_none_lost(r);
}

/* What is shown between two calls is no part of any lap. */
static void run_intervals(struct lap_run *r, struct lap_store *s, const struct lap_loops *loops,
			  enum clock_source clock, const struct lap_interval *interval,
			  uint64_t first, uint64_t last, uint64_t end)
{
	uint64_t next = cycles_read(clock), shown = first;
	int rc;

	do {
		next = add_ticks(next, interval->ticks);
		rc = call_loop(r, loops, LAP_CLIENT, main_record(s), clock, last,
			       next < end ? next : end);
		/* The last one is as long as it became. */
		if (r->laps > shown)
			interval->show(interval->arg, s->histogram, r->laps - first, cycles_read(clock));
		shown = r->laps;
		r->before = 0;
	} while (!rc && !stop_asked() && r->laps < last && next < end);
}

/* The first lap is kept for its own line; it counts as all others do. */
static void count_first(struct lap_run *r, const struct lap_store *s)
{
	bool lost = r->post[0] & LAP_LOST;

	r->before = lost ? 0 : r->post[0];
	if (s->paced && !lost)
		lap_add(r, lap_difference(r, r->post[0], r->seen[0]), r->seen[0]);
}

void laps_run_client(struct lap_run *r, struct lap_store *s, const struct lap_loops *loops,
		     enum clock_source clock, const struct lap_goal *goal, struct lap_result *out)
{
	uint64_t room = s->histogram ? UINT64_MAX - s->warmup - 2 : s->kept;
	uint64_t laps = goal->laps < room ? goal->laps : room, first, end;

	memset(out, 0, sizeof(*out));
	out->inflation = NAN;
	begin_run(r, s, LAP_CLIENT);
	end = add_ticks(cycles_read(clock), goal->warmup_ticks);
	r->wait->err->stage = "warm-up";
	if (s->warmup && call_loop(r, loops, LAP_CLIENT, kept_record(s), clock, s->warmup,
				   end < goal->timeout_tick ? end : goal->timeout_tick)) {
		out->warmup = r->laps;
		return;
	}
	r->wait->err->stage = "run";
	out->warmup = first = r->laps;
	count_none_lost(r);
	out->start = cycles_read(clock);
	end = goal->run_ticks ? add_ticks(out->start, goal->run_ticks) : UINT64_MAX;
	end = end < goal->timeout_tick ? end : goal->timeout_tick;
	if (s->histogram && first == 0) {
		if (call_loop(r, loops, LAP_CLIENT, kept_record(s), clock, 1, end) || r->laps == 0)
			return;
		count_first(r, s);
	}
	if (goal->interval && s->histogram)
		run_intervals(r, s, loops, clock, goal->interval, first, first + laps, end);
	else
		call_loop(r, loops, LAP_CLIENT, main_record(s), clock, first + laps, end);
	laps_wait_for_late(r);
	out->full = goal->run_ticks && r->laps - first == room;
}

bool laps_server_full(const struct lap_run *r, const struct lap_store *s,
		      const struct lap_goal *goal)
{
	return !s->histogram && goal->laps == UINT64_MAX && r->laps == s->kept + s->warmup;
}

void laps_run_server(struct lap_run *r, struct lap_store *s, const struct lap_loops *loops,
		     enum clock_source clock, const struct lap_goal *goal)
{
	uint64_t kept = s->histogram ? laps_kept_by_server(s) : s->kept + s->warmup;
	uint64_t all = goal->laps == UINT64_MAX ? UINT64_MAX : goal->laps + s->warmup;

	begin_run(r, s, LAP_SERVER);
	r->loss.bound = s->histogram ? UINT64_MAX : kept;
	if (call_loop(r, loops, LAP_SERVER, kept_record(s), clock, kept < all ? kept : all,
		      goal->timeout_tick) || !s->histogram)
		return;
	if (r->laps < kept || r->laps >= all)
		return;
	if (r->laps == kept && !(r->post[kept - 1] & LAP_LOST))
		r->before = r->post[kept - 1];
	call_loop(r, loops, LAP_SERVER, main_record(s), clock, all, goal->timeout_tick);
}

int lap_post_failed(struct lap_run *r, int rc, uint64_t lap)
{
	const struct lane *l = r->lane;

	error_set(r->wait->err, EXIT_FAILED, rc > 0 ? rc : -rc,
		  "posting lap %llu (%u bytes%s) on QP 0x%06x", (unsigned long long)lap + 1,
		  l->sge.length, l->wr.send_flags & IBV_SEND_INLINE ? ", inline" : "",
		  l->qp->qp_num);
	r->wait->end = WAIT_FAILED;
	return -1;
}

int lap_receive_failed(struct lap_run *r, int rc)
{
	error_set(r->wait->err, EXIT_FAILED, rc > 0 ? rc : -rc, "posting a receive on QP 0x%06x",
		  r->lane->qp->qp_num);
	r->wait->end = WAIT_FAILED;
	return -1;
}
