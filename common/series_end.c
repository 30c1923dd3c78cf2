/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Single laps of a series with their parts, for the place of a hiccup. */
#include "samples.h"
#include "series.h"

static uint64_t difference(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* Laps around k, all of whose columns are there. */
static bool fill_window(struct series_window *w, uint64_t k)
{
	const struct series *s = w->s;
	const struct dump_series *d = s->stamps;
	uint64_t laps = samples_count((size_t)d->count[DUMP_POST], (size_t)s->warmup);
	uint64_t first = k > SERIES_WINDOW / 4 ? k - SERIES_WINDOW / 4 : 0;
	uint64_t n = laps - first < SERIES_WINDOW ? laps - first : SERIES_WINDOW;
	uint64_t at = s->warmup + first, ahead = s->server;
	struct error err;

	error_init(&err, "");
	w->laps = 0;
	if (dump_read(s->dump, d, DUMP_POST, at, (size_t)n + 1, w->post, &err) ||
	    (s->detail && dump_read(s->dump, d, DUMP_SEEN, at + ahead, (size_t)n, w->seen, &err)) ||
	    (s->detail && dump_read(s->dump, d, DUMP_GAP, at + ahead, (size_t)n, w->gap, &err)))
		return false;
	w->first = first;
	w->laps = n;
	return true;
}

static bool stamp_parts(struct series_window *w, uint64_t k, struct lap_parts *out)
{
	uint64_t i;

	if ((k < w->first || k >= w->first + w->laps) && !fill_window(w, k))
		return false;
	i = k - w->first;
	if (w->post[i] & DUMP_LOST)
		return false;
	out->lap = difference(w->post[i], w->post[i + 1] & ~DUMP_LOST);
	if (w->s->detail) {
		out->wait = difference(w->post[i], w->seen[i]);
		out->gap = w->gap[i];
	}
	return true;
}

static bool parts_at(void *arg, uint64_t k, struct lap_parts *out)
{
	struct series_window *w = arg;
	const struct series *s = w->s;

	*out = (struct lap_parts){ 0 };
	if (s->dump)
		return stamp_parts(w, k, out);
	out->lap = (uint64_t)((double)s->v[k] * s->whole);
	if (s->detail) {
		out->wait = s->wait[k];
		out->gap = s->gap[k];
	}
	return true;
}

bool series_cpu(const struct series *s, uint64_t k, bool *switched, bool *moved)
{
	uint64_t at = s->warmup + k, cpu[3];
	uint64_t from = at ? at - 1 : 0, n;
	struct error err;

	*switched = *moved = false;
	if (!s->dump || at >= s->stamps->count[DUMP_CPU])
		return false;
	n = s->stamps->count[DUMP_CPU] - from < 3 ? s->stamps->count[DUMP_CPU] - from : 3;
	error_init(&err, "");
	if (dump_read(s->dump, s->stamps, DUMP_CPU, from, (size_t)n, cpu, &err))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		*switched |= i + from >= at && cpu[i] & DUMP_CPU_LOST;
		*moved |= i && (uint32_t)cpu[i] != (uint32_t)cpu[i - 1];
	}
	return true;
}

void series_end(const struct series *s, struct series_window *w, struct hiccup_end *end)
{
	w->s = s;
	w->laps = 0;
	*end = (struct hiccup_end){
		.n = s->n, .tick = 1 / s->hz, .detail = s->detail, .at = parts_at, .arg = w
	};
	/* By lap, those that were lost too. */
	if (s->dump)
		end->n = samples_count((size_t)s->stamps->count[DUMP_POST], (size_t)s->warmup);
}
