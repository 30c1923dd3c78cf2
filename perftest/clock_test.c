/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clock_test: can the cycle counter of this machine be trusted? Its rate over several
 * calibrations, the cost of a read, and steps backwards: on one core, and between cores that hand
 * a cache line back and forth, each reading after it has seen what the other one read.
 */
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock_steps.h"
#include "cycles.h"
#include "cycles_json.h"
#include "options.h"
#include "output.h"
#include "report.h"
#include "units.h"

#define CALIBRATIONS 10
#define READS	     10000000
#define CAP_NS	     10000000000 /* of the reads across cores: in a VM a hand-over may be slow */

struct clock_run {
	enum clock_source source;
	struct clock_cert cert;
	double spread_ppm; /* of the rates over the calibrations */
	struct clock_steps one_core, across;
};

static int rate_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Leaves the median rate, and the first calibration's start, in the certificate. */
static int calibrate_often(struct clock_run *r, struct error *err)
{
	double hz[CALIBRATIONS];
	struct clock_pair start = { 0 };
	uint64_t backwards = 0;
	int rc;

	for (int i = 0; i < CALIBRATIONS; i++) {
		rc = clock_calibrate(r->source, NULL, &r->cert);
		if (rc)
			return error_set(err, EXIT_FAILED, -rc,
					 "calibrating the counter (--clock=gettime "
					 "does without)");
		if (!i)
			start = r->cert.start;
		backwards += r->cert.backwards;
		hz[i] = r->cert.hz;
	}
	qsort(hz, CALIBRATIONS, sizeof(*hz), rate_compare);
	r->cert.hz = r->cert.hz_before = (hz[CALIBRATIONS / 2 - 1] + hz[CALIBRATIONS / 2]) / 2;
	r->spread_ppm = (hz[CALIBRATIONS - 1] - hz[0]) / r->cert.hz * 1e6;
	r->cert.start = start;
	r->cert.backwards = backwards;
	return 0;
}

static int clock_measure(struct clock_run *r, struct error *err)
{
	struct clock_pair end;

	if (calibrate_often(r, err))
		return -1;
	if (clock_steps_one_core(r->source, READS, &r->one_core, err) ||
	    clock_steps_across(r->source, READS, CAP_NS, &r->across, err))
		return -1;
	clock_pair_read(r->source, NULL, &end);
	r->cert.backwards += r->one_core.backwards + r->across.backwards;
	clock_cert_refine(&r->cert, &r->cert.start, &end);
	clock_cert_again(&r->cert, NULL);
	if (r->cert.backwards) { /* of clock_gettime() too */
		r->cert.trusted = false;
		r->cert.why = "it stepped back";
	}
	return 0;
}

static double step_ns(const struct clock_run *r, uint64_t step)
{
	return cycles_to_usec((double)step, r->cert.hz) * 1e3;
}

static void print_steps(const struct clock_run *r, const char *title, const struct clock_steps *s)
{
	printf("  %-15s", title);
	if (!s->reads) {
		printf("skipped: only one CPU is allowed here\n");
		return;
	}
	printf("%llu of %llu reads stepped back", (unsigned long long)s->backwards,
	       (unsigned long long)s->reads);
	if (s->peer < 0)
		printf(", CPU %d", s->cpu);
	else if (s->pairs == 1)
		printf(", CPU %d and %d", s->cpu, s->peer);
	else
		printf(", %u pairs of CPUs", s->pairs);
	if (s->backwards)
		printf("; the largest by %.1f ns", step_ns(r, s->largest));
	if (s->backwards && s->peer >= 0)
		printf(" on CPU %d after CPU %d", s->cpu, s->peer);
	printf("\n");
}

static void print_text(const struct clock_run *r)
{
	const struct clock_cert *c = &r->cert;

	printf("  %-15s%s\n", "clock", c->name);
	if (r->source == CLOCK_SRC_GETTIME)
		printf("  %-15s%.0f Hz by definition\n", "rate", c->hz);
	else
		printf("  %-15s%.0f Hz, spread %.2f ppm over %d calibrations\n", "rate", c->hz,
		       r->spread_ppm, CALIBRATIONS);
	if (c->hz_after > 0)
		printf("  %-15s%.0f Hz before the tests, %.0f Hz after, %.2f ppm apart\n", "held",
		       c->hz_before, c->hz_after, c->between_ppm);
	if (r->source != CLOCK_SRC_GETTIME)
		printf("  %-15s%s\n", "invariant",
		       !c->invariant_known ? "the CPU does not say"
		       : c->invariant	   ? "yes"
					   : "no");
	printf("  %-15s%.1f ns ordered, %.1f ns unordered\n", "cost of a read", c->read_ns,
	       c->unordered_read_ns);
	printf("  %-15s%.2f ns\n", "resolution", c->resolution_ns);
	print_steps(r, "one core", &r->one_core);
	print_steps(r, "across cores", &r->across);
	printf("  %-15s%s: %s%s\n", "trusted", c->trusted ? "yes" : "NO", c->why,
	       c->independent ? "" : "; not independent: the kernel's clock is this counter too");
}

