/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --runs and --confidence: whole runs of a size, from the barrier to the results, until their
 * medians (of bandwidth: their averages) agree. The client decides, and tells its servers.
 */
#include "bench_peers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* What the runs of a size are compared by: counter units of the median, or bytes a second. */
static double figure(const struct bench *b)
{
	const struct lap_result *last = b->result_count ? &b->results[b->result_count - 1] : NULL;

	if (b->program->bandwidth)
		return bench_stream_rate(b);
	return last && last->samples ? last->stats.median : NAN;
}

/* Half width of the interval inside the last run, percent; NAN: unknown. */
static double within(const struct bench *b)
{
	const struct stats *s;

	if (b->program->bandwidth || !b->result_count)
		return NAN;
	s = &b->results[b->result_count - 1].stats;
	return 50 * (s->ci95_hi - s->ci95_lo) / s->median;
}

static void warn_of(struct bench *b, const struct report_runs *s)
{
	const char *of = b->program->bandwidth ? "mean bandwidth" : "median";

	/* One run, since a signal ended it, has no interval. */
	if (s->reached || s->of.n < 2)
		return;
	error_warn(b->err, "%llu bytes: after %u runs the interval of the %s is +/- %.2f %%, wanted was "
		   "+/- %.2f %%; the runs lie from %+.1f %% to %+.1f %% of their mean%s",
		   (unsigned long long)s->size, s->of.n, of, s->of.half_percent,
		   b->set.confidence.width / 2, 100 * (s->of.least / s->of.mean - 1),
		   100 * (s->of.most / s->of.mean - 1),
		   s->within_percent < s->of.half_percent ?
			   ", and laps within a run agree better: what differs is the runs (CPU, "
			   "caches, path)" : "");
}

void bench_warn_of_runs(struct bench *b)
{
	for (unsigned int i = 0; i < b->summary_count && !b->server; i++)
		warn_of(b, &b->summaries[i]);
}

/* Another run? Keeps what is known so far in the last summary. */
static bool go_on(struct bench *b, struct report_runs *s, const double *v, unsigned int n)
{
	const struct option_runs *runs = &b->set.runs;

	confidence_of(v, n, b->set.confidence.level / 100, &s->of);
	s->within_percent = fmax(s->within_percent, within(b));
	s->reached = 2 * s->of.half_percent <= b->set.confidence.width && n >= runs->least;
	return !s->reached && n < runs->most && isfinite(v[n - 1]) && !b->interrupted;
}

static int tell(struct bench *b, void *again)
{
	json_t *m = control_message("more");

	json_object_set_new(m, "again", json_boolean(*(bool *)again));
	return control_send(&b->control, m, deadline_in(STAGE_NS), b->err);
}

static int be_told(struct bench *b, bool *again)
{
	json_t *m = control_recv(&b->control, "more", bench_stage(b, "results"), b->err);

	*again = json_is_true(json_object_get(m, "again"));
	json_decref(m);
	return m ? 0 : -1;
}

int bench_run_size(struct bench *b, uint64_t size)
{
	unsigned int most = b->set.runs.most ? (unsigned int)b->set.runs.most : 1;
	struct report_runs *s = &b->summaries[b->summary_count];
	double *v = calloc(most, sizeof(*v));
	bool again = v != NULL;
	int rc = v ? 0 : error_set(b->err, EXIT_FAILED, ENOMEM, "%u runs", most);

	*s = (struct report_runs){ .size = size, .within_percent = NAN };
	for (b->run = 1; again && !rc; b->run++) {
		again = false;
		rc = bench_run_once(b, size);
		if (rc || most == 1)
			continue;
		v[b->run - 1] = figure(b);
		/* Every server keeps its own summary; only the client's decides. */
		again = go_on(b, s, v, b->run);
		rc = b->server ? be_told(b, &again) : bench_each_peer(b, tell, &again);
	}
	free(v);
	if (rc || most == 1)
		return rc;
	b->summary_count++;
	return 0;
}
