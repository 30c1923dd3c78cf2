/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "laps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lap_ops.h"
#include "plan.h"

int lap_store_open(struct lap_store *s, const struct settings *set, bool dumps, struct error *err)
{
	uint64_t cap;
	int rc;

	memset(s, 0, sizeof(*s));
	s->warmup = set->warmup;
	s->kept = plan_kept_laps(set, dumps);
	if (!s->kept) {
		s->histogram = malloc(sizeof(*s->histogram));
		if (!s->histogram)
			return error_set(err, EXIT_FAILED, ENOMEM, "histogram");
	}
	/* The first exchange is kept even where neither warm-up nor samples are. */
	cap = s->kept + s->warmup + 2;
	rc = samples_open(&s->post, cap);
	if (!rc && set->detail)
		rc = samples_open(&s->seen, cap);
	if (!rc && set->detail)
		rc = samples_open(&s->gap, cap);
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
	free(s->histogram);
	s->histogram = NULL;
}

static void attach(struct lap_run *r, struct lap_store *s)
{
	r->post = s->post.v;
	r->seen = s->seen.v;
	r->gap = s->gap.v;
	r->histogram = s->histogram;
	r->before = 0;
	if (s->histogram)
		histogram_init(s->histogram);
}

static uint64_t add_ticks(uint64_t t, uint64_t more)
{
	return more < UINT64_MAX - t ? t + more : UINT64_MAX;
}

/* Runs laps [first, last); 0 when all of them were done or the deadline came. */
static int call_loop(struct lap_run *r, lap_loop loop, uint64_t first, uint64_t last,
		     uint64_t deadline)
{
	r->first = first;
	r->last = last;
	r->deadline = deadline;
	return loop(r);
}

void laps_run_client(struct lap_run *r, struct lap_store *s, const struct lap_loops *loops,
		     enum post_how how, enum clock_source clock, const struct lap_goal *goal,
		     struct lap_result *out)
{
	enum lap_record each = s->seen.v ? RECORD_DETAIL : RECORD_STAMPS;
	lap_loop stamps = loops->by[LAP_CLIENT][each][how][clock];
	lap_loop main_loop = s->histogram ? loops->by[LAP_CLIENT][RECORD_HISTOGRAM][how][clock] :
					    stamps;
	uint64_t room = s->histogram ? UINT64_MAX - s->warmup - 2 : s->kept;
	uint64_t laps = goal->laps < room ? goal->laps : room, first, end;

	memset(out, 0, sizeof(*out));
	attach(r, s);
	r->laps = 0;
	end = add_ticks(cycles_read(clock), goal->warmup_ticks);
	r->wait->err->stage = "warm-up";
	if (s->warmup && call_loop(r, stamps, 0, s->warmup,
				   end < goal->timeout_tick ? end : goal->timeout_tick)) {
		out->warmup = r->laps;
		return;
	}
	r->wait->err->stage = "run";
	out->warmup = first = r->laps;
	end = goal->run_ticks ? add_ticks(cycles_read(clock), goal->run_ticks) : UINT64_MAX;
	end = end < goal->timeout_tick ? end : goal->timeout_tick;
	if (s->histogram && first == 0) {
		if (call_loop(r, stamps, 0, 1, end) || r->laps == 0)
			return;
		r->before = r->post[0];
	}
	call_loop(r, main_loop, r->laps, first + laps, end);
	out->full = goal->run_ticks && r->laps - first == room;
}

/*
 * Stamps that a server keeps before it counts in its histogram: two measured ones, so that the
 * first exchange is known without a warm-up too.
 */
static uint64_t kept_by_server(const struct lap_store *s)
{
	return s->warmup + 2;
}

bool laps_server_full(const struct lap_run *r, const struct lap_store *s,
		      const struct lap_goal *goal)
{
	return !s->histogram && goal->laps == UINT64_MAX && r->laps == s->kept + s->warmup;
}

void laps_run_server(struct lap_run *r, struct lap_store *s, const struct lap_loops *loops,
		     enum post_how how, enum clock_source clock, const struct lap_goal *goal)
{
	enum lap_record each = s->seen.v ? RECORD_DETAIL : RECORD_STAMPS;
	lap_loop stamps = loops->by[LAP_SERVER][each][how][clock];
	uint64_t kept = s->histogram ? kept_by_server(s) : s->kept + s->warmup;
	uint64_t all = goal->laps == UINT64_MAX ? UINT64_MAX : goal->laps + s->warmup;

