/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One end's samples of one size, whether they come from a dump or from the text of -U or -H. */
#ifndef COMMON_SERIES_H
#define COMMON_SERIES_H

#include "dump.h"
#include "hiccups.h"
#include "listing.h"

struct series {
	const char *file; /* as it was named */
	bool known, server;
	bool ours;     /* it is known which end posts first */
	bool sorted;   /* the order says nothing */
	bool paced;    /* something was done between laps: samples are not back to back */
	bool detail;   /* wait and gap of each lap are known */
	bool usec;     /* came in usec: there are no cycles */
	double hz;     /* units of a value in a second; NAN: no clock */
	double factor; /* value to what is reported: 0.5 for half a round trip */
	double whole;  /* value to a whole lap: 2 where it came halved */
	enum latency_kind kind;
	uint64_t size, run; /* size 0: not said */
	uint64_t n, warmup, lost, missing;
	/* private */
	const struct dump *dump; /* or NULL: in memory */
	const struct dump_series *stamps;
	uint64_t *v, *wait, *gap; /* of a text; v also where laps were lost */
	uint64_t *lap;		  /* number of each sample where laps were lost, else NULL */
};

struct series_set {
	struct series *v;
	size_t count;
	struct series_file *file;
	size_t files;
};

/*
 * Adds the series of a file ("-": stdin; a pipe is read to its end first). 0, or -1 with one line
 * in @err. A sorted text is left out where the same samples come unsorted.
 */
int series_load(struct series_set *set, const char *path, struct error *err);
/* Fine on a zeroed struct. */
void series_close(struct series_set *set);

/*
 * Samples [first, first + n) into out[n + 1], as they are kept; a step of the clock back counts as
 * 0, and is added to *backwards. 0 or -1.
 */
int series_read(const struct series *s, uint64_t first, size_t n, uint64_t *out,
		uint64_t *backwards, struct error *err);
/* Number of the lap of sample k, from 0. */
uint64_t series_lap(const struct series *s, uint64_t k);
/* Was the thread switched out in lap k or before the next, did it move? False: not known. */
bool series_cpu(const struct series *s, uint64_t k, bool *switched, bool *moved);
/* The other end's series of the same run, or NULL. */
const struct series *series_partner(const struct series_set *set, const struct series *s);

#define SERIES_WINDOW 64

/* The last laps that were asked for: what is near is asked for next. */
struct series_window {
	const struct series *s;
	uint64_t first, laps; /* laps 0: nothing yet */
	uint64_t post[SERIES_WINDOW + 1], seen[SERIES_WINDOW + 1], gap[SERIES_WINDOW + 1];
};

/* Parts of whole laps, by lap, for hiccups_place(); @w lives as long as @end. */
void series_end(const struct series *s, struct series_window *w, struct hiccup_end *end);

#endif
