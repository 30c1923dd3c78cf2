/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <math.h>

#include "analysis_report.h"
#include "json_text.h"
#include "stats_json.h"

/* Both units of one figure. */
struct units {
	double usec, cycles; /* factors; NAN: not known */
};

static void set_both(json_t *o, const char *name, double v, const struct units *u)
{
	figure_set(o, name, "usec", v * u->usec);
	figure_set(o, name, "cycles", v * u->cycles);
}

static void set_stats(json_t *o, const struct analysis *a, double factor, const char *unit)
{
	struct stats_view v = { .n = 0 };

	if (a->stats.n)
		stats_scale(&a->stats, factor, &v);
	else
		v.min = v.median = v.mean = v.stdev = v.p90 = v.p99 = v.p99_9 = v.p99_99 = v.max =
			NAN;
	v.ci95_lo = a->stats.n ? a->interval.lo * factor : NAN;
	v.ci95_hi = a->interval.hi * factor;
	stats_set_json(o, &v, unit);
}

static json_t *result_json(const struct analysis *a, const struct units *u)
{
	const struct series *s = a->s;
	bool any = a->stats.n > 0;
	json_t *o = json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:s,s:b}", "size",
			      s->size ? json_integer((json_int_t)s->size) : json_null(), "run",
			      (json_int_t)s->run, "samples", (json_int_t)s->n, "warmup",
			      (json_int_t)s->warmup, "lost", (json_int_t)s->lost, "missing",
			      (json_int_t)s->missing, "latency_kind", latency_kind_name(s->kind),
			      "exact", a->exact);

	json_object_set_new(o, "effective_samples", figure_json(any ? a->interval.effective : NAN));
	set_stats(o, a, u->usec, "usec");
	json_object_set_new(o, "max_at",
			    any && !s->sorted ? json_integer((json_int_t)a->stats.max_at)
					      : json_null());
	set_stats(o, a, u->cycles, "cycles");
	return o;
}

static json_t *mode_json(const struct mode *m, const struct units *u)
{
	json_t *o = json_object();

	set_both(o, "median", m->median, u);
	json_object_set_new(o, "share", figure_json(m->share));
	return o;
}

static json_t *modes_json(const struct analysis *a, const struct units *u)
{
	json_t *list = json_array();

	if (a->modes.two) {
		json_array_append_new(list, mode_json(&a->modes.low, u));
		json_array_append_new(list, mode_json(&a->modes.high, u));
	}
	return list;
}

static json_t *startup_json(const struct analysis *a, const struct units *u)
{
	json_t *o = json_object();

	json_object_set_new(o, "laps", json_integer((json_int_t)a->startup.laps));
	set_both(o, "excess", a->startup.excess, u);
	return o;
}

static json_t *lap_json(const struct analysis *a, uint64_t k)
{
	return json_integer((json_int_t)series_lap(a->s, k) + 1);
}

static json_t *changes_json(const struct analysis *a, const struct units *u)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->changes; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "lap", lap_json(a, a->change[i].lap));
		set_both(o, "before", a->change[i].before, u);
		set_both(o, "after", a->change[i].after, u);
		json_array_append_new(list, o);
	}
	return list;
}

/* Of whole laps, also where half of them is reported; by lap alone where they do not follow. */
static json_t *periods_json(const struct analysis *a, const struct units *u)
{
	const struct series *s = a->s;
	json_t *list = json_array();

	for (size_t i = 0; i < a->periods; i++) {
		const struct period *p = &a->period[i];
		double usec = s->paced ? NAN : p->ticks * s->whole / s->hz * 1e6;
		json_t *o = json_object();

		json_object_set_new(o, "laps", figure_json(p->laps));
		json_object_set_new(o, "usec", figure_json(usec));
		json_object_set_new(o, "hz", figure_json(1e6 / usec));
		set_both(o, "amplitude", p->amplitude, u);
		json_object_set_new(o, "share", figure_json(p->share));
		json_object_set_new(o, "by", json_string(p->by_lap ? "lap" : "time"));
		json_array_append_new(list, o);
	}
	return list;
}

/* Ends as a list; null where it was not watched. */
static json_t *ends_json(const struct analysis *a, const bool end[2])
{
	json_t *list = a->cpus ? json_array() : json_null();

	if (a->cpus && end[0])
		json_array_append_new(list, json_string("client"));
	if (a->cpus && end[1])
		json_array_append_new(list, json_string("server"));
	return list;
}

static json_t *side_json(const struct hiccup *h)
{
	return h->side ? json_string(h->side == HICCUP_AFTER_DEVICE ? "after" : "before") :
			 json_null();
}

/* null without a device column. One way: never halved. */
static json_t *device_json(const struct analysis *a, const struct units *u)
{
	const struct device_time *d = &a->device;
	struct units whole = { u->usec / a->s->factor, u->cycles / a->s->factor };
	json_t *o;

	if (!d->laps)
		return json_null();
	o = json_pack("{s:I,s:I}", "laps", (json_int_t)d->laps, "left_out", (json_int_t)d->out);
	set_both(o, "late_median", d->late.median, &whole);
	set_both(o, "late_p99", d->late.p99, &whole);
	set_both(o, "late_max", (double)d->late.max, &whole);
	json_object_set_new(o, "clock_hz", figure_json(d->hz));
	return o;
}

static json_t *hiccups_json(const struct analysis *a, const struct units *u)
{
	json_t *list = json_array();

	for (size_t i = 0; i < a->hiccups.n; i++) {
		const struct hiccup *h = &a->hiccups.kept[i];
		json_t *o = json_object();

		json_object_set_new(o, "lap", lap_json(a, h->lap));
		set_both(o, "excess", (double)h->value - analysis_level(a, h->lap), u);
		json_object_set_new(o, "where", json_string(hiccup_where_name(h->where)));
		json_object_set_new(o, "device", side_json(h));
		json_object_set_new(o, "switched_out", ends_json(a, h->switched));
		json_object_set_new(o, "moved", ends_json(a, h->moved));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *analysis_json(const struct analysis *a)
{
	const struct series *s = a->s;
	struct units u = { analysis_factor(s, false), analysis_factor(s, true) };
	json_t *o = json_pack("{s:o,s:s,s:s}", "file", json_text(s->file), "role", series_role(s),
			      "unit", s->usec ? "usec" : "cycles");

	json_object_set_new(o, "hz", figure_json(s->usec ? NAN : s->hz));
	json_object_set_new(o, "sorted", json_boolean(s->sorted));
	json_object_set_new(o, "results", json_pack("[o]", result_json(a, &u)));
	json_object_set_new(o, "modes", modes_json(a, &u));
	json_object_set_new(o, "startup", startup_json(a, &u));
	json_object_set_new(o, "change_points", changes_json(a, &u));
	json_object_set_new(o, "periods", periods_json(a, &u));
	json_object_set_new(o, "device", device_json(a, &u));
	json_object_set_new(o, "hiccup_count", json_integer((json_int_t)a->hiccups.count));
	json_object_set_new(o, "hiccups", hiccups_json(a, &u));
	return o;
}
