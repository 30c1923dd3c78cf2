/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The text of -U and -H: ours, today's perftest's, and as it was printed in 2005. Takes "NUMBER,
 * VALUE" rows out of whatever stands around them: prompts, addresses, banners, tables, mail
 * quotes, CRLF.
 */
#ifndef COMMON_LISTING_H
#define COMMON_LISTING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"

#define LISTING_BLOCKS_MAX 65536u
#define LISTING_USEC_HZ	   1e12 /* usec are kept as integers of 1 ps */

enum listing_role { LISTING_UNKNOWN, LISTING_CLIENT, LISTING_SERVER };

/* Rows under one header. */
struct listing_block {
	bool usec;		    /* values are ps, else as printed: CPU cycles */
	bool sorted;		    /* -H: the order says nothing */
	bool detail;		    /* wait and gap are there */
	uint64_t size;		    /* bytes; 0: not said */
	uint64_t n, first, missing; /* first: number of the first row; numbers left out */
	uint64_t *v, *wait, *gap;   /* v as printed: half a lap in a ping-pong; wait, gap whole */
	uint64_t room;
};

struct listing {
	struct listing_block *block;
	unsigned int count;
	bool ours; /* printed by this suite: it is known which end posts first */
	bool full; /* whole round trips (READ, ATOMIC, --full-rtt) */
	enum listing_role role;
	double hz; /* of the cycles, where the text has it; else NAN */
};

/* 0, or -1 with one line in @err: EXIT_MISUSE for what is no listing, or a row without a number. */
int listing_read(struct listing *l, FILE *f, const char *name, struct error *err);
/* Fine on a zeroed struct. */
void listing_close(struct listing *l);

#endif
