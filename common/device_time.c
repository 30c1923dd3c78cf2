/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "device_time.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "histogram.h"

/*
 * Laps that get one line: few enough that no clock's rate changes meanwhile by what one would see,
 * and at least so many that one of them was quick.
 */
#define BLOCK 65536
#define LEAST 64

struct point {
	double x, y; /* device and host, from the first of them */
};

/* Is b on or above the line from a to c? */
static bool above(const struct point *a, const struct point *b, const struct point *c)
{
	return (b->y - a->y) * (c->x - a->x) >= (c->y - a->y) * (b->x - a->x);
}

/* The lower convex hull, from left to right, and the mean of all x: points of it. */
static size_t lower_hull(const uint64_t *device, const uint64_t *host, size_t n, struct point *hull,
			 double *mean)
{
	size_t m = 0;

	*mean = 0;
	for (size_t i = 0; i < n; i++) {
		struct point p = { (double)(device[i] - device[0]),
				   (double)(int64_t)(host[i] - host[0]) };

		*mean += p.x / (double)n;
		if (m && hull[m - 1].x == p.x && hull[m - 1].y <= p.y)
			continue;
		while (m && (hull[m - 1].x == p.x ||
			     (m > 1 && above(&hull[m - 2], &hull[m - 1], &p))))
			m--;
		hull[m++] = p;
	}
	return m;
}

/*
 * Of the lines below all points the sum of distances is least for the one through the edge of the
 * hull over the mean of x.
 */
int device_line_fit(const uint64_t *device, const uint64_t *host, size_t n, struct device_line *out)
{
	struct point *hull = malloc((n + 1) * sizeof(*hull));
	double mean;
	size_t m, e = 1;

	if (!hull)
		return -ENOMEM;
	m = lower_hull(device, host, n, hull, &mean);
	while (e + 1 < m && hull[e].x < mean)
		e++;
	if (m >= 2) {
		out->slope = (hull[e].y - hull[e - 1].y) / (hull[e].x - hull[e - 1].x);
		out->base = hull[e].y - out->slope * hull[e].x;
		out->device0 = device[0];
		out->host0 = host[0];
	}
	free(hull);
	return m >= 2 && out->slope > 0 ? 0 : -EINVAL;
}

double device_line_late(const struct device_line *l, uint64_t device, uint64_t host)
{
	double y = (double)(int64_t)(host - l->host0);

	return fmax(y - l->base - l->slope * (double)(int64_t)(device - l->device0), 0);
}

/* A pass over a series. */
struct pass {
	struct device_time *t;
	const uint64_t *sample; /* the next one that is asked for */
	size_t left;
	double *after;
	struct histogram late, next; /* next: from completion to the next post */
	double device_units, host_units;
	uint64_t device[BLOCK], seen[BLOCK], post[BLOCK];
};

/* Laps [from, to) of those in memory, whose clock went forward; the first is sample @first. */
static int take_stretch(struct pass *p, size_t from, size_t to, uint64_t first)
{
	struct device_line l;
	double span = (double)(p->device[to - 1] - p->device[from]);
	int rc = -EINVAL;

	if (to - from >= LEAST)
		rc = device_line_fit(p->device + from, p->seen + from, to - from, &l);
	if (rc == -EINVAL)
		p->t->out += to - from;
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	p->device_units += span;
	p->host_units += span * l.slope;
	for (size_t i = from; i < to; i++) {
		double late = device_line_late(&l, p->device[i], p->seen[i]);
		double turn = p->post[i] > p->seen[i] ? (double)(p->post[i] - p->seen[i]) : 0;

		histogram_add(&p->late, (uint64_t)llround(late));
		histogram_add(&p->next, (uint64_t)llround(late + turn));
		if (p->left && *p->sample == first + i) {
			*p->after++ = late + turn;
			p->sample++;
			p->left--;
		}
	}
	return 0;
}

/* Those asked for that were not among the laps taken. */
static void skip_asked(struct pass *p, uint64_t end)
{
	for (; p->left && *p->sample < end; p->left--, p->sample++)
		*p->after++ = NAN;
}

static int take_block(struct pass *p, size_t n, uint64_t first)
{
	int rc = 0;

	for (size_t from = 0, to; from < n && !rc; from = to) {
		for (to = from + 1; to < n && p->device[to] >= p->device[to - 1];)
			to++;
		rc = take_stretch(p, from, to, first);
		skip_asked(p, first + to);
	}
	return rc;
}

/*
 * A client's sample k ends with the post behind the completion of lap k, a server's with the answer
 * to lap k + 1: both at stamp k + 1.
 */
static int read_block(struct pass *p, const struct series *s, uint64_t k, size_t n,
		      struct error *err)
{
	uint64_t stamp = s->warmup + k + 1, lap = s->server ? stamp : stamp - 1;

	if (dump_read(s->dump, s->stamps, DUMP_DEVICE, lap, n, p->device, err) ||
	    dump_read(s->dump, s->stamps, DUMP_SEEN, lap, n, p->seen, err))
		return -1;
	return dump_read(s->dump, s->stamps, DUMP_POST, stamp, n, p->post, err);
}

static int all_blocks(struct pass *p, const struct series *s, struct error *err)
{
	uint64_t blocks = (s->n + BLOCK - 1) / BLOCK;

	for (uint64_t b = 0; b < blocks; b++) {
		uint64_t at = b * (s->n / blocks) + b * (s->n % blocks) / blocks;
		uint64_t end = (b + 1) * (s->n / blocks) + (b + 1) * (s->n % blocks) / blocks;

		if (read_block(p, s, at, (size_t)(end - at), err))
			return -1;
		if (take_block(p, (size_t)(end - at), at))
			return error_set(err, EXIT_FAILED, ENOMEM, "%s", s->file);
	}
	return 0;
}

static bool has_device(const struct series *s)
{
	const struct dump_series *d = s->stamps;

	return s->dump && s->detail && s->n && d->count[DUMP_DEVICE] == d->laps &&
	       d->count[DUMP_POST] <= d->laps + !s->server;
}

static void finish(struct pass *p, const struct series *s)
{
	struct stats next;

	p->t->laps = p->late.count;
	if (histogram_summarise(&p->late, &p->t->late) || histogram_summarise(&p->next, &next))
		return;
	p->t->after = next.median;
	p->t->hz = s->hz * p->device_units / p->host_units;
}

int device_time_run(struct device_time *t, const struct series *s, const uint64_t *sample, size_t n,
		    double *after, struct error *err)
{
	struct pass *p;
	int rc;

	*t = (struct device_time){ .hz = NAN, .after = NAN };
	for (size_t i = 0; i < n; i++)
		after[i] = NAN;
	if (!has_device(s))
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return error_set(err, EXIT_FAILED, ENOMEM, "%s", s->file);
	p->t = t;
	p->sample = sample;
	p->left = n;
	p->after = after;
	histogram_init(&p->late);
	histogram_init(&p->next);
	rc = all_blocks(p, s, err);
	if (!rc)
		finish(p, s);
	free(p);
	return rc;
}
