/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "json_text.h"
#include "plan.h"
#include "stats_json.h"

static void set_view(json_t *o, const struct report *r, const struct lap_result *res, bool cycles)
{
	const char *unit = cycles ? "cycles" : "usec";
	struct stats_view v;
	double first;

	report_view(r, res, cycles, &v, &first);
	figure_set(o, "first_exchange", unit, first);
	stats_set_json(o, &v, unit);
}

static json_t *in_order_json(int in_order)
{
	return in_order < 0 ? json_null() : json_boolean(in_order);
}

static json_t *mode_json(const struct report *r, const struct mode *m)
{
	double cycles = m->median * latency_factor(r->kind);

	double usec = r->clock->hz > 0 ? cycles_to_usec(cycles, r->clock->hz) : NAN;

	return json_pack("{s:o,s:f,s:f}", "median_usec", figure_json(usec), "median_cycles", cycles,
			 "share", m->share);
}

static json_t *modes_json(const struct report *r, const struct lap_result *res)
{
	if (!res->modes.two)
		return json_null();
	return json_pack("[o,o]", mode_json(r, &res->modes.low), mode_json(r, &res->modes.high));
}

/* The largest samples of a run that counts them, the largest first. */
static json_t *worst_json(const struct report *r, const struct lap_result *res)
{
	double hz = r->clock->hz, factor = latency_factor(r->kind);
	json_t *a = res->worst && hz > 0 ? json_array() : json_null();

	for (unsigned int i = 0; json_is_array(a) && i < res->worst->count; i++) {
		const struct worst_sample *w = &res->worst->v[i];
		json_t *at = figure_json(res->start ? (double)(w->at - res->start) / hz : NAN);

		json_array_append_new(a, json_pack("{s:f,s:I,s:o}", "usec",
						   cycles_to_usec(factor * (double)w->value, hz),
						   "sample", (json_int_t)w->lap, "seconds", at));
	}
	return a;
}

static json_t *result_json(const struct report *r, const struct lap_result *res)
{
	json_t *o = json_pack("{s:I,s:I,s:I,s:I,s:s}", "size", (json_int_t)res->size, "iterations",
			      (json_int_t)res->laps, "samples", (json_int_t)res->samples, "warmup",
			      (json_int_t)res->warmup, "latency_kind", latency_kind_name(r->kind));

	json_object_set_new(o, "write_in_order", in_order_json(r->endpoint->in_order));
	set_view(o, r, res, false);
	json_object_set_new(o, "max_at",
			    res->samples && res->stats.max_at ?
				    json_integer((json_int_t)res->stats.max_at) : json_null());
	set_view(o, r, res, true);
	json_object_set_new(o, "interval_inflation", figure_json(res->inflation));
	json_object_set_new(o, "modes", modes_json(r, res));
	json_object_set_new(o, "worst", worst_json(r, res));
	json_object_set_new(o, "run", json_integer(res->run));
	json_object_set_new(o, "lost", json_integer((json_int_t)res->lost));
	json_object_set_new(o, "late", json_integer((json_int_t)res->late));
	json_object_set_new(o, "loaded", json_boolean(res->loaded));
	figure_set(o, "load", "gbit_s", res->loaded ? units_gbit_s(res->load_bytes_per_s) : NAN);
	return o;
}

static unsigned int result_count(const struct report *r)
{
	return r->bandwidth ? r->bw_count : r->result_count;
}

static json_t *result_at(const struct report *r, unsigned int i)
{
	return r->bandwidth ? report_bw_json(&r->bw[i]) : result_json(r, &r->results[i]);
}

static json_t *path_json(const struct report *r)
{
	const struct endpoint *e = r->endpoint;

	if (!e->qp_count)
		return json_null();
	return json_pack("{s:i,s:b,s:i,s:i,s:s}", "mtu", (int)r->mtu, "grh", (int)r->grh,
			 "inline_asked", (int)e->inline_asked, "inline_granted",
			 (int)e->inline_granted, "post", e->post == POST_WR ? "wr" : "send");
}

static json_t *setup_json(const struct report_setup *s)
{
	json_t *o = json_object();

	figure_set(o, "device", "usec", s->device_usec);
	figure_set(o, "memory", "usec", s->memory_usec);
	figure_set(o, "qps", "usec", s->qps_usec);
	figure_set(o, "exchange", "usec", s->exchange_usec);
	figure_set(o, "connect", "usec", s->connect_usec);
	return o;
}

static json_t *error_json(const struct error *e)
{
	if (!error_is_set(e))
		return json_null();
	return json_pack("{s:s,s:i,s:o}", "stage", e->failed_stage, "errno", e->err, "text",
			 json_text(e->text));
}

static json_t *maybe(json_t *v)
{
	return v ? json_incref(v) : json_null();
}

static json_t *receivers_json(const struct report *r)
{
	json_t *a = json_array();

	for (unsigned int i = 0; i < r->receiver_count; i++) {
		uint64_t got = r->receivers[i].received;

		json_array_append_new(a, json_pack("{s:s,s:I,s:I,s:I}", "host", r->receivers[i].host,
						   "sent", (json_int_t)r->sent, "received",
						   (json_int_t)got, "lost",
						   (json_int_t)(got < r->sent ? r->sent - got : 0)));
	}
	return a;
}

