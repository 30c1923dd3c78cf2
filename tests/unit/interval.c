/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The interval of the median: how often it covers the truth, and what correlation does to it. */
#include <errno.h>

#include "draws.h"
#include "interval.h"
#include "stats.h"
#include "unit.h"

enum shape { NORMAL, EXPONENTIAL, BIMODAL, AR1, SHAPES };

static const char *const shape_names[] = { "normal", "exponential", "bimodal", "AR(1) 0.5" };
/* 60 % of the bimodal samples are N(0,1), the rest N(10,1): Phi(z) = 5/6 at the median. */
static const double medians[] = { 0, M_LN2, 0.967421566101701, 0 };

#define SCALE  1e6
#define OFFSET 1e8

static double draw(struct draws *d, enum shape shape, double *state)
{
	switch (shape) {
	case NORMAL:
		return draw_normal(d);
	case EXPONENTIAL:
		return draw_exponential(d);
	case BIMODAL:
		return (draw_uniform(d) < 0.6 ? 0 : 10) + draw_normal(d);
	default:
		return *state = 0.5 * *state + sqrt(0.75) * draw_normal(d);
	}
}

static void fill(struct draws *d, enum shape shape, uint64_t *v, size_t n)
{
	double state = draw_normal(d);

	for (size_t i = 0; i < n; i++)
		v[i] = (uint64_t)(OFFSET + SCALE * draw(d, shape, &state));
}

/* Share of @series intervals of n samples that hold the true median. */
static double coverage(enum shape shape, size_t n, uint64_t series)
{
	uint64_t *v = malloc(3 * n * sizeof(*v)), *sorted = v + n, *scratch = v + 2 * n;
	struct draws d = { 20260701 + (uint64_t)shape };
	double truth = OFFSET + SCALE * medians[shape];
	uint64_t held = 0, refused = 0;

	for (uint64_t i = 0; i < series; i++) {
		struct interval in;

		fill(&d, shape, v, n);
		memcpy(sorted, v, n * sizeof(*v));
		sort_u64(sorted, n, scratch);
		if (interval_median(v, sorted, n, 0.95, &in))
			refused++;
		held += in.lo <= truth && truth <= in.hi;
	}
	free(v);
	assert_true(refused <= (n < 200 ? series / 20 : 0));
	return (double)held / (double)(series - refused);
}

static void test_coverage(void **state)
{
	static const size_t lengths[] = { 50, 200, 1000 };

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		for (int shape = 0; shape < SHAPES; shape++) {
			double c = coverage(shape, lengths[i], 10000);
			bool narrow = lengths[i] < 200 || shape == BIMODAL || c <= 0.97;

			print_message("# %s, n %zu: %.2f %%\n", shape_names[shape], lengths[i],
				      100 * c);
			if (c < 0.93 || !narrow)
				fail_msg("%s, n %zu: %.2f %%", shape_names[shape], lengths[i],
					 100 * c);
		}
	}
}

static double inflation_of(const uint64_t *v, size_t n, uint64_t limit)
{
	uint64_t *bits = calloc(interval_words(n), sizeof(*bits));
	double f;

	interval_mark(bits, 0, v, n, limit);
	assert_int_equal(interval_inflation(bits, n, &f), 0);
	free(bits);
	return f;
}

/* Of AR(1) with 0.5 the indicator has asin(0.5^k) 2/pi: 2.31 in all; independent samples 1. */
static void test_inflation(void **state)
{
	enum { N = 200000 };
	uint64_t *v = malloc(N * sizeof(*v));
	struct draws d = { 7 };
	double f;

	(void)state;
	fill(&d, NORMAL, v, N);
	f = inflation_of(v, N, (uint64_t)OFFSET);
	assert_true(f >= 1 && f < 1.05);
	fill(&d, AR1, v, N);
	f = inflation_of(v, N, (uint64_t)OFFSET);
	assert_true(f > 2.15 && f < 2.5);
	free(v);
}

