/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lat_stats: reads the samples that latency programs dumped, and says what is in them:
 * distribution, start-up, changes, periods, and hiccups joined between both ends.
 */
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "analysis_report.h"
#include "compare.h"
#include "convert.h"
#include "json_text.h"
#include "options.h"
#include "output.h"
#include "report.h"

/* One call of the program. */
struct stats_run {
	const struct option_program *program;
	const struct settings *set;
	struct error *err;
	struct series_set series;
	json_t *list;	    /* files[] or compare[] */
	struct output text; /* f NULL: the JSON has stdout */
	bool slower;	    /* compare: one of them */
};

static bool has_text(const struct stats_run *r)
{
	return r->text.f != NULL;
}

static int load_files(struct stats_run *r, char **files, int count)
{
	r->err->stage = "read";
	for (int i = 0; i < count; i++)
		if (series_load(&r->series, files[i], r->err))
			return -1;
	return 0;
}

static int analyse(struct stats_run *r, struct analysis *a, const struct series *s)
{
	if (analysis_run(a, s, (double)r->set->stats.hiccup, r->err))
		return -1;
	return analysis_place(a, series_partner(&r->series, s), r->err);
}

static int do_summary(struct stats_run *r)
{
	int rc = load_files(r, r->set->stats.files, r->set->stats.file_count);

	r->err->stage = "analysis";
	for (size_t i = 0; i < r->series.count && !rc; i++) {
		struct analysis a;

		rc = analyse(r, &a, &r->series.v[i]);
		if (!rc)
			json_array_append_new(r->list, analysis_json(&a));
		if (!rc && has_text(r)) {
			if (i)
				fputc('\n', r->text.f);
			analysis_text(r->text.f, &a, r->set->cycles);
		}
		analysis_close(&a);
	}
	return rc;
}

/* The series of B, from @first on, that is of the same end and size. */
static const struct series *same_in(const struct series_set *set, size_t first,
				    const struct series *a)
{
	for (size_t i = first; i < set->count; i++) {
		const struct series *b = &set->v[i];

		if (b->n && b->run == a->run && b->kind == a->kind &&
		    (b->size == a->size || !b->size || !a->size) &&
		    (b->server == a->server || !b->known || !a->known))
			return b;
	}
	return NULL;
}

static int compare_two(struct stats_run *r, const struct series *s, const struct series *o)
{
	struct analysis a = { .s = NULL }, b = { .s = NULL };
	struct comparison c;
	int rc = -1;

	if (!analysis_run(&a, s, (double)r->set->stats.hiccup, r->err) &&
	    !analysis_run(&b, o, (double)r->set->stats.hiccup, r->err))
		rc = compare_run(&c, &a, &b, &r->set->stats.tolerance, r->set->cycles, r->err);
	if (!rc) {
		r->slower |= c.verdict == VERDICT_SLOWER;
		json_array_append_new(r->list, compare_json(&c));
	}
	if (!rc && has_text(r))
		compare_text(r->text.f, &c);
	analysis_close(&a);
	analysis_close(&b);
	return rc;
}

static int do_compare(struct stats_run *r)
{
	char **files = r->set->stats.files + 1;
	size_t first;
	int found = 0;

	if (r->set->stats.file_count != 3)
		return error_set(r->err, EXIT_MISUSE, 0,
				 "compare takes two files, A and B: %s compare A B",
				 r->program->name);
	if (load_files(r, files, 1))
		return -1;
	first = r->series.count;
	if (load_files(r, files + 1, 1))
		return -1;
	r->err->stage = "analysis";
	for (size_t i = 0; i < first; i++) {
		const struct series *b = same_in(&r->series, first, &r->series.v[i]);

		if (!r->series.v[i].n || !b)
			continue;
		found++;
		if (compare_two(r, &r->series.v[i], b))
			return -1;
	}
	if (!found)
		return error_set(r->err, EXIT_MISUSE, 0,
				 "%s and %s have no samples of the same end, size and kind",
				 files[0], files[1]);
	return 0;
}

