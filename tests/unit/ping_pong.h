/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ping-pong on paper: two ends with clocks that have nothing in common, and delays planted on
 * each way and on each CPU, the latter at any moment of a lap as a scheduler does it.
 */
#ifndef TESTS_PING_PONG_H
#define TESTS_PING_PONG_H

#include "draws.h"
#include "hiccups.h"
#include "unit.h"

enum plant {
	PLANT_NONE,
	PLANT_OUT,
	PLANT_BACK,
	PLANT_CLIENT_POLL, /* the CPU is away while the end polls, so it sees late */
	PLANT_CLIENT_TURN, /* between seen and the next stamp */
	PLANT_CLIENT_POST, /* between the stamp and the message on its way */
	PLANT_SERVER_POLL,
	PLANT_SERVER_TURN,
	PLANT_SERVER_POST,
};

/* Stamps in ticks of each end, and its longest poll gaps. */
struct ping_pong {
	uint64_t laps;
	uint64_t *post[2], *seen[2], *gap[2]; /* client, server; the client's post has one more */
	struct lap_parts *part[2];	      /* samples */
	uint64_t samples[2];
};

#define PP_WAY	8e-6 /* s */
#define PP_TURN 0.2e-6
#define PP_POLL 30e-9

static const double pp_hz[2] = { 2.1e9, 2.999e9 };
static const double pp_start[2] = { 1e3, 77777.7 }; /* s: booted at other times */

static inline uint64_t pp_ticks(int end, double t)
{
	return (uint64_t)((pp_start[end] + t) * pp_hz[end]);
}

/* A way in seconds: noise with a small tail. */
static inline double pp_way(struct draws *d)
{
	return PP_WAY + 0.2e-6 * fabs(draw_normal(d)) + 0.1e-6 * draw_exponential(d);
}

static inline double pp_turn(struct draws *d)
{
	return PP_TURN + 20e-9 * draw_uniform(d);
}

/* An end polls from @from on; the message comes at @arrival; its CPU may be away for @away. */
static inline double pp_poll(struct draws *d, double from, double arrival, double away, double *gap)
{
	double at = from + draw_uniform(d) * (arrival - from), seen = arrival;

	if (away > 0 && at + away > seen)
		seen = at + away;
	*gap = fmax(*gap, away > 0 ? away : PP_POLL);
	return seen + PP_POLL * draw_uniform(d);
}

static inline struct ping_pong *pp_open(uint64_t laps)
{
	struct ping_pong *p = calloc(1, sizeof(*p));

	p->laps = laps;
	for (int e = 0; e < 2; e++) {
		p->post[e] = calloc(laps + 1, sizeof(uint64_t));
		p->seen[e] = calloc(laps, sizeof(uint64_t));
		p->gap[e] = calloc(laps + 1, sizeof(uint64_t));
		p->part[e] = calloc(laps, sizeof(struct lap_parts));
	}
	p->samples[0] = laps;
	p->samples[1] = laps - 1;
	return p;
}

static inline void pp_close(struct ping_pong *p)
{
	for (int e = 0; e < 2; e++) {
		free(p->post[e]);
		free(p->seen[e]);
		free(p->gap[e]);
		free(p->part[e]);
	}
	free(p);
}

/* plant[k]: what is delayed in lap k by delay[k] seconds. Times are absolute, of nobody's clock. */
static inline void pp_run(struct ping_pong *p, const enum plant *plant, const double *delay,
			  uint64_t seed)
{
	struct draws d = { seed };
	double t = 0, server_from = 0,
	       late_gap = 0; /* of the server's post, seen in its next poll */

	for (uint64_t k = 0; k < p->laps; k++) {
		double x = delay[k], client_gap = 0, server_gap = late_gap, sent, arrival, seen;
		enum plant what = plant[k];

		late_gap = 0;
		p->post[0][k] = pp_ticks(0, t);
		sent = t + (what == PLANT_CLIENT_POST ? x : 0);
		client_gap = sent - t;
		arrival = sent + pp_way(&d) + (what == PLANT_OUT ? x : 0);
		seen = pp_poll(&d, server_from, arrival, what == PLANT_SERVER_POLL ? x : 0,
			       &server_gap);
		p->seen[1][k] = pp_ticks(1, seen);
		t = seen + pp_turn(&d) + (what == PLANT_SERVER_TURN ? x : 0);
		p->post[1][k] = pp_ticks(1, t);
		server_from = t + (what == PLANT_SERVER_POST ? x : 0);
		/* Whether the completion was there at once decides which lap's gap has it. */
		if (draw_uniform(&d) < 0.5)
			server_gap = fmax(server_gap, server_from - t);
		else
			late_gap = server_from - t;
		arrival = server_from + pp_way(&d) + (what == PLANT_BACK ? x : 0);
		p->gap[1][k] = (uint64_t)(server_gap * pp_hz[1]);
		seen = pp_poll(&d, sent, arrival, what == PLANT_CLIENT_POLL ? x : 0, &client_gap);
		p->seen[0][k] = pp_ticks(0, seen);
		p->gap[0][k] = (uint64_t)(client_gap * pp_hz[0]);
		t = seen + pp_turn(&d) + (what == PLANT_CLIENT_TURN ? x : 0);
	}
	p->post[0][p->laps] = pp_ticks(0, t);
	for (int e = 0; e < 2; e++)
		for (uint64_t k = 0; k < p->samples[e]; k++)
			p->part[e][k] = (struct lap_parts){
				p->post[e][k + 1] - p->post[e][k],
				p->seen[e][k + (uint64_t)e] - p->post[e][k],
				p->gap[e][k + (uint64_t)e],
			};
}

static inline bool pp_at(void *arg, uint64_t k, struct lap_parts *out)
{
	*out = ((struct lap_parts *)arg)[k];
	return true;
}

static inline void pp_ends(const struct ping_pong *p, bool detail, struct hiccup_ends *e)
{
	struct hiccup_end *end[2] = { &e->client, &e->server };

	memset(e, 0, sizeof(*e));
	for (int i = 0; i < 2; i++)
		*end[i] = (struct hiccup_end){ .n = p->samples[i],
					       .tick = 1 / pp_hz[i],
					       .detail = detail,
					       .at = pp_at,
					       .arg = p->part[i] };
	assert_int_equal(hiccups_typical(e), 0);
}

#endif
