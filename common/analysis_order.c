/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What depends on the order of the samples. They are read three times, in chunks, so that a dump
 * of any length is gone through in constant memory: a bit and an eighth of a block a sample.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"

#define CHUNK	     65536
#define STARTUP_LAPS (1u << 20) /* a start-up is looked for in so many laps */
#define PIECES	     64		/* that a sample of the run consists of */

/* Buffers of the passes. */
struct pass {
	struct analysis *a;
	uint64_t block, chunk; /* samples; a chunk is whole blocks */
	uint64_t *v, *scratch; /* chunk + 1, 2 * block */
	uint64_t *bits;	       /* samples <= median, or NULL: the interval is known */
	double *medians;       /* of blocks */
	size_t blocks;
};

static int no_memory(const struct analysis *a, struct error *err)
{
	return error_set(err, EXIT_FAILED, ENOMEM, "%llu samples of %s",
			 (unsigned long long)a->s->n, a->s->file);
}

double analysis_level(const struct analysis *a, uint64_t k)
{
	size_t i = 0;

	while (i < a->changes && a->change[i].lap <= k)
		i++;
	if (!a->changes)
		return a->stats.median;
	return i ? a->change[i - 1].after : a->change[0].before;
}

static int pass_open(struct pass *p, struct analysis *a)
{
	uint64_t n = a->s->n;

	*p = (struct pass){ .a = a, .block = changes_block(n) };
	p->chunk = p->block * (CHUNK / p->block + 1);
	p->v = malloc((size_t)(p->chunk + 1) * sizeof(*p->v));
	p->scratch = malloc((size_t)(2 * p->block) * sizeof(*p->scratch));
	p->medians = malloc((size_t)(n / p->block + 1) * sizeof(*p->medians));
	if (!a->exact)
		p->bits = calloc(interval_words(n), sizeof(*p->bits));
	return p->v && p->scratch && p->medians && (a->exact || p->bits) ? 0 : -ENOMEM;
}

static void pass_close(struct pass *p)
{
	free(p->v);
	free(p->scratch);
	free(p->bits);
	free(p->medians);
}

/* Cell of the strip that a sample falls into. */
static unsigned int cell_of(const struct analysis *a, uint64_t k)
{
	return (unsigned int)((double)k / (double)a->s->n * a->cells);
}

static void strip_add(struct analysis *a, uint64_t at, const uint64_t *v, size_t n)
{
	bool rough = a->s->n > 1000000; /* a cell's edge within 64 samples */

	for (size_t i = 0; i < n;) {
		unsigned int cell = cell_of(a, at + i);
		uint64_t most = v[i];

		for (i++; i < n && ((rough && i % 64) || cell_of(a, at + i) == cell); i++)
			most = v[i] > most ? v[i] : most;
		a->strip[cell].max = fmax(a->strip[cell].max, (double)most);
	}
}

/* Blocks, bits and the strip's maxima. */
static int first_pass(struct pass *p, struct error *err)
{
	struct analysis *a = p->a;

	for (uint64_t at = 0; at < a->s->n;) {
		size_t n = a->s->n - at < p->chunk ? (size_t)(a->s->n - at) : (size_t)p->chunk;

		if (series_read(a->s, at, n, p->v, &a->backwards, err))
			return -1;
		if (p->bits)
			interval_mark(p->bits, at, p->v, n, (uint64_t)a->stats.median);
		p->blocks += changes_medians(p->v, n, p->block, p->scratch, p->medians + p->blocks);
		strip_add(a, at, p->v, n);
		at += n;
	}
	return 0;
}

