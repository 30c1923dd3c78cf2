/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Start-ups that are planted come out with their length and excess; where there is none, none. */
#include "draws.h"
#include "startup.h"
#include "stats.h"
#include "unit.h"

#define MAX 20000

enum noise { GAUSS, TAIL, BIMODAL, NOISES };

static double noise(struct draws *d, enum noise kind)
{
	switch (kind) {
	case GAUSS:
		return 500 * draw_normal(d);
	case TAIL:
		return 500 * draw_exponential(d) + (draw_uniform(d) < 0.01 ? 60000 : 0);
	default:
		return 500 * draw_normal(d) + (draw_uniform(d) < 0.4 ? 6000 : 0);
	}
}

static struct startup found_in(const uint64_t *v, size_t n)
{
	static uint64_t steady[MAX], scratch[MAX];
	struct startup s;
	size_t m = n - n / 2;

	memcpy(steady, v + n / 2, m * sizeof(*v));
	sort_u64(steady, m, scratch);
	assert_int_equal(startup_find(v, n, n, steady, m, &s), 0);
	return s;
}

/* @laps slower by @excess at the start, then noise alone. */
static void fill(uint64_t *v, size_t n, size_t laps, double excess, enum noise kind, uint64_t seed)
{
	struct draws d = { seed };

	for (size_t i = 0; i < n; i++)
		v[i] = (uint64_t)(40000 + noise(&d, kind) + (i < laps ? excess : 0));
}

static void test_planted(void **state)
{
	static const struct {
		size_t n, laps;
		double excess;
		enum noise kind;
	} rows[] = {
		{ 1000, 1, 360000, GAUSS },	{ 1000, 5, 360000, GAUSS },
		{ 1000, 3, 20000, GAUSS },	{ 1000, 200, 3000, GAUSS },
		{ 20000, 4000, 3000, TAIL },	{ 20000, 12, 40000, TAIL },
		{ 20000, 100, 20000, BIMODAL }, { 100, 2, 400000, TAIL },
	};
	static uint64_t v[MAX];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct startup s;

		fill(v, rows[i].n, rows[i].laps, rows[i].excess, rows[i].kind, 10 + i);
		s = found_in(v, rows[i].n);
		if (s.laps + 3 < rows[i].laps || s.laps > rows[i].laps + 3)
			fail_msg("row %zu: %d laps, wanted %zu", i, (int)s.laps, rows[i].laps);
		if (rows[i].kind != BIMODAL &&
		    fabs(s.excess - rows[i].excess) > 0.2 * rows[i].excess)
			fail_msg("row %zu: excess %g, wanted %g", i, s.excess, rows[i].excess);
	}
}

/* Caches that fill: 10 times as slow, and e times less every 20 laps. */
static void test_decay(void **state)
{
	static uint64_t v[MAX];
	struct startup s;

	(void)state;
	fill(v, 2000, 0, 0, GAUSS, 3);
	for (size_t i = 0; i < 2000; i++)
		v[i] += (uint64_t)(360000 * exp(-(double)i / 20));
	s = found_in(v, 2000);
	/* After 20 ln(360000 / 500) = 132 laps it is less than the noise's deviation. */
	assert_in_range(s.laps, 115, 160);
	assert_true(s.excess > 5000 && s.excess < 30000);
}

static void test_none(void **state)
{
	static const size_t lengths[] = { 50, 1000, 4000 };
	static uint64_t v[MAX];

	(void)state;
	for (int kind = 0; kind < NOISES; kind++) {
		int found = 0;

		for (size_t i = 0; i < 1500; i++) {
			fill(v, lengths[i % 3], 0, 0, kind, 1000 + i);
			found += found_in(v, lengths[i % 3]).laps > 0;
		}
		if (found > 15)
			fail_msg("noise %d: a start-up in %d of 1500 runs", kind, found);
	}
}

/* Too short, equal, faster at first, or slow for a third of the run. */
static void test_no_startup(void **state)
{
	static uint64_t v[MAX];

	(void)state;
	for (size_t n = 1; n < 200; n++) {
		for (size_t i = 0; i < n; i++)
			v[i] = 777;
		assert_int_equal(found_in(v, n).laps, 0);
	}
	fill(v, 10, 2, 400000, GAUSS, 1);
	assert_int_equal(found_in(v, 10).laps, 0);
	fill(v, 1000, 100, -20000, GAUSS, 1);
	assert_int_equal(found_in(v, 1000).laps, 0);
	fill(v, 1000, 333, 20000, GAUSS, 1);
	assert_int_equal(found_in(v, 1000).laps, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_decay),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_no_startup),
	};

	return cmocka_run_group_tests_name("startup", tests, NULL, NULL);
}
