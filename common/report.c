/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables for people, and where output goes. */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void report_time(char out[32])
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void report_addresses(FILE *out, const struct endpoint_address *local,
		      const struct endpoint_address *remote)
{
	char text[256];

	endpoint_address_text(local, 0, text, sizeof(text));
	fprintf(out, "  local address:  %s\n", text);
	endpoint_address_text(remote, 0, text, sizeof(text));
	fprintf(out, "  remote address: %s\n", text);
}

void report_view(const struct report *r, const struct lap_result *res, bool cycles,
		 struct stats_view *v, double *first)
{
	double factor = latency_factor(r->kind);

	if (!cycles)
		factor *= r->clock->hz > 0 ? cycles_to_usec(1, r->clock->hz) : NAN;
	*first = res->first_exchange ? res->first_exchange * factor : NAN;
	if (res->samples) {
		stats_scale(&res->stats, factor, v);
		return;
	}
	memset(v, 0, sizeof(*v));
	v->min = v->max = v->median = v->mean = v->stdev = v->p90 = v->p99 = v->p99_9 = v->p99_99 =
		v->ci95_lo = v->ci95_hi = NAN;
}

static void print_sample(FILE *out, const struct report *r, uint64_t v, double factor)
{
	if (r->settings->cycles)
		fprintf(out, "%llu", (unsigned long long)(factor < 1 ? v / 2 : v));
	else
		fprintf(out, "%.4f", cycles_to_usec((double)v * factor, r->clock->hz));
}

static void print_samples(FILE *out, const struct report *r, const struct lap_result *res,
			  const uint64_t *v, bool detail)
{
	double factor = latency_factor(r->kind);
	const char *unit = r->settings->cycles ? "cycles" : "usec";

	if (detail)
		fprintf(out, "#, %s, post to seen [%s], longest poll gap [%s]\n", unit, unit, unit);
	else
		fprintf(out, "#, %s\n", unit);
	for (uint64_t i = 0; i < res->samples && !ferror(out); i++) {
		fprintf(out, "%llu, ", (unsigned long long)i + 1);
		print_sample(out, r, v[i], factor);
		if (detail) {
			fputs(", ", out);
			print_sample(out, r, res->to_seen[i], 1);
			fputs(", ", out);
			print_sample(out, r, res->gap[i], 1);
		}
		fputc('\n', out);
	}
}

static void print_sorted(FILE *out, const struct report *r, const struct lap_result *res)
{
	uint64_t *v = malloc((2 * res->samples + 1) * sizeof(*v));

	if (!v) {
		fputs("# not sorted: out of memory\n", out);
		return;
	}
	if (res->samples) {
		memcpy(v, res->sample, res->samples * sizeof(*v));
		sort_u64(v, res->samples, v + res->samples);
	}
	print_samples(out, r, res, v, false);
	free(v);
}

static void print_dumps(FILE *out, const struct report *r, const struct lap_result *res)
{
	const struct settings *s = r->settings;
	unsigned long long n = res->samples;

	if (!s->unsorted && !s->sorted)
		return;
	if (r->settings->sizes.count > 1)
		fprintf(out, "# size %llu\n", (unsigned long long)res->size);
	if (s->unsorted && s->sorted)
		fprintf(out, "# unsorted, %llu samples\n", n);
	if (s->unsorted)
		print_samples(out, r, res, res->sample, res->to_seen != NULL);
	if (s->unsorted && s->sorted)
		fprintf(out, "# sorted, %llu samples\n", n);
	if (s->sorted)
		print_sorted(out, r, res);
}

#define FACT_TEXT 64

/* One of the remote facts, which are what a peer sent. */
static const char *fact(json_t *end, const char *key, char buf[FACT_TEXT])
{
	const char *s = json_string_value(json_object_get(end, key));

	error_sanitise(buf, FACT_TEXT, s ? s : "?", s ? strlen(s) : 1);
	return buf;
}

static void print_end(FILE *out, const char *which, json_t *end)
{
	bool software = json_is_string(json_object_get(end, "software"));
	json_t *cpu = json_object_get(end, "cpu");
	char host[FACT_TEXT], device[FACT_TEXT], link[FACT_TEXT], soft[FACT_TEXT];

	if (!end)
		return;
	fprintf(out, "  %s %s, %s port %lld (%s%s%s)", which, fact(end, "host", host),
		fact(end, "device", device),
		(long long)json_integer_value(json_object_get(end, "port")),
		fact(end, "link_layer", link), software ? ", software device " : "",
		software ? fact(end, "software", soft) : "");
	if (json_is_integer(cpu))
		fprintf(out, ", CPU %lld", (long long)json_integer_value(cpu));
	fputc('\n', out);
}