static int compare(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* The median of each cell's blocks. */
static int strip_medians(struct pass *p)
{
	struct analysis *a = p->a;
	double *room = malloc((p->blocks + 1) * sizeof(*room));

	if (!room)
		return -ENOMEM;
	for (unsigned int c = 0; c < a->cells; c++) {
		size_t from = c * p->blocks / a->cells, to = (c + 1) * p->blocks / a->cells;
		size_t n = to > from ? to - from : 0;

		memcpy(room, p->medians + from, n * sizeof(*room));
		qsort(room, n, sizeof(*room), compare);
		a->strip[c].median = n ? room[n / 2] : a->stats.median;
	}
	free(room);
	return 0;
}

/* The interval of a series that was too long to sort. */
static int long_interval(struct pass *p)
{
	struct analysis *a = p->a;
	struct interval *in = &a->interval;
	double lo, hi;

	if (interval_inflation(p->bits, a->s->n, &in->inflation))
		return -ENOMEM;
	in->effective = (double)a->s->n / in->inflation;
	in->lo = in->hi = NAN;
	if (interval_ranks(a->s->n, in->inflation, ANALYSIS_LEVEL, &lo, &hi))
		return 0;
	in->lo = (double)a->thin[(size_t)(lo / (double)a->s->n * (double)a->thin_n)];
	in->hi = (double)a->thin[(size_t)fmin(hi / (double)a->s->n * (double)a->thin_n,
					      (double)a->thin_n - 1)];
	return 0;
}

/* At most ANALYSIS_THIN samples from all over [from, n), in pieces; their number, or -1. */
static int64_t read_pieces(struct analysis *a, uint64_t from, uint64_t *v, uint64_t *at,
			   struct error *err)
{
	uint64_t n = a->s->n - from, unused = 0, piece = ANALYSIS_THIN / PIECES;
	int64_t got = 0;

	if (n <= ANALYSIS_THIN)
		piece = n;
	for (uint64_t i = 0; i < (piece == n ? 1 : PIECES); i++) {
		uint64_t first =
			from +
			(piece == n ? 0
				    : (uint64_t)((double)(n - piece) * (double)i / (PIECES - 1)));

		if (series_read(a->s, first, (size_t)piece, v + got, &unused, err))
			return -1;
		for (uint64_t k = 0; at && k < piece; k++)
			at[(uint64_t)got + k] = first + k;
		got += (int64_t)piece;
	}
	return got;
}

static int find_startup(struct analysis *a, struct error *err)
{
	uint64_t n = a->s->n < STARTUP_LAPS ? a->s->n : STARTUP_LAPS, unused = 0;
	uint64_t *v = malloc((size_t)(n + 1 + 2 * (ANALYSIS_THIN + 1)) * sizeof(*v));
	uint64_t *steady = v + n + 1;
	int64_t m;
	int rc = -1;

	if (!v)
		return no_memory(a, err);
	m = read_pieces(a, a->s->n / 2, steady, NULL, err);
	if (m >= 0 && !series_read(a->s, 0, (size_t)n, v, &unused, err)) {
		sort_u64(steady, (size_t)m, steady + ANALYSIS_THIN + 1);
		rc = startup_find(v, (size_t)n, a->s->n, steady, (size_t)m, &a->startup);
		rc = rc ? no_memory(a, err) : 0;
	}
	free(v);
	return rc;
}

/* From blocks to laps: three blocks around each change. */
static int refine_changes(struct pass *p, struct error *err)
{
	struct analysis *a = p->a;

	for (size_t i = 0; i < a->changes; i++) {
		struct change *c = &a->change[i];
		uint64_t reach = 3 * p->block, from = c->lap > reach ? c->lap - reach : 0,
			 unused = 0;
		uint64_t n = a->s->n - from < 2 * reach ? a->s->n - from : 2 * reach;
		uint64_t *v = malloc((size_t)(n + 1) * sizeof(*v));

		if (!v)
			return no_memory(a, err);
		if (series_read(a->s, from, (size_t)n, v, &unused, err)) {
			free(v);
			return -1;
		}
		c->lap = from + changes_refine(v, (size_t)n, c->before, c->after);
		free(v);
	}
	return 0;
}

/* Behind the start-up, which is no change of its own. */
static int find_changes(struct pass *p, struct error *err)
{
	struct analysis *a = p->a;
	size_t skip = (size_t)((a->startup.laps + p->block - 1) / p->block);

	if (skip > p->blocks)
		return 0;
	if (changes_find(p->medians + skip, p->blocks - skip, p->block, a->change, ANALYSIS_CHANGES,
			 &a->changes))
		return no_memory(a, err);
	for (size_t i = 0; i < a->changes; i++)
		a->change[i].lap += skip * p->block;
	return refine_changes(p, err);
}

/* Median deviation from the level, which a run with a step has two of. */
static int find_deviation(struct analysis *a, struct error *err)
{
	uint64_t *v = malloc(3 * (ANALYSIS_THIN + 1) * sizeof(*v)), *at = v + ANALYSIS_THIN + 1;
	int64_t n;

	if (!v)
		return no_memory(a, err);
	n = read_pieces(a, a->startup.laps, v, at, err);
	for (int64_t i = 0; i < n; i++)
		v[i] = (uint64_t)fabs((double)v[i] - analysis_level(a, at[i]));
	if (n > 0) {
		sort_u64(v, (size_t)n, at);
		a->deviation = (double)v[n / 2];
	}
	free(v);
	return n < 0 ? -1 : 0;
}

/* By time only where laps are back to back; else every lap counts as long as any other. */
static int find_periods(struct analysis *a, struct error *err)
{
	uint64_t first = a->startup.laps, rest = a->s->n - first, unused = 0;
	size_t n = rest < PERIODS_LAPS ? (size_t)rest : PERIODS_LAPS;
	uint64_t *v = malloc((n + 1) * sizeof(*v));
	double *excess = malloc((n + 1) * sizeof(*excess));
	int rc = 0;

	if (!v || !excess)
		rc = no_memory(a, err);
	else if (series_read(a->s, first, n, v, &unused, err))
		rc = -1;
	for (size_t i = 0; !rc && i < n; i++) {
		excess[i] = (double)v[i] - analysis_level(a, first + i);
		v[i] = a->s->paced ? 1 : v[i];
	}
	if (!rc &&
	    periods_find(excess, v, n, a->deviation, a->period, ANALYSIS_PERIODS, &a->periods))
		rc = no_memory(a, err);
	free(v);
	free(excess);
	return rc;
}

/* Samples far over the level of their part of the run, behind the start-up. */
static int find_hiccups(struct pass *p, double k, struct error *err)
{
	struct analysis *a = p->a;
	size_t part = 0;

	if (hiccups_open(&a->hiccups, 0, ANALYSIS_HICCUPS))
		return no_memory(a, err);
	for (uint64_t at = a->startup.laps; at < a->s->n;) {
		uint64_t end, unused = 0;
		size_t n;

		while (part < a->changes && a->change[part].lap <= at)
			part++;
		end = part < a->changes ? a->change[part].lap : a->s->n;
		n = end - at < p->chunk ? (size_t)(end - at) : (size_t)p->chunk;
		a->hiccups.limit = hiccups_limit(analysis_level(a, at), a->deviation, k);
		if (series_read(a->s, at, n, p->v, &unused, err))
			return -1;
		hiccups_add(&a->hiccups, at, p->v, n);
		at += n;
	}
	hiccups_sort(&a->hiccups);
	return 0;
}

int analysis_order(struct analysis *a, double k, struct error *err)
{
	struct pass p;
	int rc = -1;

	if (pass_open(&p, a)) {
		pass_close(&p);
		return no_memory(a, err);
	}
	a->cells = a->s->n / p.block < ANALYSIS_STRIP ? (unsigned int)(a->s->n / p.block)
						      : ANALYSIS_STRIP;
	a->cells += !a->cells;
	if (first_pass(&p, err))
		goto out;
	if (strip_medians(&p) || (p.bits && long_interval(&p))) {
		no_memory(a, err);
		goto out;
	}
	if (find_startup(a, err) || find_changes(&p, err) || find_deviation(a, err) ||
	    find_periods(a, err) || find_hiccups(&p, k, err))
		goto out;
	rc = 0;
out:
	pass_close(&p);
	return rc;
}
