/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What stands below the table. */
#include "report.h"

#include <math.h>

static const char *unit_of(const struct report *r)
{
	return r->settings->cycles ? "cycles" : "usec";
}

/* Counter units of a lap in the unit of the report. */
static double figure(const struct report *r, double v)
{
	v *= latency_factor(r->kind);
	if (r->settings->cycles)
		return v;
	return r->clock->hz > 0 ? cycles_to_usec(v, r->clock->hz) : NAN;
}

static void print_notes(FILE *out, const struct report *r)
{
	bool cycles = r->settings->cycles;
	const char *unit = unit_of(r);

	for (unsigned int i = 0; i < r->result_count; i++) {
		const struct lap_result *res = &r->results[i];
		struct stats_view v;
		double first;

		report_view(r, res, cycles, &v, &first);
		if (r->result_count > 1)
			fprintf(out, "%llu bytes%s: ", (unsigned long long)res->size,
				res->loaded ? " under load" : "");
		if (!isnan(first))
			fprintf(out, "first exchange %.*f %s", cycles ? 0 : 1, first, unit);
		if (!isnan(first) && v.median > 0)
			fprintf(out, ", %.1f x median", first / v.median);
		if (!isnan(v.ci95_lo) && v.ci95_lo > 0)
			fprintf(out, "; 95 %% interval of the median %.*f to %.*f %s",
				cycles ? 1 : 3, v.ci95_lo, cycles ? 1 : 3, v.ci95_hi, unit);
		fprintf(out, "%s%llu warm-up laps before", isnan(first) ? "" : "; ",
			(unsigned long long)res->warmup);
		if (res->lost)
			fprintf(out, "; %llu laps lost", (unsigned long long)res->lost);
		fputc('\n', out);
	}
}

/* A median between two clusters says little. */
static void print_modes(FILE *out, const struct report *r)
{
	for (unsigned int i = 0; i < r->result_count; i++) {
		const struct modes *m = &r->results[i].modes;

		if (m->two)
			fprintf(out, "%llu bytes: bimodal: %.0f %% of the samples around %.3f %s, %.0f %% "
				"around %.3f %s\n", (unsigned long long)r->results[i].size,
				100 * m->low.share, figure(r, m->low.median), unit_of(r),
				100 * m->high.share, figure(r, m->high.median), unit_of(r));
	}
}

/* Idle and loaded side by side, for each size that has both. */
static void print_load(FILE *out, const struct report *r)
{
	const char *unit = unit_of(r);

	for (unsigned int i = 1; i < r->result_count; i++) {
		struct stats_view idle, loaded;
		double first;

		if (!r->results[i].loaded || !r->results[i].samples || !r->results[i - 1].samples)
			continue;
		report_view(r, &r->results[i - 1], r->settings->cycles, &idle, &first);
		report_view(r, &r->results[i], r->settings->cycles, &loaded, &first);
		fprintf(out, "%llu bytes under load", (unsigned long long)r->results[i].size);
		if (isfinite(r->results[i].load_bytes_per_s))
			fprintf(out, " of %.3f Gb/s",
				units_gbit_s(r->results[i].load_bytes_per_s));
		fprintf(out, ": median %.3f %s idle, %.3f loaded (%.2f x); mean %.3f idle, %.3f "
			"loaded (%.2f x)\n", idle.median, unit, loaded.median,
			loaded.median / idle.median, idle.mean, loaded.mean,
			loaded.mean / idle.mean);
	}
}

double report_floor_share(const struct report *r)
{
	const struct report_floor *f = &r->floor;

	if (!f->known || !r->result_count || !r->results[0].samples)
		return NAN;
	return (f->stamp + f->poll + f->post) /
	       (r->results[0].stats.median * latency_factor(r->kind));
}

/* A lap's own cost: of a ping-pong, what each end adds to each half. */
static void print_floor(FILE *out, const struct report *r)
{
	const struct report_floor *f = &r->floor;
	bool cycles = r->settings->cycles;
	double scale = cycles ? 1 : r->clock->hz > 0 ? 1e9 / r->clock->hz : NAN;
	const char *unit = cycles ? "cycles" : "ns";
	double share = report_floor_share(r);

	if (!f->known)
		return;
	fprintf(out, "floor: stamp %.1f %s, empty poll %.1f %s, post %.1f %s (%llu bytes, to itself)",
		f->stamp * scale, unit, f->poll * scale, unit, f->post * scale, unit,
		(unsigned long long)r->settings->sizes.v[0]);
	if (isfinite(share))
		fprintf(out, "; together %.0f %% of the median", 100 * share);
	fputc('\n', out);
}

/* "8 bytes: 5 runs: median 0.341 usec +/- 2.10 % (99 %), wanted +/- 2.50 %: reached" */
static void print_runs(FILE *out, const struct report *r)
{
	const struct option_confidence *wish = &r->settings->confidence;

	for (unsigned int i = 0; i < r->runs_count; i++) {
		const struct report_runs *s = &r->runs[i];

		fprintf(out, "%llu bytes: %u runs: ", (unsigned long long)s->size, s->of.n);
		if (r->bandwidth)
			fprintf(out, "average %.3f Gb/s", units_gbit_s(s->of.mean));
		else
			fprintf(out, "median %.3f %s", figure(r, s->of.mean), unit_of(r));
		if (isfinite(s->of.half_percent))
			fprintf(out, " +/- %.2f %%", s->of.half_percent);
		else
			fputs(" +/- -", out);
		fprintf(out, " (%.15g %%), wanted +/- %.2f %%: %s\n", wish->level, wish->width / 2,
			s->reached ? "reached" : "not reached");
	}
}

static void print_receivers(FILE *out, const struct report *r)
{
	for (unsigned int i = 0; i < r->receiver_count; i++) {
		uint64_t got = r->receivers[i].received;

		fprintf(out, "receiver %s: %llu of %llu messages; %llu lost\n",
			r->receivers[i].host, (unsigned long long)got, (unsigned long long)r->sent,
			(unsigned long long)(got < r->sent ? r->sent - got : 0));
	}
}

void report_notes(FILE *out, const struct report *r)
{
	if (r->result_count) {
		print_notes(out, r);
		print_modes(out, r);
		print_load(out, r);
	}
	print_floor(out, r);
	print_runs(out, r);
	print_receivers(out, r);
}
