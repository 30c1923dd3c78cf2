/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ping-pong's laps, one after the other. */
#ifndef TESTS_PING_PONG_RUN_H
#define TESTS_PING_PONG_RUN_H

#include "ping_pong.h"

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

#endif