static void print_clock(FILE *out, const struct report *r)
{
	const struct clock_cert *c = r->clock;

	if (!(c->hz > 0))
		return;
	fprintf(out, "  clock:  %s %.3f MHz +/- %.1f ppm, %s: %s%s\n          ", c->name,
		c->hz / 1e6, c->ppm, c->trusted ? "trusted" : "NOT TRUSTED", c->why ? c->why : "?",
		c->independent ? "" : ", not independent of the kernel's clock");
	if (c->hz_after > 0)
		fprintf(out, "%.3f MHz before the run, %.3f MHz after it, %.1f ppm apart; ",
			c->hz_before / 1e6, c->hz_after / 1e6, c->between_ppm);
	if (c->source == CLOCK_SRC_COUNTER)
		fprintf(out, "invariant: %s; ", !c->invariant_known ? "the CPU does not say" :
						c->invariant ? "yes" : "no");
	fprintf(out, "a stamp costs %.0f ns, steps by %.0f ns\n", c->read_ns, c->resolution_ns);
}

/* Every effective setting, for -v. */
static void print_settings(FILE *out, const struct report *r)
{
	json_t *all = options_settings_json(r->program, r->settings), *v;
	const char *key;

	json_object_foreach(all, key, v) {
		char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);

		fprintf(out, "  %s = %s\n", key, text ? text : "?");
		free(text);
	}
	json_decref(all);
}

/* What a latency report says of the path, or a bandwidth report. */
static void print_path(FILE *out, const struct report *r)
{
	const struct endpoint *e = r->endpoint;

	fprintf(out, "  path:   MTU %u, inline %u asked, %u granted, posted by %s, ", r->mtu,
		e->inline_asked, e->inline_granted,
		e->post == POST_WR ? "ibv_wr_*" : "ibv_post_send");
	if (r->bandwidth)
		report_bw_path(out, r);
	else
		fprintf(out, "completions reaped %s, order of a WRITE's bytes %s, ",
			r->settings->reap ? "late" : "now",
			e->in_order == 1 ? "promised" :
			e->in_order == 0 ? "not promised" : "unknown");
	fprintf(out, "relaxed ordering %s\n",
		e->access & IBV_ACCESS_RELAXED_ORDERING ? "on" : "off");
}

static void print_header(FILE *out, const struct report *r)
{
	const char *kind = r->kind == LATENCY_HALF_RTT ? "half round trip" : "full round trip";

	fprintf(out, "%s (%s): %s over %s, ", r->program->name, r->server ? "server" : "client",
		r->operation, transport_name((enum transport)r->settings->transport));
	if (r->bandwidth)
		fprintf(out, "bandwidth\n");
	else
		fprintf(out, "%s, in %s\n", kind, r->settings->cycles ? "CPU cycles" : "usec");
	print_end(out, "local: ", r->local);
	print_end(out, "remote:", r->remote);
	if (r->endpoint->qp_count)
		print_path(out, r);
	if (r->paced && !r->bandwidth)
		fprintf(out, "  sample: from post to seen, since something is done between the laps "
			"(--gap, --verify or --load); the server has none\n");
	print_clock(out, r);
	if (r->settings->verbose)
		print_settings(out, r);
}

/* "p99.99[cycles]" and "p99.99[usec]" just fit. */
static int column_width(bool cycles)
{
	return cycles ? 14 : 12;
}

static void print_figure(FILE *out, double v, bool cycles)
{
	if (isnan(v))
		fprintf(out, " %*s", column_width(cycles), "-");
	else
		fprintf(out, " %*.*f", column_width(cycles), cycles ? 1 : 3, v);
}

static void print_table(FILE *out, const struct report *r)
{
	static const char *const columns[] = { "min", "median", "mean", "stdev", "p90", "p99",
					       "p99.9", "p99.99", "max" };
	bool cycles = r->settings->cycles;

	fprintf(out, "%9s %10s %10s", "bytes", "laps", "samples");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		char title[24];

		snprintf(title, sizeof(title), cycles ? "%s[cycles]" : "%s[usec]", columns[i]);
		fprintf(out, " %*s", column_width(cycles), title);
	}
	fputc('\n', out);
	for (unsigned int i = 0; i < r->result_count; i++) {
		const struct lap_result *res = &r->results[i];
		struct stats_view v;
		double first;

		report_view(r, res, cycles, &v, &first);
		fprintf(out, "%9llu%c%10llu %10llu", (unsigned long long)res->size,
			res->loaded ? '*' : ' ',
			(unsigned long long)res->laps, (unsigned long long)res->samples);
		for (int k = 0; k < 9; k++)
			print_figure(out, (const double[]){ v.min, v.median, v.mean, v.stdev, v.p90,
							    v.p99, v.p99_9, v.p99_99, v.max }[k],
				     cycles);
		fputc('\n', out);
	}
}

void report_text(FILE *out, const struct report *r)
{
	for (unsigned int i = 0; i < r->result_count; i++)
		print_dumps(out, r, &r->results[i]);
	fputc('\n', out);
	print_header(out, r);
	if (r->bandwidth)
		report_bw_table(out, r);
	if (r->result_count)
		print_table(out, r);
	report_notes(out, r);
	report_counters(out, r);
}
