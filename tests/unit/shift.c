/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The shift between two distributions: against all pairs, and how often its interval holds it. */
#include "draws.h"
#include "shift.h"
#include "stats.h"
#include "unit.h"

#define N 300

static void fill(struct draws *d, uint64_t *v, size_t n, double by)
{
	uint64_t scratch[N];

	for (size_t i = 0; i < n; i++)
		v[i] = (uint64_t)(100000 + 1000 * draw_exponential(d) + by);
	sort_u64(v, n, scratch);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void test_all_pairs(void **state)
{
	static double all[N * N];
	uint64_t a[N], b[N];
	struct draws d = { 17 };
	struct shift s;

	(void)state;
	for (size_t n = 1; n < 60; n += 7) {
		for (size_t m = 1; m < 60; m += 11) {
			struct shift_side x = { a, n, 0.5, (double)n },
					  y = { b, m, 0.25, (double)m };
			size_t k = 0;

			fill(&d, a, n, 0);
			fill(&d, b, m, 500);
			for (size_t i = 0; i < n; i++)
				for (size_t j = 0; j < m; j++)
					all[k++] = (double)b[j] * 0.25 - (double)a[i] * 0.5;
			qsort(all, k, sizeof(*all), compare);
			shift_find(&x, &y, 0.95, &s);
			assert_true(fabs(s.by - all[(k + 1) / 2 - 1]) < 1e-6);
			assert_true(s.lo <= s.by && s.by <= s.hi);
		}
	}
}

static void test_coverage(void **state)
{
	enum { RUNS = 2000 };
	uint64_t a[N], b[N];
	struct draws d = { 23 };
	int held = 0, apart = 0;

	(void)state;
	for (int i = 0; i < RUNS; i++) {
		struct shift_side x = { a, N, 1, N }, y = { b, N / 2, 1, N / 2.0 };
		struct shift s;

		fill(&d, a, N, 0);
		fill(&d, b, N / 2, 150);
		shift_find(&x, &y, 0.95, &s);
		held += s.lo <= 150 && s.hi >= 150;
		y.effective /= 100; /* fewer independent ones: wider */
		apart -= s.hi < 250;
		shift_find(&x, &y, 0.95, &s);
		apart += s.hi < 250;
	}
	assert_in_range(held, RUNS * 93 / 100, RUNS * 97 / 100);
	assert_true(apart < 0);
}

static void test_equal(void **state)
{
	uint64_t v[] = { 7, 7, 7 };
	struct shift_side x = { v, 3, 1, 3 };
	struct shift s;

	(void)state;
	shift_find(&x, &x, 0.95, &s);
	assert_true(s.by == 0 && s.lo == 0 && s.hi == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_pairs),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_equal),
	};

	return cmocka_run_group_tests_name("shift", tests, NULL, NULL);
}