/* Correlation far beyond the lags that are looked at one by one: spells of 5000 laps. */
static void test_long_spells(void **state)
{
	enum { N = 4000000, SPELL = 5000 };
	uint64_t *v = malloc(N * sizeof(*v));
	struct draws d = { 11 };
	double f;

	(void)state;
	for (size_t i = 0; i < N; i++)
		v[i] = i % SPELL ? v[i - 1] : draw_uniform(&d) < 0.5;
	f = inflation_of(v, N, 0);
	if (f < SPELL * 0.7 || f > SPELL * 1.5)
		fail_msg("inflation %g, wanted about %d", f, SPELL);
	/* Alternating samples are steadier than independent ones: not narrower for that. */
	for (size_t i = 0; i < N; i++)
		v[i] = i % 2;
	assert_true(inflation_of(v, N, 0) == 1);
	free(v);
}

/* Every bit counted, at every phase of a word: against the definition, by hand. */
static void test_small_series(void **state)
{
	uint64_t v[150];
	double mean = 0, sum = 0, before = INFINITY, f;
	size_t lags = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++) {
		v[i] = i % 7 < 3 || (i > 70 && i < 77);
		mean += (v[i] == 0) / 150.0;
	}
	for (size_t lag = 0; lag < 74; lag += 2, lags += 2) {
		double pair = 0;

		for (size_t k = lag; k < lag + 2; k++) {
			double c = 0;

			for (size_t i = 0; i + k < COUNT(v); i++)
				c += ((v[i] == 0) - mean) * ((v[i + k] == 0) - mean);
			pair += c / (double)(COUNT(v) - k) / (mean * (1 - mean));
		}
		if (pair <= 0)
			break;
		sum += before = fmin(before, pair);
	}
	f = fmax((2 * sum - 1) / (1 - 2 * (double)lags / 150), 1);
	assert_true(fabs(inflation_of(v, COUNT(v), 0) - f) < 1e-9);
}

static void test_few_and_equal(void **state)
{
	uint64_t v[6] = { 1, 6, 2, 5, 3, 4 }, sorted[6] = { 1, 2, 3, 4, 5, 6 };
	uint64_t equal[100];
	struct interval in;

	(void)state;
	for (size_t n = 0; n < 6; n++) {
		assert_int_equal(interval_median(v, sorted, n, 0.95, &in), -ERANGE);
		assert_true(isnan(in.lo) && isnan(in.hi));
	}
	assert_int_equal(interval_median(v, sorted, 6, 0.95, &in), 0);
	assert_true(in.lo >= 1 && in.lo < 1.2 && in.hi > 5.8 && in.hi <= 6);
	for (size_t i = 0; i < COUNT(equal); i++)
		equal[i] = 42;
	assert_int_equal(interval_median(equal, equal, COUNT(equal), 0.99, &in), 0);
	assert_true(in.lo == 42 && in.hi == 42 && in.inflation == 1);
}

static void test_normal(void **state)
{
	(void)state;
	assert_true(fabs(interval_normal(0.95) - 1.959963985) < 1e-8);
	assert_true(fabs(interval_normal(0.99) - 2.575829304) < 1e-8);
	assert_true(fabs(interval_normal(0.5) - 0.674489750) < 1e-8);
	assert_true(fabs(interval_normal(0.999999) - 4.891638475) < 1e-7);
	assert_true(fabs(interval_normal(0.01) - 0.012533469) < 1e-8);
	assert_true(isnan(interval_normal(0)) && isnan(interval_normal(1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_coverage),      cmocka_unit_test(test_inflation),
		cmocka_unit_test(test_long_spells),   cmocka_unit_test(test_small_series),
		cmocka_unit_test(test_few_and_equal), cmocka_unit_test(test_normal),
	};

	return cmocka_run_group_tests_name("interval", tests, NULL, NULL);
}