	attach(r, s);
	r->laps = 0;
	if (call_loop(r, stamps, 0, kept < all ? kept : all, goal->timeout_tick) || !s->histogram)
		return;
	if (r->laps < kept || r->laps >= all)
		return;
	r->before = r->post[r->laps - 1];
	call_loop(r, loops->by[LAP_SERVER][RECORD_HISTOGRAM][how][clock], r->laps, all,
		  goal->timeout_tick);
}

/* Stamps of [0, stamps) become samples from lap @warmup on, and those statistics. */
static int summarise(struct lap_run *r, struct lap_store *s, uint64_t stamps, uint64_t warmup,
		     struct lap_result *out, struct error *err)
{
	uint64_t backwards = 0;
	int rc = 0;

	if (stamps >= 2 && r->post[1] > r->post[0])
		out->first_exchange = lap_difference(r, r->post[0], r->post[1]);
	if (s->histogram) {
		out->samples = s->histogram->count;
		rc = out->samples ? histogram_summarise(s->histogram, &out->stats) : 0;
	} else {
		out->samples = samples_count(stamps, warmup);
		if (!out->samples)
			return 0;
		rc = samples_from_stamps(r->post, stamps, warmup, r->post, &backwards);
		out->sample = r->post;
		rc = stats_summarise(out->sample, out->samples, &out->stats);
	}
	out->backwards = r->backwards + backwards;
	if (out->backwards)
		error_warn(err, "the clock stepped back %llu times in the run; those laps count as 0",
			   (unsigned long long)out->backwards);
	return rc ? error_set(err, EXIT_FAILED, -rc, "statistics of %llu samples",
			      (unsigned long long)out->samples) : 0;
}

/*
 * --detail: post to seen and the poll gap of each sample, at the sample's place. A sample of the
 * client holds its own lap's wait; one of the server, from answer to answer, the next lap's
 * (@ahead 1): its "seen" of a lap comes before its answer.
 */
static void take_detail(struct lap_run *r, struct lap_store *s, uint64_t warmup, uint64_t samples,
			unsigned int ahead, struct lap_result *out)
{
	if (!s->seen.v)
		return;
	for (uint64_t k = 0; k < samples; k++) {
		r->seen[k] = lap_difference(r, r->post[warmup + k], r->seen[warmup + k + ahead]);
		r->gap[k] = r->gap[warmup + k + ahead];
	}
	out->to_seen = r->seen;
	out->gap = r->gap;
}

int laps_result_client(struct lap_run *r, struct lap_store *s, struct lap_result *out,
		       struct error *err)
{
	out->laps = r->laps > out->warmup ? r->laps - out->warmup : 0;
	if (r->laps == 0)
		return 0;
	take_detail(r, s, out->warmup, out->laps, 0, out);
	return summarise(r, s, r->laps + 1, out->warmup, out, err);
}

/* Measured laps among the stamps that were kept; more of them after a warm-up that was cut short. */
static int count_kept(struct lap_run *r, struct lap_store *s, uint64_t stamps, uint64_t warmup)
{
	uint64_t kept = stamps < kept_by_server(s) ? stamps : kept_by_server(s);
	struct histogram *early = malloc(sizeof(*early));

	if (!early)
		return -ENOMEM;
	histogram_init(early);
	for (uint64_t k = warmup; kept && k < kept - 1; k++)
		histogram_add(early, lap_difference(r, r->post[k], r->post[k + 1]));
	histogram_merge(early, s->histogram);
	*s->histogram = *early;
	free(early);
	return 0;
}

int laps_result_server(struct lap_run *r, struct lap_store *s, uint64_t total, uint64_t warmup,
		       struct lap_result *out, struct error *err)
{
	uint64_t stamps = r->laps < total ? r->laps : total;

	memset(out, 0, sizeof(*out));
	out->warmup = warmup;
	out->laps = stamps > warmup ? stamps - warmup : 0;
	if (s->histogram && count_kept(r, s, stamps, warmup))
		return error_set(err, EXIT_FAILED, ENOMEM, "histogram");
	take_detail(r, s, warmup, samples_count(stamps, warmup), 1, out);
	return summarise(r, s, stamps, warmup, out, err);
}

int lap_post_failed(struct lap_run *r, int rc, uint64_t lap)
{
	error_set(r->wait->err, EXIT_FAILED, rc > 0 ? rc : -rc,
		  "posting lap %llu (%u bytes%s) on QP 0x%06x", (unsigned long long)lap + 1,
		  r->sge.length, r->wr.send_flags & IBV_SEND_INLINE ? ", inline" : "",
		  r->qp->qp_num);
	r->wait->end = WAIT_FAILED;
	return -1;
}
