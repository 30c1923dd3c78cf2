/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "windows.h"

#include <math.h>
#include <string.h>

void windows_start(struct windows *w, uint64_t t, uint64_t length)
{
	memset(w, 0, sizeof(*w));
	w->length = length;
	w->end = t + length;
	w->last_t = t;
	w->ring[0].t = t;
}

static void close_window(struct windows *w, double messages)
{
	w->best = w->whole && w->best > messages ? w->best : messages;
	w->worst = w->whole && w->worst < messages ? w->worst : messages;
	w->whole++;
}

/* The event at @t lies behind the end of the running window, and perhaps of more. */
static void close_windows(struct windows *w, uint64_t t, uint64_t n)
{
	double slope = (double)(n - w->last_n) / (double)(t - w->last_t);
	double at_end = (double)w->last_n + slope * (double)(w->end - w->last_t);
	uint64_t more = (t - w->end) / w->length;

	close_window(w, at_end - w->begun);
	if (more) {
		close_window(w, slope * (double)w->length);
		w->whole += more - 1;
	}
	w->begun = at_end + slope * (double)w->length * (double)more;
	w->end += (more + 1) * w->length;
}

/* From the event 16 before to this one. Exact: a/b > c/d as a d > c b. */
static void see_peak(struct windows *w, uint64_t t, uint64_t n)
{
	unsigned int from = (unsigned int)(w->events - WINDOWS_PEAK_EVENTS) % WINDOWS_RING;
	uint64_t dn = n - w->ring[from].n, dt = t - w->ring[from].t;

	if (!dt)
		return;
	if (!w->peak_t || (unsigned __int128)dn * w->peak_t > (unsigned __int128)w->peak_n * dt) {
		w->peak_n = dn;
		w->peak_t = dt;
	}
}

void windows_add(struct windows *w, uint64_t t, uint64_t n)
{
	unsigned int at;

	if (t < w->last_t)
		t = w->last_t;
	if (t >= w->end)
		close_windows(w, t, n);
	at = (unsigned int)++w->events % WINDOWS_RING;
	w->ring[at].t = t;
	w->ring[at].n = n;
	if (w->events >= WINDOWS_PEAK_EVENTS)
		see_peak(w, t, n);
	w->last_t = t;
	w->last_n = n;
}

double windows_best(const struct windows *w)
{
	return w->whole ? w->best / (double)w->length : NAN;
}

double windows_worst(const struct windows *w)
{
	return w->whole ? w->worst / (double)w->length : NAN;
}

double windows_peak(const struct windows *w)
{
	return w->peak_t ? (double)w->peak_n / (double)w->peak_t : NAN;
}
