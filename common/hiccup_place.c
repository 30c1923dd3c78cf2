/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* On which way a hiccup happened: doc/dump.md, "Which way a hiccup happened". */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "hiccups.h"

#define PROBES 4096 /* laps that say what is typical */
#define MOST   0.5  /* of the excess: this is where it lies */
#define MUCH   0.4  /* of the excess: it lies here too */
#define CHAIN  256  /* laps with a hiccup in a row that are told apart */

enum { CLIENT, SERVER };

static bool part(const struct hiccup_end *e, uint64_t k, struct lap_parts *out)
{
	return k < e->n && e->at(e->arg, k, out);
}

/* Seconds; NAN where that lap is not known. */
static double lap_of(const struct hiccup_end *e, uint64_t k)
{
	struct lap_parts p;

	return part(e, k, &p) ? (double)p.lap * e->tick : NAN;
}

static double wait_of(const struct hiccup_end *e, uint64_t k)
{
	struct lap_parts p;

	return part(e, k, &p) ? (double)p.wait * e->tick : NAN;
}

static double gap_of(const struct hiccup_end *e, uint64_t k)
{
	struct lap_parts p;

	return part(e, k, &p) ? (double)p.gap * e->tick : NAN;
}

/* From seen to the next post. */
static double turn_of(const struct hiccup_end *e, uint64_t k)
{
	return lap_of(e, k) - wait_of(e, k);
}

/* The server's turn of lap k ends its sample k - 1; that of the first lap is taken as typical. */
static double server_turn(const struct hiccup_ends *e, uint64_t k)
{
	return k ? turn_of(&e->server, k - 1) : e->turn[SERVER];
}

/* out(k) + back(k) */
static double round_of(const struct hiccup_ends *e, uint64_t k)
{
	return wait_of(&e->client, k) - server_turn(e, k);
}

/* back(k - 1) + out(k) */
static double cross_of(const struct hiccup_ends *e, uint64_t k)
{
	return k ? wait_of(&e->server, k - 1) - turn_of(&e->client, k - 1) : NAN;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of what is a number; 0 when nothing is. */
static double middle(double *v, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(v[i]))
			v[known++] = v[i];
	qsort(v, known, sizeof(*v), compare);
	return known ? v[known / 2] : 0;
}

enum figure {
	LAP_CLIENT,
	LAP_SERVER,
	TURN_CLIENT,
	TURN_SERVER,
	GAP_CLIENT,
	GAP_SERVER,
	ROUND,
	CROSS
};

static double figure_of(const struct hiccup_ends *e, enum figure f, uint64_t k)
{
	switch (f) {
	case LAP_CLIENT:
		return lap_of(&e->client, k);
	case LAP_SERVER:
		return lap_of(&e->server, k);
	case TURN_CLIENT:
		return turn_of(&e->client, k);
	case TURN_SERVER:
		return turn_of(&e->server, k);
	case GAP_CLIENT:
		return gap_of(&e->client, k);
	case GAP_SERVER:
		return gap_of(&e->server, k);
	case ROUND:
		return round_of(e, k);
	default:
		return cross_of(e, k);
	}
}

int hiccups_typical(struct hiccup_ends *e)
{
	double *to[] = { &e->lap[CLIENT], &e->lap[SERVER], &e->turn[CLIENT], &e->turn[SERVER],
			 &e->gap[CLIENT], &e->gap[SERVER], &e->round,	     &e->cross };
	uint64_t n = e->client.n > e->server.n ? e->client.n : e->server.n;
	uint64_t count = n < PROBES ? n : PROBES;
	double *v = malloc((CROSS + 1) * PROBES * sizeof(*v));

	if (!v)
		return -ENOMEM;
	/* The turn of the first lap is taken as typical: it is not among them. */
	for (uint64_t i = 0; i < count; i++) {
		uint64_t k = (uint64_t)((double)i / (double)count * (double)n);

		for (enum figure f = LAP_CLIENT; f <= CROSS; f++)
			v[f * PROBES + i] = figure_of(e, f, k + (k == 0 && f == ROUND));
	}
	for (enum figure f = LAP_CLIENT; f <= CROSS; f++)
		*to[f] = middle(v + f * PROBES, count);
	free(v);
	return 0;
}

/* What is known of it beyond the typical; 0 where nothing is. */
static double excess(double v, double typical)
{
	return isnan(v) ? 0 : fmax(v - typical, 0);
}

static double lap_excess(const struct hiccup_ends *e, bool server, uint64_t k)
{
	return excess(lap_of(server ? &e->server : &e->client, k), e->lap[server]);
}

/* Excess of out(k) + back(k); with one stamp the CPUs are in it. */
static double same_lap(const struct hiccup_ends *e, bool detail, uint64_t k)
{
	return detail ? excess(round_of(e, k), e->round) : lap_excess(e, false, k);
}

/* Excess of back(k) + out(k + 1), likewise. */
static double next_lap(const struct hiccup_ends *e, bool detail, uint64_t k)
{
	return detail ? excess(cross_of(e, k + 1), e->cross) : lap_excess(e, true, k);
}

