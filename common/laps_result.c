/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What becomes of the records of a size: samples without the warm-up, their statistics. */
#include "laps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "interval.h"
#include "lap_ops.h"

/* The samples of @stamps stamps from lap @warmup on, in place, without those of lost laps. */
static uint64_t take_samples(struct lap_run *r, struct lap_store *s, uint64_t stamps,
			     uint64_t warmup)
{
	uint64_t n = 0, end = warmup + samples_count(stamps, warmup);

	for (uint64_t k = warmup; k < end; k++) {
		uint64_t from = r->post[k], to = s->paced ? r->seen[k] : r->post[k + 1] & ~LAP_LOST;

		if (!(from & LAP_LOST))
			r->post[n++] = lap_difference(r, from, to);
	}
	return n;
}

/* Statistics of samples that are all there: the interval is widened where laps are alike. */
static int look_at_samples(struct lap_result *out)
{
	uint64_t n = out->samples, *sorted = malloc(2 * n * sizeof(*sorted));
	struct interval iv;
	int rc;

	if (!sorted)
		return -ENOMEM;
	rc = stats_summarise_into(out->sample, n, sorted, sorted + n, &out->stats);
	if (!rc)
		rc = modes_find(sorted, n, &out->modes);
	if (!rc && interval_median(out->sample, sorted, n, 0.95, &iv) != -ENOMEM) {
		out->stats.ci95_lo = iv.lo;
		out->stats.ci95_hi = iv.hi;
		out->inflation = iv.inflation;
	}
	free(sorted);
	return rc;
}

/* A copy for the report; NULL when memory is short, and then there is no list. */
static struct worst *take_worst(const struct worst *w)
{
	struct worst *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *w;
	worst_sort(copy);
	return copy;
}

static uint64_t first_exchange(const struct lap_run *r, const struct lap_store *s)
{
	uint64_t end = s->paced ? r->seen[0] : r->post[1] & ~LAP_LOST;

	return end > r->post[0] ? end - r->post[0] : 0;
}

/* Stamps of [0, stamps) become samples from lap @warmup on, and those statistics. */
static int summarise(struct lap_run *r, struct lap_store *s, uint64_t stamps, uint64_t warmup,
		     struct lap_result *out, struct error *err)
{
	int rc = 0;

	out->inflation = NAN;
	if (stamps >= 2 && !(r->post[0] & LAP_LOST))
		out->first_exchange = first_exchange(r, s);
	out->lost = r->lost;
	out->late = r->late;
	if (s->histogram) {
		out->samples = s->histogram->count;
		rc = out->samples ? histogram_summarise(s->histogram, &out->stats) : 0;
		out->worst = take_worst(s->worst);
	} else {
		out->samples = take_samples(r, s, stamps, warmup);
		if (!out->samples)
			return 0;
		out->sample = r->post;
		rc = look_at_samples(out);
	}
	out->backwards = r->backwards;
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
	uint64_t n = 0;

	if (!s->gap.v)
		return;
	for (uint64_t k = warmup; k < warmup + samples; k++) {
		if (r->post[k] & LAP_LOST)
			continue;
		r->seen[n] = lap_difference(r, r->post[k], r->seen[k + ahead]);
		r->gap[n++] = r->gap[k + ahead];
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
	uint64_t kept = stamps < laps_kept_by_server(s) ? stamps : laps_kept_by_server(s);
	struct histogram *early = malloc(sizeof(*early));

	if (!early)
		return -ENOMEM;
	histogram_init(early);
	for (uint64_t k = warmup; kept && k < kept - 1; k++)
		if (!(r->post[k] & LAP_LOST))
			histogram_add(early, lap_difference(r, r->post[k],
							    r->post[k + 1] & ~LAP_LOST));
	histogram_merge(early, s->histogram);
	*s->histogram = *early;
	free(early);
	return 0;
}

/* Laps of [from, to) that were kept, and whose message never came. */
static uint64_t count_missed(const struct lap_run *r, const struct lap_store *s, uint64_t from,
			     uint64_t to)
{
	uint64_t n = 0;

	if (s->histogram && to > laps_kept_by_server(s))
		to = laps_kept_by_server(s);
	for (; from < to; from++)
		n += r->post[from] == LAP_LOST;
	return n;
}

int laps_result_server(struct lap_run *r, struct lap_store *s, uint64_t total, uint64_t warmup,
		       struct lap_result *out, struct error *err)
{
	uint64_t stamps = r->laps < total ? r->laps : total;

	memset(out, 0, sizeof(*out));
	out->inflation = NAN;
	out->warmup = warmup;
	out->warmup_missed = count_missed(r, s, 0, warmup < stamps ? warmup : stamps);
	out->laps = stamps > warmup ? stamps - warmup - count_missed(r, s, warmup, stamps) -
				      r->missed : 0;
	/* Between its answers lies what the client did between its laps; a passive one has none. */
	if (s->paced || !r->laps)
		return 0;
	if (s->histogram && count_kept(r, s, stamps, warmup))
		return error_set(err, EXIT_FAILED, ENOMEM, "histogram");
	take_detail(r, s, warmup, samples_count(stamps, warmup), 1, out);
	return summarise(r, s, stamps, warmup, out, err);
}
