/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "periods.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correlate.h"

#define STANDS_OUT 8.0	 /* deviations of the autocorrelation's noise */
#define WEAKEST	   0.01	 /* autocorrelation that is worth a word */
#define PHASES	   1024	 /* at most, of a folded period */
#define ENOUGH	   16384 /* samples for a median */

/* The series by lap or by time, and its autocorrelation. */
struct layout {
	bool by_lap;
	size_t n;      /* laps or bins */
	double bin;    /* ticks; by lap: 0 */
	double *v, *r; /* v[n], r[lags] */
	size_t lags;
	double noise;	    /* deviation of r where nothing is */
	double lag, height; /* what was found; lag 0: nothing */
};

/* Scratch and input of one search. */
struct search {
	double *excess;
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

/* A disturbance at a time falls into one of two laps: three bins have it for sure. */
static void widen(struct layout *l)
{
	double before = l->r[0];

	l->noise *= l->r[1] > 0.5 ? 3 : 2;
	for (size_t i = 1; i + 1 < l->lags; i++) {
		double now = l->r[i];

		l->r[i] = before + now + l->r[i + 1];
		before = now;
	}
}

/*
 * The first lag at which neighbours are not alike any more, and by its way there the deviation of
 * the noise: of a series without memory it is 1 / sqrt(n).
 */
static size_t end_of_decay(struct layout *l)
{
	double squares = 0.5;
	size_t lag = 1;

	while (lag + 1 < l->lags && l->r[lag] > l->r[lag + 1] && l->r[lag] > 0) {
		squares += l->r[lag] * l->r[lag];
		lag++;
	}
	l->noise = sqrt(2 * squares / (double)l->n);
	return lag;
}

/* Highest value in [from, to], and where. */
static size_t highest(const struct layout *l, size_t from, size_t to)
{
	size_t at = from;

	for (size_t i = from; i <= to && i < l->lags; i++)
		if (l->r[i] > l->r[at])
			at = i;
	return at;
}

/* Peaks at twice and three times the lag, valleys between. */
static bool repeats(const struct layout *l, size_t lag)
{
	double height = l->r[lag];
	size_t near = lag / 16 + 1;

	for (size_t m = 2; m <= 3; m++) {
		size_t valley = (2 * m - 1) * lag / 2;

		if (m * lag + near >= l->lags)
			return m > 2;
		if (l->r[highest(l, m * lag - near, m * lag + near)] < 0.5 * height)
			return false;
		if (l->r[valley] > 0.6 * height)
			return false;
	}
	return true;
}

/* From lag @from on, the smallest one that is nearly as high as the highest. */
static void find_lag(struct layout *l, size_t from)
{
	size_t reach = l->lags;
	double most;

	l->lag = 0;
	if (from >= reach)
		return;
	most = l->r[highest(l, from, reach - 1)];
	if (most < fmax(STANDS_OUT * l->noise, WEAKEST))
		return;
	for (size_t i = from; i < reach; i++) {
		size_t top;

		if (l->r[i] < 0.6 * most)
			continue;
		top = highest(l, i, i + i / 8 + 1);
		if (repeats(l, top)) {
			l->lag = (double)top;
			l->height = l->r[top];
			return;
		}
		i = top;
	}
}

/* Where the top of a peak lies, from its flanks at two thirds of the height. */
static double parabola(const struct layout *l, size_t top)
{
	double a, b = l->r[top], c, bend;
	size_t w = 1;

	while (w < l->lag / 4 && top > w && top + w + 1 < l->lags && l->r[top - w] > b * 2 / 3 &&
	       l->r[top + w] > b * 2 / 3)
		w++;
	if (top < w || top + w >= l->lags)
		return (double)top;
	a = l->r[top - w];
	c = l->r[top + w];
	bend = a - 2 * b + c;
	return (double)top + (bend < 0 ? 0.5 * (double)w * (a - c) / bend : 0);
}

/* From multiple to multiple, each the double of the one before, the lag becomes more exact. */
static void refine(struct layout *l)
{
	double lag = parabola(l, (size_t)l->lag);

	for (double m = 2; m * lag + 2 < (double)l->lags; m *= 2) {
		double near = fmin(fmax(lag / 8, 1), 0.45 * lag), at = m * lag;
		size_t top = highest(l, (size_t)ceil(at - near), (size_t)(at + near));

		if (l->r[top] < 0.4 * l->height)
			break;
		lag = parabola(l, top) / m;
	}
	l->lag = lag;
}

static int look(const struct search *s, struct layout *l)
{
	size_t from, least = l->by_lap ? 2 : 4;
	int rc;

	lay_out(s, l);
	rc = correlate(l->v, s->n, l->r, l->lags);
	if (rc)
		return rc;
	from = end_of_decay(l);
	if (!l->by_lap)
		widen(l);
	find_lag(l, from < least ? least : from);
	if (l->lag > 0)
		refine(l);
	return 0;
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

/* Of every so many where they are many; v is used up. */
static double median_of(double *v, size_t n)
{
	size_t every = n / ENOUGH + 1, kept = 0;

	for (size_t i = 0; i < n; i += every)
		v[kept++] = v[i];
	qsort(v, kept, sizeof(*v), compare);
	return v[kept / 2];
}

/*
 * Samples over @limit in phases that are raised, or beside one, where a few are hit: the median of
 * theirs less that of all others in *amplitude. Means would have in them what else is late.
 */
static size_t take_hits(const struct search *s, const struct layout *l, const struct fold *f,
			double limit, const double *whole, bool remove, double *amplitude)
{
	double t = 0;
	size_t hits = 0, rest = s->n; /* scratch: hits from its start, the others from its end */

	for (size_t i = 0; i < s->n; i++) {
		t += (double)s->length[i];
		if (s->excess[i] < limit || !raised(f, phase_of(l, f, i, t))) {
			s->scratch[--rest] = whole[i];
			continue;
		}
		s->scratch[hits++] = whole[i];
		if (remove)
			s->excess[i] = f->base;
	}
	if (hits && rest < s->n)
		*amplitude =
			median_of(s->scratch, hits) - median_of(s->scratch + rest, s->n - rest);
	return hits;
}

/* @whole: the excess before it was cut. */
static void describe(const struct search *s, const struct layout *l, const double *whole,
		     struct period *out)
{
	struct fold *f = malloc(sizeof(*f));
	double amplitude = 0;
	size_t hits;

	*out = (struct period){ .by_lap = l->by_lap };
	out->laps = l->by_lap ? l->lag : l->lag * l->bin / s->mean;
	out->ticks = l->by_lap ? l->lag * s->mean : l->lag * l->bin;
	if (!f)
		return;
	fold_up(s, l, f);
	take_hits(s, l, f, f->base + (f->top - f->base) / 2, whole, false, &amplitude);
	/* Half of what a sample that is hit has: from there on it is one. */
	hits = take_hits(s, l, f, f->base + fmin(amplitude, s->cut) / 2, whole, true, &amplitude);
	out->amplitude = amplitude;
	out->share = (double)hits / (double)s->n;
	free(f);
}

/* The same period again, or a multiple of it. */
static bool known(const struct period *found, size_t count, double ticks)
{
	for (size_t i = 0; i < count; i++) {
		double ratio =
			ticks > found[i].ticks ? ticks / found[i].ticks : found[i].ticks / ticks;

		if (fabs(ratio - round(ratio)) < 0.02 * ratio)
			return true;
	}
	return false;
}

static int find_all(struct search *s, struct layout l[2], const double *whole, struct period *out,
		    size_t cap, size_t *count)
{
	while (*count < cap) {
		const struct layout *best;
		struct period p;

		for (int i = 0; i < 2; i++) {
			int rc = look(s, &l[i]);

			if (rc)
				return rc;
		}
		/* Three bins are summed by time: one and a half stands for as much by lap. */
		best = l[0].lag > 0 && (!(l[1].lag > 0) || l[0].height > 0.95 * l[1].height)
			       ? &l[0]
			       : &l[1];
		if (!(best->lag > 0))
			return 0;
		describe(s, best, whole, &p);
		if (known(out, *count, p.ticks) || !(p.amplitude > 0))
			return 0;
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
	memcpy(room + 3 * n, excess, n * sizeof(*room));
	for (size_t i = 0; i < n; i++)
		excess[i] = fmax(fmin(excess[i], s.cut), -s.cut);
	for (int i = 0; i < 2; i++) {
		l[i].v = room + n;
		l[i].r = room + 2 * n;
		l[i].n = n;
		l[i].bin = s.mean;
		l[i].lags = n / PERIODS_REPEATS;
	}
	rc = find_all(&s, l, room + 3 * n, out, cap, count);
	free(room);
	return rc;
}
