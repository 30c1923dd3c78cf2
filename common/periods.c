/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "periods.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "periods_lag.h"

#define SAME   1.5   /* at most, of lags by lap and by time: late laps make the mean one longer */
#define LIKELY 0.85  /* of the height by time: enough for one by lap */
#define PHASES 1024  /* at most, of a folded period */
#define ENOUGH 16384 /* samples for a median */

/* Scratch and input of one search. */
struct search {
	double *excess;
	double *whole; /* before it was cut; NAN: taken out with a period that was found */
	const uint64_t *length;
	size_t n;
	double mean;	 /* of length */
	double cut;	 /* of excess */
	double *scratch; /* n */
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void lay_out(const struct search *s, struct layout *l)
{
	double t = 0;

	memset(l->v, 0, s->n * sizeof(*l->v));
	for (size_t i = 0; i < s->n; i++) {
		size_t at = i;

		t += (double)s->length[i];
		if (!l->by_lap)
			at = (size_t)(t / l->bin);
		if (at < s->n)
			l->v[at] += s->excess[i];
	}
}

/* Phase of each sample, and the mean excess of each phase. */
struct fold {
	unsigned int phases;
	double mean[PHASES];
	uint64_t count[PHASES];
	double base, top;
};

static unsigned int phase_of(const struct layout *l, const struct fold *f, size_t lap, double t)
{
	double at = (l->by_lap ? (double)lap : t / l->bin) / l->lag;

	at -= floor(at);
	return (unsigned int)(at * f->phases) % f->phases;
}

static void fold_up(const struct search *s, const struct layout *l, struct fold *f)
{
	double t = 0, sorted[PHASES];

	memset(f, 0, sizeof(*f));
	f->phases = (unsigned int)fmin(fmax(round(l->lag), 2), PHASES);
	for (size_t i = 0; i < s->n; i++) {
		unsigned int p;

		t += (double)s->length[i];
		p = phase_of(l, f, i, t);
		f->mean[p] += s->excess[i];
		f->count[p]++;
	}
	for (unsigned int p = 0; p < f->phases; p++)
		f->mean[p] /= f->count[p] ? (double)f->count[p] : 1;
	memcpy(sorted, f->mean, f->phases * sizeof(*sorted));
	qsort(sorted, f->phases, sizeof(*sorted), compare);
	f->base = sorted[f->phases / 4];
	f->top = sorted[f->phases - 1];
}

static bool raised(const struct fold *f, unsigned int phase)
{
	double least = f->base + 0.3 * (f->top - f->base);

	return f->mean[phase] >= least || f->mean[(phase + 1) % f->phases] >= least ||
	       f->mean[(phase + f->phases - 1) % f->phases] >= least;
}

/* Of every so many where they are many, 0 of none; v is used up. */
static double median_of(double *v, size_t n)
{
	size_t every = n / ENOUGH + 1, kept = 0;

	for (size_t i = 0; i < n; i += every)
		v[kept++] = v[i];
	qsort(v, kept, sizeof(*v), compare);
	return kept ? v[kept / 2] : 0;
}

/* Samples that a period hits, and the others: how many, and what they have at the median. */
struct hits {
	size_t count, others;
	double median, rest;
};

/*
 * Samples over @limit in phases that are raised, or beside one, where a few are hit; of those that
 * no other period has taken out. Medians, since means would have in them what else is late.
 */
static struct hits take_hits(const struct search *s, const struct layout *l, const struct fold *f,
			     double limit, bool remove)
{
	struct hits h = { 0 };
	double t = 0, *others = s->scratch + s->n; /* from its end, the hits from its start */

	for (size_t i = 0; i < s->n; i++) {
		t += (double)s->length[i];
		if (isnan(s->whole[i]))
			continue;
		if (s->excess[i] < limit || !raised(f, phase_of(l, f, i, t))) {
			*--others = s->whole[i];
			h.others++;
			continue;
		}
		s->scratch[h.count++] = s->whole[i];
		if (remove) {
			s->excess[i] = f->base;
			s->whole[i] = NAN;
		}
	}
	h.median = median_of(s->scratch, h.count);
	h.rest = median_of(others, h.others);
	return h;
}

static void describe(const struct search *s, const struct layout *l, struct period *out)
{
	struct fold *f = malloc(sizeof(*f));
	struct hits h;

	*out = (struct period){ .by_lap = l->by_lap };
	out->laps = l->by_lap ? l->lag : l->lag * l->bin / s->mean;
	out->ticks = l->by_lap ? l->lag * s->mean : l->lag * l->bin;
	if (!f)
		return;
	fold_up(s, l, f);
	h = take_hits(s, l, f, f->base + (f->top - f->base) / 2, false);
	/* Half of what a sample that is hit has: from there on it is one. */
	h = take_hits(s, l, f, h.rest + fmin(h.median - h.rest, s->cut) / 2, true);
	if (h.count && h.others) {
		out->amplitude = h.median - h.rest;
		out->share = (double)h.count / (double)(h.count + h.others);
	}
	free(f);
}

/* The same period again, or a multiple of it as far as that can be told. */
static bool known(const struct period *found, size_t count, double ticks)
{
	for (size_t i = 0; i < count; i++) {
		double ratio =
			ticks > found[i].ticks ? ticks / found[i].ticks : found[i].ticks / ticks;

		if (fabs(ratio - round(ratio)) < fmin(0.02 * ratio, 0.2))
			return true;
	}
	return false;
}

/*
 * The one that lasts is taken out first: the other has some of what it hits. When they are the
 * same, what follows the laps takes whole ones.
 */
static const struct layout *first_of(const struct layout l[2])
{
	const struct layout *lap = &l[0], *time = &l[1];
	bool same, whole = fabs(lap->lag - round(lap->lag)) < 0.25;

	if (!(lap->lag > 0) || !(time->lag > 0))
		return lap->lag > 0 ? lap : time->lag > 0 ? time : NULL;
	same = fmax(lap->lag, time->lag) < SAME * fmin(lap->lag, time->lag);
	return lap->height > LIKELY * time->height && (whole || !same) ? lap : time;
}

static int find_all(struct search *s, struct layout l[2], struct period *out, size_t cap,
		    size_t *count)
{
	for (size_t looks = 0; looks <= cap && *count < cap; looks++) {
		const struct layout *best;
		struct period p;

		for (int i = 0; i < 2; i++) {
			int rc;

			lay_out(s, &l[i]);
			rc = layout_find(&l[i]);
			if (rc)
				return rc;
		}
		best = first_of(l);
		if (!best)
			return 0;
		describe(s, best, &p);
		if (!known(out, *count, p.ticks) && p.amplitude > 0)
			out[(*count)++] = p;
	}
	return 0;
}

int periods_find(double *excess, const uint64_t *length, size_t n, double deviation,
		 struct period *out, size_t cap, size_t *count)
{
	struct search s = { .excess = excess, .length = length, .n = n };
	struct layout l[2] = { { .by_lap = true }, { .by_lap = false } };
	double sum = 0, *room;
	int rc;

	*count = 0;
	for (size_t i = 0; i < n; i++)
		sum += (double)length[i];
	if (n < PERIODS_LEAST || n > PERIODS_LAPS || !(sum > 0))
		return 0;
	room = malloc(4 * n * sizeof(*room));
	if (!room)
		return -ENOMEM;
	s.mean = sum / (double)n;
	s.scratch = room;
	s.cut = PERIODS_CUT * fmax(deviation, s.mean / 1000);
	s.whole = room + 3 * n;
	memcpy(s.whole, excess, n * sizeof(*excess));
	for (size_t i = 0; i < n; i++)
		excess[i] = fmax(fmin(excess[i], s.cut), -s.cut);
	for (int i = 0; i < 2; i++) {
		l[i].v = room + n;
		l[i].r = room + 2 * n;
		l[i].n = n;
		l[i].bin = s.mean;
		l[i].lags = n / PERIODS_REPEATS;
	}
	rc = find_all(&s, l, out, cap, count);
	free(room);
	return rc;
}
