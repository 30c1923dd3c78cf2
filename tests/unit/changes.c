/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps that are planted are found within three laps; noise of every kind has none. */
#include "changes.h"
#include "draws.h"
#include "unit.h"

#define MAX 100000

enum noise { GAUSS, TAIL, CORRELATED, TWO_MODES, TICKS, NOISES };

static double noise(struct draws *d, enum noise kind, size_t i, double *state)
{
	switch (kind) {
	case GAUSS:
		return 500 * draw_normal(d);
	case TAIL:
		return 500 * draw_exponential(d) + (draw_uniform(d) < 0.01 ? 60000 : 0);
	case CORRELATED:
		return *state = 0.5 * *state + 433 * draw_normal(d);
	case TWO_MODES:
		return 300 * draw_normal(d) + (draw_uniform(d) < 0.3 ? 9000 : 0);
	default:
		return 300 * draw_normal(d) + (i % 97 == 0 ? 8000 : 0);
	}
}

struct step {
	size_t lap;
	double level;
};

static void fill(uint64_t *v, size_t n, const struct step *steps, enum noise kind, uint64_t seed)
{
	struct draws d = { seed };
	double level = 40000, state = 0;

	for (size_t i = 0; i < n; i++) {
		if (steps && steps->lap == i)
			level = (steps++)->level;
		v[i] = (uint64_t)(level + noise(&d, kind, i, &state));
	}
}

#define CAP 50

/* As lat_stats does it: blocks first, then laps. */
static size_t find(const uint64_t *v, size_t n, struct change *c)
{
	uint64_t block = changes_block(n), *scratch = malloc(2 * block * sizeof(*scratch));
	double *medians = malloc(CHANGES_BLOCKS * sizeof(*medians));
	size_t blocks = changes_medians(v, n, block, scratch, medians), count;

	assert_true(blocks <= CHANGES_BLOCKS);
	assert_int_equal(changes_find(medians, blocks, block, c, CAP, &count), 0);
	for (size_t i = 0; i < count; i++) {
		uint64_t from = c[i].lap - 3 * block, to = c[i].lap + 3 * block;

		to = to < n ? to : n;
		c[i].lap = from + changes_refine(v + from, to - from, c[i].before, c[i].after);
	}
	free(medians);
	free(scratch);
	return count;
}

static void expect(size_t n, const struct step *steps, size_t count, enum noise kind)
{
	static uint64_t v[MAX];
	struct change c[CAP];
	double before = 40000;

	fill(v, n, steps, kind, 5 + n);
	if (find(v, n, c) != count)
		fail_msg("n %zu, noise %d: %zu changes, wanted %zu", n, kind, find(v, n, c), count);
	for (size_t i = 0; i < count; i++) {
		double off = kind == TAIL ? 347 : 0; /* median of the noise */

		if (c[i].lap + 3 < steps[i].lap || c[i].lap > steps[i].lap + 3)
			fail_msg("n %zu, noise %d: at %d, wanted %zu", n, kind, (int)c[i].lap,
				 steps[i].lap);
		assert_true(fabs(c[i].before - before - off) < 150);
		assert_true(fabs(c[i].after - steps[i].level - off) < 150);
		before = steps[i].level;
	}
}

static void test_planted(void **state)
{
	static const struct step one[] = { { 501, 44000 }, { 0, 0 } };
	static const struct step three[] = {
		{ 3333, 36000 }, { 5000, 60000 }, { 9001, 40000 }, { 0, 0 }
	};
	static const struct step late[] = { { 77777, 46000 }, { 99000, 400000 }, { 0, 0 } };
	static const enum noise kinds[] = { GAUSS, TAIL, CORRELATED, TICKS };

	(void)state;
	for (size_t k = 0; k < COUNT(kinds); k++) {
		expect(1000, one, 1, kinds[k]);
		expect(10000, three, 3, kinds[k]);
		expect(100000, late, 2, kinds[k]);
	}
}

static void test_none(void **state)
{
	static const size_t lengths[] = { 200, 1000, 5000 };
	static uint64_t v[MAX];
	struct change c[CAP];

	(void)state;
	for (int kind = 0; kind < NOISES; kind++) {
		int runs = 0;

		for (size_t i = 0; i < 300; i++) {
			fill(v, lengths[i % 3], NULL, kind, 100 + i);
			runs += find(v, lengths[i % 3], c) > 0;
		}
		if (runs > 3)
			fail_msg("noise %d: changes in %d of 300 runs", kind, runs);
	}
}

/* A step below one percent, a burst of a few laps, too few samples, a coarse clock. */
static void test_not_worth_it(void **state)
{
	static const struct step small[] = { { 5000, 40200 }, { 0, 0 } };
	static uint64_t v[MAX];
	struct change c[CAP];

	(void)state;
	fill(v, 10000, small, TICKS, 1);
	assert_int_equal(find(v, 10000, c), 0);
	fill(v, 10000, NULL, GAUSS, 1);
	for (size_t i = 5000; i < 5015; i++)
		v[i] += 400000;
	assert_int_equal(find(v, 10000, c), 0);
	for (size_t n = 1; n < 8 * CHANGES_MIN; n++)
		assert_int_equal(find(v, n, c), 0);
	for (size_t i = 0; i < 10000; i++)
		v[i] = 40 + (i % 3 == 0);
	assert_int_equal(find(v, 10000, c), 0);
}

static void test_refine(void **state)
{
	static const uint64_t v[] = { 10, 11, 9, 10, 99, 20, 21, 19, 10, 20 };

	(void)state;
	assert_int_equal(changes_refine(v, COUNT(v), 10, 20), 4);
	assert_int_equal(changes_refine(v, COUNT(v), 20, 10), 0);
	assert_int_equal(changes_refine(v, 4, 10, 20), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_not_worth_it),
		cmocka_unit_test(test_refine),
	};

	return cmocka_run_group_tests_name("changes", tests, NULL, NULL);
}
