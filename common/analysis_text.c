/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis_report.h"

#define SHOWN_CHANGES 10
#define SHOWN_HICCUPS 10

/* How figures of a series are printed. */
struct scale {
	double factor;
	const char *unit;
	int digits;
};

double analysis_factor(const struct series *s, bool cycles)
{
	if (cycles)
		return s->usec ? NAN : s->factor;
	return s->factor * cycles_to_usec(1, s->hz);
}

bool analysis_cycles(const struct series *s, bool asked)
{
	return !s->usec && (asked || !(s->hz > 0));
}

const char *series_role(const struct series *s)
{
	return !s->known ? "unknown" : s->server ? "server" : "client";
}

unsigned int analysis_tick(double hz)
{
	static const unsigned int known[] = { 100, 250, 300, 1000 };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (fabs(hz - known[i]) <= 0.01 * known[i])
			return known[i];
	return 0;
}

static void print_title(FILE *out, const struct analysis *a, const struct scale *c)
{
	const struct series *s = a->s;

	fprintf(out, "%s: %s", s->file, s->known ? series_role(s) : "end unknown");
	if (s->size)
		fprintf(out, ", %llu bytes", (unsigned long long)s->size);
	if (s->run > 1)
		fprintf(out, ", run %llu", (unsigned long long)s->run);
	fprintf(out, ", %llu samples%s, %s round trips, in %s", (unsigned long long)s->n,
		s->sorted ? " (sorted)" : "", s->kind == LATENCY_HALF_RTT ? "half" : "whole",
		c->unit);
	if (!s->usec && s->hz > 0)
		fprintf(out, " (counter %.3f MHz)", s->hz / 1e6);
	if (s->warmup)
		fprintf(out, ", behind %llu warm-up laps", (unsigned long long)s->warmup);
	fputc('\n', out);
	if (s->lost)
		fprintf(out, "  lost           %llu laps, which have no sample\n",
			(unsigned long long)s->lost);
	if (s->missing)
		fprintf(out, "  left out       %llu rows are missing in the text\n",
			(unsigned long long)s->missing);
	if (a->backwards)
		fprintf(out, "  clock          stepped back in %llu laps, which count as 0\n",
			(unsigned long long)a->backwards);
}

static void print_figure(FILE *out, const char *name, double v, const struct scale *c)
{
	char text[32] = "-";

	if (!isnan(v))
		snprintf(text, sizeof(text), "%.*f", c->digits, v * c->factor);
	fprintf(out, "  %s %s", name, text);
}

static void print_summary(FILE *out, const struct analysis *a, const struct scale *c)
{
	const struct stats *s = &a->stats;
	const struct {
		const char *name;
		double v;
	} figures[] = { { "min", (double)s->min }, { "median", s->median },
			{ "mean", s->mean },	   { "stdev", s->stdev },
			{ "p90", s->p90 },	   { "p99", s->p99 },
			{ "p99.9", s->p99_9 },	   { "p99.99", s->p99_99 },
			{ "max", (double)s->max } };

	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		print_figure(out, figures[i].name, figures[i].v, c);
	fputc('\n', out);
	if (!isnan(a->interval.lo))
		fprintf(out, "  interval       %.*f to %.*f %s: 95 %% for the median", c->digits,
			a->interval.lo * c->factor, c->digits, a->interval.hi * c->factor, c->unit);
	else
		fprintf(out, "  interval       none: too few samples that are independent");
	if (isfinite(a->interval.effective))
		fprintf(out, "; worth %.0f independent samples", a->interval.effective);
	fputs(a->exact ? "\n" : "\n  percentiles    from a histogram, to 0.4 %\n", out);
	if (a->modes.two)
		fprintf(out,
			"  two modes      %.1f %% around %.*f, %.1f %% around %.*f %s: the median "
			"alone says little\n",
			a->modes.low.share * 100, c->digits, a->modes.low.median * c->factor,
			a->modes.high.share * 100, c->digits, a->modes.high.median * c->factor,
			c->unit);
}

static unsigned long long number_of(const struct analysis *a, uint64_t k)
{
	return (unsigned long long)series_lap(a->s, k) + 1;
}

static void print_startup(FILE *out, const struct analysis *a, const struct scale *c)
{
	if (a->startup.laps)
		fprintf(out, "  start-up       %llu laps, slower by %.*f %s (median)\n",
			(unsigned long long)a->startup.laps, c->digits,
			a->startup.excess * c->factor, c->unit);
	else
		fprintf(out, "  start-up       none\n");
}

static void print_changes(FILE *out, const struct analysis *a, const struct scale *c)
{
	for (size_t i = 0; i < a->changes && i < SHOWN_CHANGES; i++) {
		const struct change *h = &a->change[i];

		fprintf(out, "  change         at sample %llu from %.*f to %.*f %s (%+.1f %%)\n",
			number_of(a, h->lap), c->digits, h->before * c->factor, c->digits,
			h->after * c->factor, c->unit,
			100 * (h->after - h->before) / fmax(h->before, 1));
	}
	if (a->changes > SHOWN_CHANGES)
		fprintf(out, "  changes        %zu more\n", a->changes - SHOWN_CHANGES);
	if (!a->changes)
		fprintf(out, "  change         none\n");
}

/* "4.000 ms" */
static void print_time(FILE *out, double usec)
{
	if (usec >= 1e6)
		fprintf(out, "%.3f s", usec / 1e6);
	else if (usec >= 1e3)
		fprintf(out, "%.3f ms", usec / 1e3);
	else
		fprintf(out, "%.3f usec", usec);
}

