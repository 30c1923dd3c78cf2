/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "compare.h"

#include <math.h>

#include "analysis_report.h"
#include "json_text.h"
#include "stats_json.h"

static const char *const verdict_names[] = { "same", "faster", "slower", "undecided" };

static enum verdict judge(const struct shift *s, double tolerance)
{
	if (s->lo > tolerance)
		return VERDICT_SLOWER;
	if (s->hi < -tolerance)
		return VERDICT_FASTER;
	return s->lo >= -tolerance && s->hi <= tolerance ? VERDICT_SAME : VERDICT_UNDECIDED;
}

static double independent(const struct analysis *a)
{
	return isfinite(a->interval.effective) ? a->interval.effective : (double)a->stats.n;
}

/* A time as tolerance needs a clock. */
static double tolerance_of(const struct comparison *c, const struct option_tolerance *t)
{
	double hz = c->a->s->hz;

	if (!t->ns)
		return t->percent / 100 * c->median[0];
	return c->cycles ? (double)t->ns / 1e9 * hz : (double)t->ns / 1e3;
}

int compare_run(struct comparison *c, const struct analysis *a, const struct analysis *b,
		const struct option_tolerance *tolerance, bool cycles, struct error *err)
{
	struct shift_side x = { a->thin, a->thin_n, 0, independent(a) };
	struct shift_side y = { b->thin, b->thin_n, 0, independent(b) };

	*c = (struct comparison){ .a = a, .b = b };
	c->cycles = cycles || !(a->s->hz > 0) || !(b->s->hz > 0);
	x.unit = analysis_factor(a->s, c->cycles);
	y.unit = analysis_factor(b->s, c->cycles);
	if (isnan(x.unit) || isnan(y.unit))
		return error_set(err, EXIT_MISUSE, 0,
				 "%s and %s are not in the same unit: one is in usec, the other in "
				 "cycles without a clock",
				 a->s->file, b->s->file);
	c->median[0] = a->stats.median * x.unit;
	c->median[1] = b->stats.median * y.unit;
	c->tolerance = tolerance_of(c, tolerance);
	if (isnan(c->tolerance))
		return error_set(err, EXIT_MISUSE, 0,
				 "%s has no clock, so --tolerance has to be in percent",
				 a->s->file);
	shift_find(&x, &y, ANALYSIS_LEVEL, &c->shift);
	c->p90 = b->stats.p90 * y.unit / (a->stats.p90 * x.unit);
	c->p99 = b->stats.p99 * y.unit / (a->stats.p99 * x.unit);
	c->p99_9 = b->stats.p99_9 * y.unit / (a->stats.p99_9 * x.unit);
	c->max = (double)b->stats.max * y.unit / ((double)a->stats.max * x.unit);
	c->verdict = judge(&c->shift, c->tolerance);
	return 0;
}

static void print_ratio(FILE *out, const char *name, double v)
{
	if (isfinite(v))
		fprintf(out, "  %s x %.3f", name, v);
	else
		fprintf(out, "  %s -", name);
}

void compare_text(FILE *out, const struct comparison *c)
{
	const struct series *s = c->a->s;
	const char *unit = c->cycles ? "cycles" : "usec";
	int digits = c->cycles ? 1 : 3;
	double percent = 100 / c->median[0];

	fprintf(out, "%s", series_role(s));
	if (s->size)
		fprintf(out, ", %llu bytes", (unsigned long long)s->size);
	fprintf(out, ", %s round trips, in %s\n", s->kind == LATENCY_HALF_RTT ? "half" : "whole",
		unit);
	fprintf(out, "  A              %s: median %.*f of %llu samples\n", s->file, digits,
		c->median[0], (unsigned long long)c->a->stats.n);
	fprintf(out, "  B              %s: median %.*f of %llu samples\n", c->b->s->file, digits,
		c->median[1], (unsigned long long)c->b->stats.n);
	fprintf(out,
		"  shift          %+.*f %s (%+.2f %%), 95 %% interval %+.*f to %+.*f "
		"(Hodges-Lehmann)\n",
		digits, c->shift.by, unit, c->shift.by * percent, digits, c->shift.lo, digits,
		c->shift.hi);
	fprintf(out, "  tails        ");
	print_ratio(out, "p90", c->p90);
	print_ratio(out, "p99", c->p99);
	print_ratio(out, "p99.9", c->p99_9);
	print_ratio(out, "max", c->max);
	fprintf(out, "\n  verdict        B is %s%s, with a tolerance of %.*f %s (%.2f %%)\n",
		c->verdict == VERDICT_SAME ? "the same" : verdict_names[c->verdict],
		c->verdict == VERDICT_UNDECIDED ? ": the interval reaches over the edge, take more "
						  "samples"
						: "",
		digits, c->tolerance, unit, c->tolerance * percent);
}

json_t *compare_json(const struct comparison *c)
{
	const char *unit = c->cycles ? "cycles" : "usec";
	const struct series *s = c->a->s;
	json_t *o = json_pack("{s:o,s:o,s:s,s:o,s:s}", "a", json_text(s->file), "b",
			      json_text(c->b->s->file), "role", series_role(s), "size",
			      s->size ? json_integer((json_int_t)s->size) : json_null(), "verdict",
			      verdict_names[c->verdict]);
	char key[32];

	figure_set(o, "median_a", unit, c->median[0]);
	figure_set(o, "median_b", unit, c->median[1]);
	figure_set(o, "shift", unit, c->shift.by);
	snprintf(key, sizeof(key), "shift_ci95_%s", unit);
	json_object_set_new(o, key,
			    json_pack("[o,o]", figure_json(c->shift.lo), figure_json(c->shift.hi)));
	figure_set(o, "shift", "percent", 100 * c->shift.by / c->median[0]);
	figure_set(o, "tolerance", unit, c->tolerance);
	figure_set(o, "p90", "ratio", c->p90);
	figure_set(o, "p99", "ratio", c->p99);
	figure_set(o, "p99_9", "ratio", c->p99_9);
	figure_set(o, "max", "ratio", c->max);
	return o;
}
