/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hiccups: single laps far over the rest, and on which way of the lap each happened. Pure. The
 * derivation is in doc/dump.md: the ends' clocks have nothing in common, so only lengths by one
 * clock are compared, in seconds, each with what is typical for it.
 */
#ifndef HICCUPS_H
#define HICCUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hiccup_where {
	HICCUP_UNKNOWN,
	HICCUP_OUT, /* client to server */
	HICCUP_BACK,
	HICCUP_CLIENT, /* its CPU */
	HICCUP_SERVER,
	HICCUP_OUT_OR_SERVER, /* one stamp a lap cannot say more */
	HICCUP_BACK_OR_CLIENT,
	HICCUP_BOTH, /* two of them in one lap */
	HICCUP_WHERES
};

/* --hw-timestamps: of this end's device completing the message and this end seeing it. */
enum hiccup_side { HICCUP_SIDE_UNKNOWN, HICCUP_BEFORE_DEVICE, HICCUP_AFTER_DEVICE };

struct hiccup {
	uint64_t lap;	/* sample, from 0 */
	uint64_t value; /* the sample */
	enum hiccup_where where;
	enum hiccup_side side;
	/* Of client and server: switched out, or moved to another CPU, in this lap. */
	bool switched[2], moved[2];
};

/* Samples over a limit: how many, and the worst of them. */
struct hiccups {
	uint64_t limit; /* samples above it count */
	uint64_t count;
	struct hiccup *kept; /* a heap with the least on top until hiccups_sort() */
	size_t cap, n;
};

/* median + k times the median deviation, the latter at least a 1/1000 of the median. */
uint64_t hiccups_limit(double median, double deviation, double k);
/* Room for the worst @cap. 0 or -ENOMEM. */
int hiccups_open(struct hiccups *h, uint64_t limit, size_t cap);
void hiccups_close(struct hiccups *h);
/* Samples number @first on, in any order of calls. */
void hiccups_add(struct hiccups *h, uint64_t first, const uint64_t *v, size_t n);
/* By lap; nothing is added after it. */
void hiccups_sort(struct hiccups *h);

/*
 * A sample of one end. Client: lap P(k+1)-P(k), wait S(k)-P(k), gap of lap k. Server: lap
 * p(k+1)-p(k), wait s(k+1)-p(k), gap of lap k+1. wait and gap with --detail only.
 */
struct lap_parts {
	uint64_t lap, wait, gap;
};

struct hiccup_end {
	uint64_t n;  /* samples; 0: this end is not known */
	double tick; /* seconds a unit */
	bool detail;
	/* Sample k < n; false when it cannot be had. */
	bool (*at)(void *arg, uint64_t k, struct lap_parts *out);
	void *arg;
};

/* Both ends and what is typical for them, in seconds. */
struct hiccup_ends {
	struct hiccup_end client, server; /* the same k is the same lap */
	double lap[2];			  /* of client and server, one stamp */
	double turn[2], gap[2];		  /* --detail */
	double round, cross;
};

/* Fills what is typical from some thousand laps. 0 or -ENOMEM. */
int hiccups_typical(struct hiccup_ends *e);
/* Where the excess of sample k lies; @server: the sample is the server's. */
enum hiccup_where hiccups_place(const struct hiccup_ends *e, bool server, uint64_t k);
/* "out", "back", "client", "server", "out_or_server", "back_or_client", "both", "unknown". */
const char *hiccup_where_name(enum hiccup_where where);

#endif