static int do_convert(struct stats_run *r)
{
	enum convert_format format = (enum convert_format)r->set->stats.format;
	struct output o;
	int rc;

	if (r->set->stats.file_count < 2)
		return error_set(r->err, EXIT_MISUSE, 0, "convert takes files: %s convert FILE...",
				 r->program->name);
	if (load_files(r, r->set->stats.files + 1, r->set->stats.file_count - 1) ||
	    output_open(&o, r->set->stats.output ? r->set->stats.output : "-", r->err))
		return -1;
	r->err->stage = "convert";
	convert_header(o.f, format);
	rc = 0;
	for (size_t i = 0; i < r->series.count && !rc; i++)
		rc = convert_series(o.f, &r->series.v[i], format, r->err);
	return output_close(&o, r->err) || rc ? -1 : 0;
}

static json_t *document_json(const struct stats_run *r, const char *key)
{
	const struct error *e = r->err;
	char now[32];

	report_time(now);
	return json_pack("{s:s,s:s,s:s,s:o,s:O,s:o}", "program", r->program->name, "version",
			 VERBSPERF_VERSION, "time", now, "settings",
			 options_settings_json(r->program, r->set), key, r->list, "error",
			 error_is_set(e) ? json_pack("{s:s,s:i,s:o}", "stage", e->failed_stage,
						     "errno", e->err, "text", json_text(e->text))
					 : json_null());
}

static enum exit_code stats_run(const struct option_program *p, const struct settings *s,
				struct error *err)
{
	struct stats_run r = { .program = p, .set = s, .err = err, .list = json_array() };
	const char *command = s->stats.file_count ? s->stats.files[0] : "";
	bool compare = !strcmp(command, "compare"), convert = !strcmp(command, "convert");

	signal(SIGPIPE, SIG_IGN);
	if (!convert && (!s->json || strcmp(s->json, "-")))
		output_open(&r.text, "-", err);
	if (!s->stats.file_count)
		error_set(err, EXIT_MISUSE, 0,
			  "no file is given; %s FILE... summarises, %s --help says more", p->name,
			  p->name);
	else if (convert && s->json)
		error_set(err, EXIT_MISUSE, 0, "convert makes rows; it has no --json");
	else
		compare ? do_compare(&r) : convert ? do_convert(&r) : do_summary(&r);
	if (has_text(&r))
		output_close(&r.text, err);
	if (s->json && !convert) {
		json_t *doc = document_json(&r, compare ? "compare" : "files");

		output_json(s->json, doc, err);
		json_decref(doc);
	}
	series_close(&r.series);
	json_decref(r.list);
	return error_is_set(err) ? err->code : r.slower ? EXIT_EXPECT : EXIT_OK;
}

static const char *const usage[] = { "FILE...", "compare A B", "convert FILE...", NULL };

