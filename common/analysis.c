/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The distribution of a series: sorted where it fits, else counted in a histogram. */
#include "analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 65536

static int no_memory(const struct analysis *a, struct error *err)
{
	return error_set(err, EXIT_FAILED, ENOMEM, "%llu samples of %s",
			 (unsigned long long)a->s->n, a->s->file);
}

/* Every so many of sorted samples, from the middle of each stretch. */
static void thin_sorted(struct analysis *a, const uint64_t *sorted, size_t n)
{
	a->thin_n = n < ANALYSIS_THIN ? n : ANALYSIS_THIN;
	for (size_t i = 0; i < a->thin_n; i++)
		a->thin[i] = sorted[(size_t)(((double)i + 0.5) * (double)n / (double)a->thin_n)];
}

/* The same from buckets, evenly spread in each. */
static void thin_histogram(struct analysis *a)
{
	const struct histogram *h = a->histogram;
	double step = (double)h->count / ANALYSIS_THIN, next = step / 2, seen = 0;

	a->thin_n = 0;
	for (unsigned int b = 0; b < HISTOGRAM_BUCKETS && a->thin_n < ANALYSIS_THIN; b++) {
		double count = (double)h->bucket[b];
		double low = fmax((double)histogram_low(b), (double)h->min);
		double high = fmin((double)histogram_high(b), (double)h->max);

		for (; count > 0 && next < seen + count && a->thin_n < ANALYSIS_THIN; next += step)
			a->thin[a->thin_n++] =
				(uint64_t)(low + (high - low) * (next - seen) / count);
		seen += count;
	}
}

static int by_sorting(struct analysis *a, struct error *err)
{
	size_t n = (size_t)a->s->n;
	uint64_t *v = malloc((3 * n + 1) * sizeof(*v)), *sorted = v + n + 1, unused = 0;
	int rc = 0;

	if (!v)
		return no_memory(a, err);
	if (series_read(a->s, 0, n, v, &unused, err)) {
		free(v);
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		histogram_add(a->histogram, v[i]);
	stats_summarise_into(v, n, sorted, sorted + n, &a->stats);
	a->exact = true;
	thin_sorted(a, sorted, n);
	if (!a->s->sorted)
		rc = interval_median(v, sorted, n, ANALYSIS_LEVEL, &a->interval);
	else
		a->interval = (struct interval){ a->stats.ci95_lo, a->stats.ci95_hi, NAN, NAN };
	free(v);
	return rc == -ENOMEM ? no_memory(a, err) : 0;
}

static int by_counting(struct analysis *a, struct error *err)
{
	uint64_t *v = malloc((CHUNK + 1) * sizeof(*v)), unused = 0;

	if (!v)
		return no_memory(a, err);
	for (uint64_t at = 0; at < a->s->n;) {
		size_t n = a->s->n - at < CHUNK ? (size_t)(a->s->n - at) : CHUNK;

		if (series_read(a->s, at, n, v, &unused, err)) {
			free(v);
			return -1;
		}
		for (size_t i = 0; i < n; i++)
			histogram_add(a->histogram, v[i]);
		at += n;
	}
	free(v);
	histogram_summarise(a->histogram, &a->stats);
	thin_histogram(a);
	a->interval = (struct interval){ a->stats.ci95_lo, a->stats.ci95_hi, NAN, NAN };
	return 0;
}

int analysis_run(struct analysis *a, const struct series *s, double k, struct error *err)
{
	*a = (struct analysis){ .s = s, .hiccup_level = k };
	if (!s->n)
		return 0;
	a->histogram = malloc(sizeof(*a->histogram));
	a->thin = malloc(ANALYSIS_THIN * sizeof(*a->thin));
	if (!a->histogram || !a->thin)
		return no_memory(a, err);
	histogram_init(a->histogram);
	if (s->n <= ANALYSIS_EXACT ? by_sorting(a, err) : by_counting(a, err))
		return -1;
	if (modes_find(a->thin, a->thin_n, &a->modes))
		return no_memory(a, err);
	return s->sorted ? 0 : analysis_order(a, k, err);
}

void analysis_close(struct analysis *a)
{
	free(a->histogram);
	free(a->thin);
	hiccups_close(&a->hiccups);
	*a = (struct analysis){ .s = NULL };
}

/* One clock is not known: laps of both ends take the same time. */
static int ticks_by_laps(struct hiccup_ends *e)
{
	if (isfinite(e->client.tick) && isfinite(e->server.tick))
		return 0;
	e->client.tick = e->server.tick = 1;
	if (hiccups_typical(e))
		return -ENOMEM;
	if (e->lap[0] > 0 && e->lap[1] > 0)
		e->server.tick = e->lap[0] / e->lap[1];
	return 0;
}

/* What both threads' CPUs have to say of a hiccup. */
static void look_at_cpus(struct analysis *a, const struct series *partner, struct hiccup *h)
{
	uint64_t lap = series_lap(a->s, h->lap);
	bool own = a->s->server;

	a->cpus = series_cpu(a->s, lap, &h->switched[own], &h->moved[own]);
	if (partner)
		a->cpus &= series_cpu(partner, lap, &h->switched[!own], &h->moved[!own]);
}

/* Half of the excess lies before the device's completion, or behind it. */
static void set_side(struct analysis *a, struct hiccup *h, double after)
{
	double excess = (double)h->value - analysis_level(a, h->lap);

	if (isnan(after))
		return;
	h->side = after - a->device.after >= excess / 2 ? HICCUP_AFTER_DEVICE : HICCUP_BEFORE_DEVICE;
}

static int look_at_device(struct analysis *a, struct error *err)
{
	size_t n = a->hiccups.n;
	uint64_t *sample = calloc(n + 1, sizeof(*sample));
	double *after = calloc(n + 1, sizeof(*after));
	int rc = sample && after ? 0 : no_memory(a, err);

	for (size_t i = 0; i < n && !rc; i++)
		sample[i] = a->hiccups.kept[i].lap;
	if (!rc)
		rc = device_time_run(&a->device, a->s, sample, n, after, err);
	for (size_t i = 0; i < n && !rc; i++)
		set_side(a, &a->hiccups.kept[i], after[i]);
	free(sample);
	free(after);
	return rc;
}

int analysis_place(struct analysis *a, const struct series *partner, struct error *err)
{
	struct hiccup_ends e = { .client = { 0 } };
	struct series_window own, other;
	const struct series *s = a->s;

	if (look_at_device(a, err))
		return -1;
	if (!s->known || !s->ours || s->paced || s->missing || !a->hiccups.n)
		return 0;
	series_end(s, &own, s->server ? &e.server : &e.client);
	if (partner)
		series_end(partner, &other, s->server ? &e.client : &e.server);
	if (!partner)
		*(s->server ? &e.client.tick : &e.server.tick) = 1;
	if (ticks_by_laps(&e) || hiccups_typical(&e))
		return no_memory(a, err);
	for (size_t i = 0; i < a->hiccups.n; i++) {
		struct hiccup *h = &a->hiccups.kept[i];

		h->where = hiccups_place(&e, s->server, series_lap(s, h->lap));
		look_at_cpus(a, partner, h);
	}
	return 0;
}
