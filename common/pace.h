/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is done between two laps: the gap of --gap, the pattern of --verify. A sample is then from
 * post to seen and holds none of it on the client; what a server does between a message and its
 * answer is in the client's sample.
 */
#ifndef COMMON_PACE_H
#define COMMON_PACE_H

#include "load.h"
#include "laps.h"

/* What --verify looks at. */
enum pace_data {
	PACE_EACH_WAY, /* a message each way, different in every lap */
	PACE_AT_REST,  /* what READs find */
	PACE_ATOMIC    /* the values that atomics return */
};

struct pace {
	struct lap_pace hooks; /* lap_run.pace points here */
	uint64_t gap_ns, next; /* no post before next, ns */
	bool verify, server;
	struct load *load;     /* or NULL */
	enum pace_data data;
	uint64_t size;         /* bytes of the pattern */
	uint64_t lanes;
};

void pace_init(struct pace *p, const struct settings *set, enum op_kind op, const struct mark *mark,
	       uint64_t size, bool server);

/* The server's memory, for READs to find. */
void pace_fill_at_rest(const struct lane *lanes, unsigned int count, uint64_t size);

#endif
