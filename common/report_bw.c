/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report_bw.h"

#include <math.h>
#include <string.h>

#include "report.h"
#include "stats_json.h"
#include "stream.h"

double bw_bytes_per_s(const struct bw_result *b)
{
	return b->seconds > 0 ? (double)bw_messages(b) * (double)b->size / b->seconds : NAN;
}

void report_bw_path(FILE *out, const struct report *r)
{
	struct stream_plan p;
	const struct settings *s = r->settings;

	stream_plan(&p, s, op_get(r->op));
	fprintf(out, "%llu QPs, %u deep, lists of %u, every %u-th signaled, ",
		(unsigned long long)s->qps, p.depth, p.list, p.cq_mod);
	if (p.window)
		fprintf(out, "%u receives, ", p.window);
}

static double message_rate(const struct bw_result *b)
{
	return b->seconds > 0 ? (double)bw_messages(b) / b->seconds : NAN;
}

static double gbit_s(const struct bw_result *b, double messages)
{
	return units_gbit_s(messages * (double)b->size);
}

static bool has_losses(const struct report *r)
{
	for (unsigned int i = 0; i < r->bw_count; i++)
		if (r->bw[i].received_known && r->bw[i].received != r->bw[i].sent)
			return true;
	return transport_loses((enum transport)r->settings->transport);
}

/* Title, width, digits; in the order of the values in print_row(). */
static const struct column {
	const char *title;
	int width, digits;
} columns[] = {
	{ "avg[Gb/s]", 11, 3 },	   { "peak[Gb/s]", 11, 3 }, { "best[Gb/s]", 11, 3 },
	{ "worst[Gb/s]", 11, 3 },  { "avg[MB/s]", 12, 2 },  { "avg[MiB/s]", 12, 2 },
	{ "[messages/s]", 13, 0 },
};

static void print_titles(FILE *out, bool both, bool losses)
{
	fprintf(out, "%9s %12s", "bytes", "messages");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		fprintf(out, " %*s", columns[i].width, columns[i].title);
	fprintf(out, " %9s", "confirmed");
	if (losses)
		fprintf(out, " %12s %10s", "received", "lost");
	fprintf(out, "%s\n", both ? "  direction" : "");
}

static void print_losses(FILE *out, const struct bw_result *b)
{
	if (b->received_known)
		fprintf(out, " %12llu %10llu", (unsigned long long)b->received,
			(unsigned long long)(b->sent - b->received));
	else
		fprintf(out, " %12s %10s", "-", "-");
}

static void print_row(FILE *out, const struct bw_result *b, bool both, bool losses)
{
	double rate = bw_bytes_per_s(b);
	const double values[] = { units_gbit_s(rate), gbit_s(b, b->peak), gbit_s(b, b->best),
				  gbit_s(b, b->worst), units_mb_s(rate), units_mib_s(rate),
				  message_rate(b) };

	fprintf(out, "%9llu %12llu", (unsigned long long)b->size, (unsigned long long)b->sent);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		if (isnan(values[i]))
			fprintf(out, " %*s", columns[i].width, "-");
		else
			fprintf(out, " %*.*f", columns[i].width, columns[i].digits, values[i]);
	}
	fprintf(out, " %9s", b->confirmed);
	if (losses)
		print_losses(out, b);
	fprintf(out, "%s%s\n", both ? "  " : "", both ? b->direction : "");
}

void report_bw_table(FILE *out, const struct report *r)
{
	bool losses = has_losses(r), both = r->settings->bidirectional;

	print_titles(out, both, losses);
	for (unsigned int i = 0; i < r->bw_count; i++)
		print_row(out, &r->bw[i], both, losses);
}

static json_t *count(bool known, uint64_t v)
{
	return known ? json_integer((json_int_t)v) : json_null();
}

json_t *report_bw_json(const struct bw_result *b)
{
	double rate = bw_bytes_per_s(b);
	json_t *o = json_object();

	json_object_set_new(o, "size", json_integer((json_int_t)b->size));
	json_object_set_new(o, "run", json_integer(b->run));
	json_object_set_new(o, "direction", json_string(b->direction ? b->direction : ""));
	json_object_set_new(o, "iterations", json_integer((json_int_t)b->sent));
	json_object_set_new(o, "bytes", json_integer((json_int_t)(bw_messages(b) * b->size)));
	json_object_set_new(o, "seconds", figure_json(b->seconds > 0 ? b->seconds : NAN));
	json_object_set_new(o, "avg_gbit_s", figure_json(units_gbit_s(rate)));
	json_object_set_new(o, "avg_mib_s", figure_json(units_mib_s(rate)));
	json_object_set_new(o, "avg_mb_s", figure_json(units_mb_s(rate)));
	json_object_set_new(o, "peak_gbit_s", figure_json(gbit_s(b, b->peak)));
	json_object_set_new(o, "window_s", figure_json(b->window_s));
	json_object_set_new(o, "min_window_gbit_s", figure_json(gbit_s(b, b->worst)));
	json_object_set_new(o, "max_window_gbit_s", figure_json(gbit_s(b, b->best)));
	json_object_set_new(o, "msg_rate_per_s", figure_json(message_rate(b)));
	json_object_set_new(o, "confirmed", json_string(b->confirmed ? b->confirmed : ""));
	json_object_set_new(o, "sent", json_integer((json_int_t)b->sent));
	json_object_set_new(o, "received", count(b->received_known, b->received));
	json_object_set_new(o, "lost", count(b->received_known, b->sent - b->received));
	return o;
}
