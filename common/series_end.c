/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Single laps of a series with their parts, for the place of a hiccup. */
#include "samples.h"
#include "series.h"

static uint64_t difference(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* From a dump, one read a column: hiccups are few. */
static bool stamp_parts(const struct series *s, uint64_t k, struct lap_parts *out)
{
	uint64_t at = s->warmup + k, post[2], seen, ahead = s->server;
	struct error err;

	error_init(&err, "");
	if (dump_read(s->dump, s->stamps, DUMP_POST, at, 2, post, &err) || post[0] & DUMP_LOST)
		return false;
	out->lap = difference(post[0], post[1] & ~DUMP_LOST);
	if (!s->detail)
		return true;
	if (dump_read(s->dump, s->stamps, DUMP_SEEN, at + ahead, 1, &seen, &err) ||
	    dump_read(s->dump, s->stamps, DUMP_GAP, at + ahead, 1, &out->gap, &err))
		return false;
	out->wait = difference(post[0], seen);
	return true;
}

static bool parts_at(void *arg, uint64_t k, struct lap_parts *out)
{
	const struct series *s = arg;

	*out = (struct lap_parts){ 0 };
	if (s->dump)
		return stamp_parts(s, k, out);
	out->lap = (uint64_t)((double)s->v[k] * s->whole);
	if (s->detail) {
		out->wait = s->wait[k];
		out->gap = s->gap[k];
	}
	return true;
}

void series_end(const struct series *s, struct hiccup_end *end)
{
	*end = (struct hiccup_end){ .n = s->n,
				    .tick = 1 / s->hz,
				    .detail = s->detail,
				    .at = parts_at,
				    .arg = (void *)(uintptr_t)s };
	/* By lap, those that were lost too. */
	if (s->dump)
		end->n = samples_count((size_t)s->stamps->count[DUMP_POST], (size_t)s->warmup);
}