static json_t *steps_json(const struct clock_run *r, const struct clock_steps *s)
{
	if (!s->reads)
		return json_null();
	return json_pack("{s:I,s:I,s:f,s:i,s:o,s:i}", "reads", (json_int_t)s->reads, "backwards",
			 (json_int_t)s->backwards, "largest_ns", step_ns(r, s->largest), "cpu",
			 s->cpu, "peer_cpu", s->peer < 0 ? json_null() : json_integer(s->peer),
			 "pairs", (int)s->pairs);
}

static json_t *clock_json(const struct clock_run *r)
{
	json_t *o = clock_cert_json(&r->cert);

	json_object_set_new(o, "ppm", json_real(r->spread_ppm));
	json_object_set_new(o, "calibrations", json_integer(CALIBRATIONS));
	json_object_set_new(o, "unordered_read_ns", json_real(r->cert.unordered_read_ns));
	return o;
}

static json_t *document_json(const struct option_program *p, const struct settings *s,
			     const struct clock_run *r, const struct error *err)
{
	bool measured = !error_is_set(err);
	char now[32];

	report_time(now);
	return json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:o,s:o}", "program", p->name, "version",
			 VERBSPERF_VERSION, "time", now, "settings", options_settings_json(p, s),
			 "clock", measured ? clock_json(r) : json_null(), "one_core",
			 measured ? steps_json(r, &r->one_core) : json_null(), "across_cores",
			 measured ? steps_json(r, &r->across) : json_null(), "error",
			 measured ? json_null()
				  : json_pack("{s:s,s:i,s:s}", "stage", err->stage, "errno",
					      err->err, "text", err->text));
}

static enum exit_code clock_report(const struct option_program *p, const struct settings *s,
				   const struct clock_run *r, struct error *err)
{
	bool measured = !error_is_set(err);
	struct output o;

	if (measured && (!s->json || strcmp(s->json, "-")) && !output_open(&o, "-", err)) {
		print_text(r);
		output_close(&o, err);
	}
	if (s->json) {
		json_t *doc = document_json(p, s, r, err);

		output_json(s->json, doc, err);
		json_decref(doc);
	}
	if (error_is_set(err))
		return err->code;
	return r->cert.trusted ? EXIT_OK : EXIT_FAILED;
}

static enum exit_code clock_run(const struct option_program *p, const struct settings *s,
				struct error *err)
{
	struct clock_run r = { .source = (enum clock_source)s->clock };

	if (!CYCLES_HAVE_COUNTER && !option_given(s, "clock"))
		r.source = clock_source_default();
	signal(SIGPIPE, SIG_IGN);
	clock_measure(&r, err);
	return clock_report(p, s, &r, err);
}

static const char *const sections[] = {
	"WHAT EACH NUMBER MEANS",
	"The rate is measured against CLOCK_MONOTONIC_RAW, never taken from /proc/cpuinfo. Its "
	"spread is that of ten calibrations of 14 ms. An ordered read waits for the instructions "
	"before it, as the stamps of the timed loops do; an unordered one does not. The "
	"resolution is the smallest step that the clock was seen to make. Steps back are counted "
	"over 10^7 reads on one core, and over 10^7 (or 10 s) between the first core and each of "
	"the others, where each reads after it has seen what the other one read.\n"
	"\n"
	"The counter is trusted when the CPU says that its rate is invariant, or the kernel keeps "
	"time by it, or its rate held within 100 ppm here; and it never stepped back.",
	"EXIT STATUS",
	"0: the clock can be trusted. 1: it must not be, or a call failed. 2: misuse.",
	"JSON KEYS",
	"Keys carry their unit. What was not measured is null.\n"
	" program, version, time (RFC 3339, UTC), settings\n"
	" clock: source, hz, ppm (spread of the calibrations), calibrations, hz_before (their\n"
	"   median), hz_after (of one after the tests), between_ppm (how far the two are apart),\n"
	"   invariant, trusted, why, independent, read_ns, unordered_read_ns, resolution_ns\n"
	" one_core, across_cores: reads, backwards, largest_ns, cpu, peer_cpu, pairs\n"
	" error: null, or stage, errno, text",
	NULL
};

static const struct option_program program = {
	.name = "clock_test",
	.summary = "Tests the cycle counter: rate, cost, order, agreement between cores",
	.mask = FOR_CLOCK,
	.sections = sections,
};

int main(int argc, char **argv)
{
	struct settings s;
	struct error err;
	enum exit_code code;

	setlocale(LC_NUMERIC, "C");
	error_init(&err, program.name);
	err.stage = "run";
	if (options_parse(&program, argc, argv, &s, &err))
		code = err.code;
	else if (options_answer(&program, &s, ""))
		code = EXIT_OK;
	else
		code = clock_run(&program, &s, &err);
	error_print(&err);
	error_free(&err);
	return code;
}
