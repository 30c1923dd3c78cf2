/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hundred largest of a stream, against a sort of all of it. */
#include "unit.h"

#include "worst.h"

#define N 20000

static int larger_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void check(const uint64_t *v, unsigned int n)
{
	static struct worst w;
	uint64_t *sorted = malloc((n + 1) * sizeof(*sorted));

	memcpy(sorted, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*sorted), larger_first);
	worst_init(&w);
	for (unsigned int i = 0; i < n; i++)
		worst_see(&w, v[i], i + 1, 1000 + i);
	worst_sort(&w);
	assert_int_equal(w.count, n < WORST_MAX ? n : WORST_MAX);
	for (unsigned int i = 0; i < w.count; i++) {
		assert_int_equal(w.v[i].value, sorted[i]);
		/* Each has its own place. */
		assert_int_equal(v[w.v[i].lap - 1], w.v[i].value);
		assert_int_equal(w.v[i].at, 999 + w.v[i].lap);
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(w.v[k].lap, w.v[i].lap);
	}
	free(sorted);
}

static void test_shapes(void **state)
{
	static const unsigned int sizes[] = { 0, 1, 2, 99, 100, 101, 1000, N };
	static uint64_t up[N], down[N], mixed[N];

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		up[i] = i + 1;
		down[i] = N - i;
		mixed[i] = (i * 2654435761u) % 9973 + 1;
	}
	for (size_t i = 0; i < COUNT(sizes); i++) {
		check(up, sizes[i]);
		check(down, sizes[i]);
		check(mixed, sizes[i]);
	}
}

/* Of equal ones the earlier come first, and those that came first stay. */
static void test_equal(void **state)
{
	static struct worst w;

	(void)state;
	worst_init(&w);
	for (uint64_t i = 1; i <= 1000; i++)
		worst_see(&w, 7, i, i);
	worst_sort(&w);
	assert_int_equal(w.count, WORST_MAX);
	for (unsigned int i = 0; i < WORST_MAX; i++)
		assert_int_equal(w.v[i].lap, i + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shapes), cmocka_unit_test(test_equal) };

	return cmocka_run_group_tests_name("worst", tests, NULL, NULL);
}
