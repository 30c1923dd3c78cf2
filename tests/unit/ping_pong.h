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