json_t *report_results(const struct report *r)
{
	json_t *results = json_array();

	for (unsigned int i = 0; i < result_count(r); i++)
		json_array_append_new(results, result_at(r, i));
	return results;
}

static json_t *runs_json(const struct report *r)
{
	const struct option_confidence *wish = &r->settings->confidence;
	json_t *a = json_array();

	for (unsigned int i = 0; i < r->runs_count; i++) {
		const struct report_runs *s = &r->runs[i];
		double mean = r->bandwidth ? units_gbit_s(s->of.mean) :
			      r->clock->hz > 0 ? cycles_to_usec(s->of.mean * latency_factor(r->kind),
								r->clock->hz) : NAN;

		json_array_append_new(a, json_pack("{s:I,s:i,s:o,s:f,s:f,s:o,s:o,s:b}", "size",
			(json_int_t)s->size, "runs", (int)s->of.n,
			r->bandwidth ? "avg_gbit_s" : "median_usec", figure_json(mean), "level_percent",
			wish->level, "wanted_half_percent", wish->width / 2, "half_percent",
			figure_json(s->of.half_percent), "within_half_percent",
			figure_json(s->within_percent), "reached", (int)s->reached));
	}
	return a;
}

static json_t *floor_json(const struct report *r)
{
	double ns = r->clock->hz > 0 ? 1e9 / r->clock->hz : NAN;
	json_t *o;

	if (!r->floor.known)
		return json_null();
	o = json_object();
	figure_set(o, "stamp", "ns", r->floor.stamp * ns);
	figure_set(o, "poll", "ns", r->floor.poll * ns);
	figure_set(o, "post", "ns", r->floor.post * ns);
	json_object_set_new(o, "share", figure_json(report_floor_share(r)));
	return o;
}

json_t *report_json(const struct report *r)
{
	json_t *doc = json_pack("{s:s,s:s,s:i,s:s,s:s}", "program", r->program->name, "version",
				VERBSPERF_VERSION, "protocol", PROTOCOL, "role",
				r->server ? "server" : "client", "time", r->time);
	json_t *warnings = json_array();

	for (int i = 0; i < r->err->warning_count; i++)
		json_array_append_new(warnings, json_text(r->err->warnings[i]));
	json_object_set_new(doc, "local", maybe(r->local));
	json_object_set_new(doc, "remote", maybe(r->remote));
	json_object_set_new(doc, "settings", options_settings_json(r->program, r->settings));
	json_object_set_new(doc, "path", path_json(r));
	json_object_set_new(doc, "setup", setup_json(&r->setup));
	json_object_set_new(doc, "counters", json_pack("{s:o,s:o}", "local", maybe(r->local_counters),
						       "remote", maybe(r->remote_counters)));
	json_object_set_new(doc, "warnings", warnings);
	json_object_set_new(doc, "results", report_results(r));
	if (!r->bandwidth)
		json_object_set_new(doc, "floor", floor_json(r));
	if (r->runs_count)
		json_object_set_new(doc, "runs", runs_json(r));
	if (r->receiver_count)
		json_object_set_new(doc, "receivers", receivers_json(r));
	json_object_set_new(doc, "error", error_json(r->err));
	return doc;
}

static void csv_value(FILE *out, const json_t *v)
{
	if (json_is_string(v))
		fputs(json_string_value(v), out);
	else if (json_is_integer(v))
		fprintf(out, "%lld", (long long)json_integer_value(v));
	else if (json_is_real(v))
		fprintf(out, "%.15g", json_real_value(v));
	else if (json_is_boolean(v))
		fputs(json_is_true(v) ? "true" : "false", out);
}

/* The interval has two values and so two columns. */
static void csv_row(FILE *out, json_t *o, bool titles)
{
	const char *key, *comma = "";
	json_t *v;

	json_object_foreach(o, key, v) {
		bool pair = strstr(key, "ci95") != NULL;

		for (size_t i = 0; i < (pair ? 2 : 1); i++) {
			fputs(comma, out);
			comma = ",";
			if (titles)
				fprintf(out, pair ? (i ? "%s_hi" : "%s_lo") : "%s", key);
			else
				csv_value(out, pair ? json_array_get(v, i) : v);
		}
	}
	fputc('\n', out);
}

json_t *report_no_result(const struct report *r)
{
	static const struct lap_result no_lap;
	static const struct bw_result no_message;

	return r->bandwidth ? report_bw_json(&no_message) : result_json(r, &no_lap);
}

void report_csv(FILE *out, const struct report *r)
{
	json_t *titles = report_no_result(r);

	csv_row(out, titles, true);
	json_decref(titles);
	for (unsigned int i = 0; i < result_count(r); i++) {
		json_t *o = result_at(r, i);

		csv_row(out, o, false);
		json_decref(o);
	}
}
