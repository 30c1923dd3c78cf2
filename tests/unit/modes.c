/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two clusters are found with their medians and shares; one, of whatever shape, is not two. */
#include "draws.h"
#include "modes.h"
#include "stats.h"
#include "unit.h"

#define MAX 20000

/* Sorted draws: @share of them around 18000, the rest around @high, deviation 300. */
static void two_clusters(uint64_t *v, size_t n, double share, double high, uint64_t seed)
{
	uint64_t scratch[MAX];
	struct draws d = { seed };

	for (size_t i = 0; i < n; i++)
		v[i] = (uint64_t)((draw_uniform(&d) < share ? 18000 : high) +
				  300 * draw_normal(&d));
	sort_u64(v, n, scratch);
}

static void test_two(void **state)
{
	static const struct {
		size_t n;
		double share, high;
	} rows[] = { { 200, 0.5, 24000 },
		     { 1000, 0.25, 21000 },
		     { 1000, 0.75, 21000 },
		     { 20000, 0.5, 19500 },
		     { 20000, 0.22, 60000 } };
	uint64_t v[MAX];
	struct modes m;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		two_clusters(v, rows[i].n, rows[i].share, rows[i].high, 3 + i);
		assert_int_equal(modes_find(v, rows[i].n, &m), 0);
		if (!m.two)
			fail_msg("row %zu: not found", i);
		assert_true(fabs(m.low.share - rows[i].share) < 2.5 / sqrt((double)rows[i].n));
		assert_true(fabs(m.low.share + m.high.share - 1) < 1e-12);
		assert_true(fabs(m.low.median - 18000) < 150);
		assert_true(fabs(m.high.median - rows[i].high) < 150);
		assert_true(m.highest > m.low.median && m.highest < m.high.median);
	}
}

/* A second cluster below a fifth, and two that the eye would not tell apart. */
static void test_not_two(void **state)
{
	uint64_t v[MAX], equal[100] = { 0 };
	struct modes m;

	(void)state;
	two_clusters(v, MAX, 0.85, 60000, 5);
	assert_int_equal(modes_find(v, MAX, &m), 0);
	assert_false(m.two);
	two_clusters(v, MAX, 0.15, 60000, 5);
	assert_int_equal(modes_find(v, MAX, &m), 0);
	assert_false(m.two);
	two_clusters(v, MAX, 0.5, 18600, 5);
	assert_int_equal(modes_find(v, MAX, &m), 0);
	assert_false(m.two);
	for (size_t n = 0; n <= COUNT(equal); n++) {
		assert_int_equal(modes_find(equal, n, &m), 0);
		assert_false(m.two);
	}
}

static double draw(struct draws *d, int shape)
{
	switch (shape) {
	case 0:
		return 18000 + 300 * draw_normal(d);
	case 1:
		return 18000 + 5000 * draw_exponential(d);
	case 2:
		return 18000 + 9000 * draw_uniform(d);
	case 3: /* heavy tail */
		return 18000 / pow(draw_uniform(d), 0.5);
	case 4: /* a clock with steps of 32 */
		return 32 * floor((18000 + 40 * draw_normal(d)) / 32);
	default: /* one cluster and hiccups */
		return 18000 + 200 * draw_normal(d) + (draw_uniform(d) < 0.05 ? 90000 : 0);
	}
}

static void test_one_cluster(void **state)
{
	static const size_t lengths[] = { 50, 200, 1000 };
	uint64_t v[1000], scratch[1000];
	struct draws d = { 99 };
	struct modes m;

	(void)state;
	for (int shape = 0; shape < 6; shape++) {
		int found = 0;

		for (int i = 0; i < 3000; i++) {
			size_t n = lengths[i % 3];

			for (size_t k = 0; k < n; k++)
				v[k] = (uint64_t)fmax(draw(&d, shape), 0);
			sort_u64(v, n, scratch);
			assert_int_equal(modes_find(v, n, &m), 0);
			found += m.two;
		}
		if (found > 3)
			fail_msg("shape %d: two clusters in %d of 3000 series", shape, found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_not_two),
		cmocka_unit_test(test_one_cluster),
	};

	return cmocka_run_group_tests_name("modes", tests, NULL, NULL);
}