static const char *const sections[] = {
	"EXAMPLES",
	"What is in a dump, and in two texts of both ends:\n"
	"  lat_stats run.dump\n"
	"  lat_stats client.txt server.txt\n"
	"Is today's run slower than yesterday's, by more than 2 %:\n"
	"  lat_stats compare yesterday.dump today.dump\n"
	"Rows for gnuplot:\n"
	"  lat_stats convert --format gnuplot --output run.dat run.dump",
	"WHAT IT READS",
	"Dumps of --dump; the text of -U and -H, from this suite, from perftest, and as it was "
	"printed "
	"in 2005, with whatever stands around the rows. \"-\" is the standard input. Texts of both "
	"ends are joined when they were printed by this suite.",
	"WHAT EACH NUMBER MEANS",
	"Figures are those of the dump's kind: halves of a lap for a ping-pong, also where an "
	"excess "
	"or an amplitude is told: a delay of one way shows with half its length. A period is a "
	"time.\n"
	"\n"
	"interval: 95 % for the median, from order statistics, wider where neighbouring laps are "
	"alike (\"worth N independent samples\"). two modes: two clusters of which each holds at "
	"least a fifth of the samples. start-up: the laps at the beginning that are slower than "
	"the "
	"second half of the run. change: from this sample on the level is another one. period: "
	"what "
	"some samples have more, every so often, by the clock or by the lap. hiccup: a sample over "
	"the level of its part of the run by --hiccup median deviations.\n"
	"\n"
	"Where a hiccup happened is told from both ends: out (client to server), back, client or "
	"server (that end's CPU was away or slow), both; with one stamp a lap out_or_server or "
	"back_or_client; else unknown. More than 16777216 samples are counted in a histogram, "
	"whose "
	"percentiles are off by at most 0.4 %.\n"
	"\n"
	"device (dumps with --hw-timestamps): how much later than in the quickest lap the host saw "
	"what its device had completed, and of each hiccup whether it lies before the completion "
	"(network, devices, the other end) or after it (this host). The relation of the two clocks is "
	"taken from the laps, so what every lap takes at the least is not in these figures.\n"
	"\n"
	"compare: the shift is the median of all differences of a sample of B and one of A "
	"(Hodges-Lehmann). B is slower when its whole interval lies above --tolerance, faster when "
	"it "
	"lies below, the same when it lies within, else undecided.",
	"EXIT STATUS",
	"0: done. 1: a call failed. 2: misuse, or a file that is no dump and no listing, or is "
	"damaged. "
	"3: compare: B is slower than A.",
	"JSON KEYS",
	"Keys carry their unit; usec keys are null without a clock, cycles keys without cycles.\n"
	" files, one for each end and size: file, role (client, server, unknown), unit, hz, "
	"sorted,\n"
	"   results: size, run, samples, warmup, lost, missing, latency_kind, exact,\n"
	"     effective_samples, min_usec, median_usec, median_ci95_usec, mean_usec, stdev_usec,\n"
	"     p90_usec, p99_usec, p99_9_usec, p99_99_usec, max_usec, max_at, and _cycles\n"
	"   modes: median_usec, median_cycles, share (two of them, or none)\n"
	"   startup: laps, excess_usec, excess_cycles\n"
	"   change_points: lap, before_usec, before_cycles, after_usec, after_cycles\n"
	"   periods: laps, usec, hz, amplitude_usec, amplitude_cycles, share, by (lap, time)\n"
	"   device (null without --hw-timestamps): laps, left_out (around a step back of the\n"
	"     device's clock), late_median_usec, late_p99_usec, late_max_usec (and _cycles: whole,\n"
	"     never halved), clock_hz (of the device, by the host's clock)\n"
	"   hiccup_count, hiccups (the worst 1000): lap, excess_usec, excess_cycles, where,\n"
	"     device (before or after its completion, or null), switched_out, moved (lists of\n"
	"     ends; null where that was not watched)\n"
	" compare: a, b, role, size, verdict (same, faster, slower, undecided), median_a_usec,\n"
	"   median_b_usec, shift_usec, shift_ci95_usec, shift_percent, tolerance_usec (all in\n"
	"   cycles where a clock is missing), p90_ratio, p99_ratio, p99_9_ratio, max_ratio\n"
	" error: null, or stage, errno, text",
	NULL
};

static const struct option_program program = {
	.name = "lat_stats",
	.summary = "Reads dumped latencies: distribution, start-up, changes, periods, hiccups",
	.mask = FOR_STATS,
	.usage = usage,
	.sections = sections,
};

int main(int argc, char **argv)
{
	struct settings s;
	struct error err;
	enum exit_code code;

	setlocale(LC_NUMERIC, "C");
	error_init(&err, program.name);
	if (options_parse(&program, argc, argv, &s, &err))
		code = err.code;
	else if (options_answer(&program, &s, ""))
		code = EXIT_OK;
	else
		code = stats_run(&program, &s, &err);
	error_print(&err);
	error_free(&err);
	return code;
}
