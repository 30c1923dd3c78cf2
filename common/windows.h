/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Progress of a stream, looked at in one pass: the best and the worst whole window of 100 ms, and the
 * highest rate over 16 consecutive events. Pure; counts and times in 64 bits, O(1) an event.
 *
 * Between two events progress counts as even: a completion that covers many messages would else
 * fall into one window or the next by chance.
 */
#ifndef COMMON_WINDOWS_H
#define COMMON_WINDOWS_H

#include <stdint.h>

#define WINDOWS_PEAK_EVENTS 16
#define WINDOWS_RING (2 * WINDOWS_PEAK_EVENTS) /* a power of two */

struct windows {
	uint64_t length, end;    /* of a window; where the running one ends: counter units */
	uint64_t last_t, last_n; /* the event before */
	double begun;            /* messages when the running window began */
	uint64_t whole;          /* windows that are closed */
	double best, worst;      /* messages in one of them */
	uint64_t peak_n, peak_t; /* most messages in a time; 0: fewer events than are needed */
	uint64_t events;
	struct {
		uint64_t t, n;
	} ring[WINDOWS_RING];
};

/* @t: of the first post; @length: of a window, counter units, above 0. */
void windows_start(struct windows *w, uint64_t t, uint64_t length);

/* @n messages were there at @t, in all. A time before the last one counts as the last one. */
void windows_add(struct windows *w, uint64_t t, uint64_t n);

/* Messages a counter unit; NAN where there was no whole window, or too few events. */
double windows_best(const struct windows *w);
double windows_worst(const struct windows *w);
double windows_peak(const struct windows *w);

#endif