/*
 * The ways of lap k out of the two sums that each is in: from the last lap before without an
 * excess on, what one sum has tells what is left for the other.
 */
static void solve_chain(const struct hiccup_ends *e, bool detail, uint64_t k, double total,
			double *out, double *back)
{
	uint64_t first = k;

	while (first && k - first < CHAIN && same_lap(e, detail, first - 1) >= MUCH / 2 * total)
		first--;
	if (first)
		*out = next_lap(e, detail, first - 1);
	else /* the way out of the first lap is in one sum only */
		*out = fmax(same_lap(e, detail, 0) - next_lap(e, detail, 0), 0);
	for (uint64_t i = first;; i++) {
		double lap = same_lap(e, detail, i), next = next_lap(e, detail, i);

		*out = fmin(*out, lap);
		*back = lap - *out;
		if (i == k)
			break;
		*out = fmax(next - *back, 0);
	}
	/* What the other end saw nothing of is no delay of the lap. */
	if (k < e->server.n)
		*back = fmin(*back, next_lap(e, detail, k));
}

/* A gap between two polls beyond the usual one; @server's sample k has that of lap k + 1. */
static double gap_excess(const struct hiccup_ends *e, bool server, uint64_t k)
{
	return excess(gap_of(server ? &e->server : &e->client, k), e->gap[server]);
}

/* A CPU that was away shows as a gap between polls of its end. */
static enum hiccup_where by_gaps(enum hiccup_where way, double client, double server, double x)
{
	bool c = client >= MOST * x, s = server >= MOST * x;

	return c && s ? HICCUP_BOTH : c ? HICCUP_CLIENT : s ? HICCUP_SERVER : way;
}

/* Out and the server's turn of lap @out, back and the client's turn of lap @back. */
static enum hiccup_where place_detail(const struct hiccup_ends *e, uint64_t out, uint64_t back,
				      double total)
{
	double x[] = { 0, 0, excess(turn_of(&e->client, back), e->turn[CLIENT]),
		       excess(server_turn(e, out), e->turn[SERVER]) },
	       unused;
	int most = 0, much = 0;

	solve_chain(e, true, out, total, &x[0], &unused);
	solve_chain(e, true, back, total, &unused, &x[1]);
	for (int i = 0; i < 4; i++) {
		most = x[i] > x[most] ? i : most;
		much += x[i] >= MUCH * total;
	}
	if (x[most] < MOST * total && much < 2)
		return HICCUP_UNKNOWN;
	if (much > 1)
		return HICCUP_BOTH;
	switch (most) {
	case 0:
		return by_gaps(HICCUP_OUT, gap_excess(e, false, out),
			       out ? gap_excess(e, true, out - 1) : 0, x[0]);
	case 1: /* a late post of the server shows at its next poll, in lap back or back + 1 */
		return by_gaps(
			HICCUP_BACK, gap_excess(e, false, back),
			fmax(back ? gap_excess(e, true, back - 1) : 0, gap_excess(e, true, back)),
			x[1]);
	case 2:
		return HICCUP_CLIENT;
	default:
		return HICCUP_SERVER;
	}
}

/* Only one end is known: its own turn and its own polls. */
static enum hiccup_where place_alone(const struct hiccup_ends *e, bool server, uint64_t k,
				     double total)
{
	const struct hiccup_end *own = server ? &e->server : &e->client;

	if (own->detail && (excess(turn_of(own, k), e->turn[server]) >= MOST * total ||
			    gap_excess(e, server, k) >= MOST * total))
		return server ? HICCUP_SERVER : HICCUP_CLIENT;
	return HICCUP_UNKNOWN;
}

static enum hiccup_where place_stamps(const struct hiccup_ends *e, bool server, uint64_t k,
				      double total)
{
	double out, back, unused;

	solve_chain(e, false, k + server, total, &out, &unused);
	solve_chain(e, false, k, total, &unused, &back);
	if (out >= MUCH * total && back >= MUCH * total)
		return HICCUP_BOTH;
	if (fmax(out, back) < MOST * total)
		return HICCUP_UNKNOWN;
	return out > back ? HICCUP_OUT_OR_SERVER : HICCUP_BACK_OR_CLIENT;
}

enum hiccup_where hiccups_place(const struct hiccup_ends *e, bool server, uint64_t k)
{
	double total = lap_excess(e, server, k);

	if (!(total > 0))
		return HICCUP_UNKNOWN;
	if (!e->client.n || !e->server.n)
		return place_alone(e, server, k, total);
	if (e->client.detail && e->server.detail)
		return place_detail(e, k + server, k, total);
	return place_stamps(e, server, k, total);
}

const char *hiccup_where_name(enum hiccup_where where)
{
	static const char *const names[] = { "unknown", "out",		 "back",	   "client",
					     "server",	"out_or_server", "back_or_client", "both" };

	return names[where];
}
