/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A series as pictures of characters: histogram, ECDF, time strip. */
#include <math.h>

#include "analysis_report.h"

#define ROWS  20
#define WIDTH 50

static void print_bar(FILE *out, double share)
{
	int n = (int)lround(share * WIDTH);

	for (int i = 0; i < n; i++)
		fputc('#', out);
	if (!n && share > 0)
		fputc('.', out);
	fputc('\n', out);
}

/* Samples in [from, to) of the histogram, each bucket taken as evenly filled. */
static double count_between(const struct histogram *h, double from, double to)
{
	double sum = 0;

	for (unsigned int b = 0; b < HISTOGRAM_BUCKETS; b++) {
		double low = (double)histogram_low(b), high = (double)histogram_high(b) + 1;
		double left = fmax(low, from), right = fmin(high, to);

		if (h->bucket[b] && right > left)
			sum += (double)h->bucket[b] * (right - left) / (high - low);
	}
	return sum;
}

/* Twenty rows up to a little beyond p99, and one for all that is above. */
static void print_histogram(FILE *out, const struct analysis *a, double factor, int digits)
{
	const struct stats *s = &a->stats;
	double from = (double)s->min, top = isnan(s->p99) ? (double)s->max : s->p99 * 1.02;
	double step, count[ROWS + 1], most = 0;

	top = fmin(fmax(top, from), (double)s->max);
	step = fmax((top + 1 - from) / ROWS, 1);
	for (int i = 0; i <= ROWS; i++) {
		double low = from + i * step;

		count[i] = count_between(a->histogram, low, i < ROWS ? low + step : INFINITY);
		most = fmax(most, count[i]);
	}
	fprintf(out, "  histogram      from, samples\n");
	for (int i = 0; i <= ROWS; i++) {
		double low = from + i * step;

		if (low > (double)s->max)
			break;
		fprintf(out, "  %14.*f %10.0f |", digits, low * factor, count[i]);
		print_bar(out, count[i] / most);
	}
}

/* Where v lies between low and high as a ratio: a tail reaches over decades. */
static double log_share(double v, double low, double high)
{
	low = fmax(low, 1);
	return high > low ? log(fmax(v, low) / low) / log(high / low) : 0;
}

static void print_ecdf(FILE *out, const struct analysis *a, double factor, int digits)
{
	static const double shares[] = { 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99 };
	const struct stats *s = &a->stats;
	double low = (double)s->min, high = (double)s->max;

	fprintf(out, "  ECDF           up to, log scale from min to max\n");
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		double v = (double)a->thin[(size_t)ceil(shares[i] * (double)a->thin_n) - 1];

		fprintf(out, "  %13g%% %10.*f |", 100 * shares[i], digits, v * factor);
		print_bar(out, log_share(v, low, high));
	}
	if (!isnan(s->p99_9)) {
		fprintf(out, "  %13g%% %10.*f |", 99.9, digits, s->p99_9 * factor);
		print_bar(out, log_share(s->p99_9, low, high));
	}
	fprintf(out, "  %13g%% %10.*f |", 100.0, digits, (double)s->max * factor);
	print_bar(out, 1);
}

static char shade(double share)
{
	static const char shades[] = " .:-=+*#%@";

	return shades[(int)(fmin(fmax(share, 0), 1) * 9.999)];
}

/* The run from left to right: medians against each other, and what stood out. */
static void print_strip(FILE *out, const struct analysis *a, double factor, int digits)
{
	double low = INFINITY, high = 0, base, least = (double)a->stats.min;

	for (unsigned int i = 0; i < a->cells; i++) {
		low = fmin(low, a->strip[i].median);
		high = fmax(high, a->strip[i].median);
	}
	base = fmin(low, 0.99 * high) - 1; /* a flat run is not blown up to noise */
	fprintf(out, "  time strip     %u cells of %llu samples, shades \" .:-=+*#%%@\"\n",
		a->cells, (unsigned long long)(a->s->n / a->cells));
	fprintf(out, "  medians |");
	for (unsigned int i = 0; i < a->cells; i++)
		fputc(shade((a->strip[i].median - base) / (high - base)), out);
	fprintf(out, "| %.*f to %.*f\n  maxima  |", digits, low * factor, digits, high * factor);
	for (unsigned int i = 0; i < a->cells; i++)
		fputc(shade(log_share(a->strip[i].max, least, (double)a->stats.max)), out);
	fprintf(out, "| %.*f to %.*f, log\n", digits, least * factor, digits,
		(double)a->stats.max * factor);
}

void analysis_pictures(FILE *out, const struct analysis *a, bool cycles)
{
	bool in_cycles = analysis_cycles(a->s, cycles);
	double factor = analysis_factor(a->s, in_cycles);
	int digits = in_cycles ? 0 : 3;

	print_histogram(out, a, factor, digits);
	print_ecdf(out, a, factor, digits);
	if (!a->s->sorted)
		print_strip(out, a, factor, digits);
}