static void print_periods(FILE *out, const struct analysis *a, const struct scale *c)
{
	const struct series *s = a->s;

	for (size_t i = 0; i < a->periods; i++) {
		const struct period *p = &a->period[i];
		double usec = s->paced ? NAN : p->ticks * s->whole / s->hz * 1e6;
		unsigned int tick = p->by_lap ? 0 : analysis_tick(1e6 / usec);

		fprintf(out, "  period         ");
		if (!isnan(usec)) {
			print_time(out, usec);
			fprintf(out, ", ");
		}
		fprintf(out, "%.2f laps, +%.*f %s, %.2f %% of samples", p->laps, c->digits,
			p->amplitude * c->factor, c->unit, 100 * p->share);
		if (tick)
			fprintf(out, ": looks like a %u Hz tick", tick);
		else
			fprintf(out, ": follows the %s", p->by_lap ? "laps" : "clock");
		fputc('\n', out);
	}
	if (!a->periods)
		fprintf(out, "  period         none\n");
}

/* From the device's completion to the host seeing it, over the quickest lap's. */
static void print_device(FILE *out, const struct analysis *a, const struct scale *c)
{
	const struct device_time *d = &a->device;
	/* One way: never halved. */
	struct scale whole = { c->factor / a->s->factor, c->unit, c->digits };

	if (!d->laps)
		return;
	fprintf(out, "  device         host saw completions late by, in %s:", c->unit);
	print_figure(out, "median", d->late.median, &whole);
	print_figure(out, "p99", d->late.p99, &whole);
	print_figure(out, "max", (double)d->late.max, &whole);
	if (isfinite(d->hz))
		fprintf(out, "; device clock %.3f MHz", d->hz / 1e6);
	if (d->out)
		fprintf(out, "; %llu laps left out", (unsigned long long)d->out);
	fputc('\n', out);
}

static const char *side_text(const struct hiccup *h)
{
	return h->side == HICCUP_BEFORE_DEVICE ? "; before the device's completion" :
	       h->side == HICCUP_AFTER_DEVICE ? "; after the device's completion" : "";
}

static void print_places(FILE *out, const struct analysis *a)
{
	uint64_t count[HICCUP_WHERES] = { 0 };
	const char *comma = ": ";

	for (size_t i = 0; i < a->hiccups.n; i++)
		count[a->hiccups.kept[i].where]++;
	for (int w = HICCUP_OUT; w < HICCUP_WHERES; w++) {
		if (!count[w])
			continue;
		fprintf(out, "%s%llu %s", comma, (unsigned long long)count[w],
			hiccup_where_name((enum hiccup_where)w));
		comma = ", ";
	}
	if (count[HICCUP_UNKNOWN] && *comma == ',')
		fprintf(out, ", %llu unknown", (unsigned long long)count[HICCUP_UNKNOWN]);
	if (a->hiccups.count > a->hiccups.n)
		fprintf(out, " (of the worst %zu)", a->hiccups.n);
	fputc('\n', out);
}

static int by_value(const void *a, const void *b)
{
	const struct hiccup *x = a, *y = b;

	return (x->value < y->value) - (x->value > y->value);
}

/* What the kernel did to a thread in this lap. */
static void print_cpus(FILE *out, const struct hiccup *h)
{
	static const char *const names[] = { "client", "server" };

	for (int end = 0; end < 2; end++)
		if (h->switched[end] || h->moved[end])
			fprintf(out, "; %s %s%s%s", names[end],
				h->switched[end] ? "switched out" : "",
				h->switched[end] && h->moved[end] ? " and " : "",
				h->moved[end] ? "moved to another CPU" : "");
	fputc('\n', out);
}

static void print_hiccups(FILE *out, const struct analysis *a, const struct scale *c)
{
	struct hiccup *worst;
	size_t n = a->hiccups.n < SHOWN_HICCUPS ? a->hiccups.n : SHOWN_HICCUPS;

	fprintf(out, "  hiccups        %llu over the level by %g median deviations of %.*f %s",
		(unsigned long long)a->hiccups.count, a->hiccup_level, c->digits,
		a->deviation * c->factor, c->unit);
	print_places(out, a);
	worst = malloc((a->hiccups.n + 1) * sizeof(*worst));
	if (!worst)
		return;
	memcpy(worst, a->hiccups.kept, a->hiccups.n * sizeof(*worst));
	qsort(worst, a->hiccups.n, sizeof(*worst), by_value);
	for (size_t i = 0; i < n; i++) {
		const struct hiccup *h = &worst[i];

		fprintf(out, "    sample %-10llu %.*f (+%.*f) %s%s%s%s", number_of(a, h->lap),
			c->digits, (double)h->value * c->factor, c->digits,
			((double)h->value - analysis_level(a, h->lap)) * c->factor, c->unit,
			h->where ? ", " : "", h->where ? hiccup_where_name(h->where) : "",
			side_text(h));
		print_cpus(out, h);
	}
	free(worst);
}

void analysis_text(FILE *out, const struct analysis *a, bool cycles)
{
	bool in_cycles = analysis_cycles(a->s, cycles);
	struct scale c = { analysis_factor(a->s, in_cycles), in_cycles ? "cycles" : "usec",
			   in_cycles ? 1 : 3 };

	print_title(out, a, &c);
	if (!a->stats.n)
		return;
	print_summary(out, a, &c);
	if (!a->s->sorted) {
		print_startup(out, a, &c);
		print_changes(out, a, &c);
		print_periods(out, a, &c);
		print_hiccups(out, a, &c);
		print_device(out, a, &c);
	}
	analysis_pictures(out, a, cycles);
}
