/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every figure of a summary on small known series, and on the series that break such code. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "stats.h"
#include "units.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* NAN equals NAN here. */
static void assert_same(double have, double want)
{
	if (isnan(want) ? !isnan(have) : !(fabs(have - want) <= fabs(want) * 1e-12))
		fail_msg("%.17g, wanted %.17g", have, want);
}

static uint64_t *series_make(size_t n, uint64_t from, int64_t step)
{
	uint64_t *v = malloc(n * sizeof(*v));

	assert_non_null(v);
	for (size_t i = 0; i < n; i++)
		v[i] = from + (uint64_t)((int64_t)i * step);
	return v;
}

static void test_few_samples(void **state)
{
	static const struct {
		uint64_t v[5], n;
		double median, mean, stdev;
		uint64_t min, max, max_at;
	} rows[] = {
		{ { 7 }, 1, 7, 7, NAN, 7, 7, 1 },
		{ { 9, 2 }, 2, 5.5, 5.5, 4.949747468305833, 2, 9, 1 },
		{ { 1, 3, 2 }, 3, 2, 2, 1, 1, 3, 2 },
		{ { 4, 1, 3, 10 }, 4, 3.5, 4.5, 3.872983346207417, 1, 10, 4 },
		{ { 5, 1, 4, 2, 3 }, 5, 3, 3, 1.5811388300841898, 1, 5, 1 },
		{ { 8, 8, 8, 8, 8 }, 5, 8, 8, 0, 8, 8, 1 },
		{ { 0, 0 }, 2, 0, 0, 0, 0, 0, 1 },
		{ { UINT64_MAX, 0, 1 },
		  3,
		  1,
		  6148914691236517205.0,
		  1.0650232656628344e19,
		  0,
		  UINT64_MAX,
		  1 },
	};
	struct stats s;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t before[5];

		memcpy(before, rows[i].v, sizeof(before));
		assert_int_equal(stats_summarise(rows[i].v, rows[i].n, &s), 0);
		assert_memory_equal(before, rows[i].v, sizeof(before));
		assert_int_equal(s.n, rows[i].n);
		assert_int_equal(s.min, rows[i].min);
		assert_int_equal(s.max, rows[i].max);
		assert_int_equal(s.max_at, rows[i].max_at);
		assert_same(s.median, rows[i].median);
		assert_same(s.mean, rows[i].mean);
		assert_same(s.stdev, rows[i].stdev);
		assert_same(s.p90, NAN);
		assert_same(s.ci95_lo, NAN);
		assert_same(s.ci95_hi, NAN);
	}
	assert_int_equal(stats_summarise(rows[0].v, 0, &s), -EINVAL);
	assert_int_equal(stats_from_sorted(rows[0].v, 0, &s), -EINVAL);
}

/* 500 x 1.0 us and 500 x 1.9 us, in ns: integers in usec would make 0.00 of it. */
static void test_stdev_below_a_microsecond(void **state)
{
	uint64_t *v = series_make(1000, 0, 0);
	struct stats_view us;
	struct stats s;
	char text[16];

	(void)state;
	for (int i = 0; i < 1000; i++)
		v[i] = i % 2 ? 1900 : 1000;
	assert_int_equal(stats_summarise(v, 1000, &s), 0);
	stats_scale(&s, cycles_to_usec(1, 1e9), &us);
	snprintf(text, sizeof(text), "%.3f", us.stdev);
	assert_string_equal(text, "0.450");
	assert_same(us.stdev, 0.45 * sqrt(1000.0 / 999));
	assert_same(us.mean, 1.45);
	free(v);
}

/* A constant far from 0 must not eat the digits of the deviation. */
static void test_stdev_far_from_zero(void **state)
{
	const uint64_t far = 650000000000000;
	uint64_t v[] = { far + 4, far + 7, far + 13, far + 16 };
	struct stats s;

	(void)state;
	assert_int_equal(stats_summarise(v, 4, &s), 0);
	assert_same(s.stdev, sqrt(30));
	assert_same(s.mean, (double)far + 10);
}

static void test_one_giant_is_the_max(void **state)
{
	uint64_t *v = series_make(1000, 1000, 0);
	struct stats s;

	(void)state;
	v[640] = 500000;
	assert_int_equal(stats_summarise(v, 1000, &s), 0);
	assert_int_equal(s.max, 500000);
	assert_int_equal(s.max_at, 641);
	assert_same(s.median, 1000);
	assert_same(s.mean, 1499);
	assert_same(s.p99_9, 1000);
	v[640] = (1ULL << 32) + 10;
	assert_int_equal(stats_summarise(v, 1000, &s), 0);
	assert_int_equal(s.max, (1ULL << 32) + 10);
	assert_same(s.mean, (999 * 1000 + 4294967306.0) / 1000);
	free(v);
}

/* Of 1..n the k-th value is k: a percentile is its own rank. */
static void test_percentiles(void **state)
{
	static const struct {
		size_t n;
		double p90, p99, p99_9, p99_99;
	} rows[] = {
		{ 1, NAN, NAN, NAN, NAN },
		{ 2, NAN, NAN, NAN, NAN },
		{ 5, NAN, NAN, NAN, NAN },
		{ 9, NAN, NAN, NAN, NAN },
		{ 10, 9, NAN, NAN, NAN },
		{ 11, 10, NAN, NAN, NAN },
		{ 99, 90, NAN, NAN, NAN },
		{ 100, 90, 99, NAN, NAN },
		{ 101, 91, 100, NAN, NAN },
		{ 999, 900, 990, NAN, NAN },
		{ 1000, 900, 990, 999, NAN },
		{ 1001, 901, 991, 1000, NAN },
		{ 9999, 9000, 9900, 9990, NAN },
		{ 10000, 9000, 9900, 9990, 9999 },
		{ 20001, 18001, 19801, 19981, 19999 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t *v = series_make(rows[i].n, rows[i].n, -1); /* descending: n..1 */
		struct stats s;

		assert_int_equal(stats_summarise(v, rows[i].n, &s), 0);
		assert_same(s.p90, rows[i].p90);
		assert_same(s.p99, rows[i].p99);
		assert_same(s.p99_9, rows[i].p99_9);
		assert_same(s.p99_99, rows[i].p99_99);
		assert_same(s.median, ((double)rows[i].n + 1) / 2);
		assert_false(s.median > s.p90 || s.p90 > s.p99 || s.p99 > s.p99_9 ||
			     s.p99_9 > s.p99_99 || s.p99_99 > (double)s.max);
		free(v);
	}
}

static void test_median_ranks(void **state)
{
	static const struct { /* summed exactly, in integers */
		uint64_t n, lo, hi;
	} rows[] = {
		{ 6, 1, 6 },	      { 7, 1, 7 },	    { 8, 1, 8 },
		{ 9, 2, 8 },	      { 10, 2, 9 },	    { 20, 6, 15 },
		{ 21, 6, 16 },	      { 50, 18, 33 },	    { 100, 40, 61 },
		{ 1000, 469, 532 },   { 4095, 1985, 2111 }, { 4096, 1985, 2112 },
		{ 4097, 1986, 2112 }, { 4098, 1986, 2113 }, { 10001, 4902, 5100 },
	};
	uint64_t lo = 77, hi = 77;

	(void)state;
	for (uint64_t n = 0; n < 6; n++)
		assert_int_equal(stats_median_ranks(n, 0.95, &lo, &hi), -ERANGE);
	assert_int_equal(lo, 77);
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(stats_median_ranks(rows[i].n, 0.95, &lo, &hi), 0);
		assert_int_equal(lo, rows[i].lo);
		assert_int_equal(hi, rows[i].hi);
	}
	assert_int_equal(stats_median_ranks(7, 0.99, &lo, &hi), -ERANGE);
	assert_int_equal(stats_median_ranks(100, 0.99, &lo, &hi), 0);
	assert_int_equal(lo, 37);
	assert_int_equal(hi, 64);
	/* The middle probability to seven digits: the level at which one rank more is needed. */
	assert_int_equal(stats_median_ranks(10002, 0.00797784843430923 * (1 - 1e-7), &lo, &hi), 0);
	assert_true(lo == 5001 && hi == 5002);
	assert_int_equal(stats_median_ranks(10002, 0.00797784843430923 * (1 + 1e-7), &lo, &hi), 0);
	assert_true(lo == 5000 && hi == 5003);
	/* 10^10: the normal law, 1.959964 half root n, within a rank */
	assert_int_equal(stats_median_ranks(10000000000, 0.95, &lo, &hi), 0);
	assert_true(lo >= 4999902000 && lo <= 4999902003);
	assert_int_equal(lo + hi, 10000000001);
}

/* 2000 series of 50: the interval holds the true median in 96.7 % of them. */
static void test_interval_covers(void **state)
{
	uint64_t v[50], x = 0x9e3779b97f4a7c15;
	int held = 0;

	(void)state;
	for (int k = 0; k < 2000; k++) {
		struct stats s;

		for (int i = 0; i < 50; i++) { /* skewed, true median 250000 */
			uint64_t u = random_next(&x) >> 44;

			v[i] = u * u / ((1ULL << 40) / 1000000);
		}
		assert_int_equal(stats_summarise(v, 50, &s), 0);
		held += s.ci95_lo <= 250000 && s.ci95_hi >= 250000;
		assert_true(s.ci95_lo <= s.median && s.median <= s.ci95_hi);
	}
	if (held < 1900 || held > 1970)
		fail_msg("%d of 2000", held);
}

static void test_scale(void **state)
{
	uint64_t *v = series_make(10000, 6000, 0);
	struct stats_view half, full;
	struct stats s;

	(void)state;
	v[0] = 3001;
	v[1] = 9001;
	assert_int_equal(stats_summarise(v, 10000, &s), 0);
	stats_scale(&s, latency_factor(LATENCY_HALF_RTT) * cycles_to_usec(1, 3e9), &half);
	stats_scale(&s, latency_factor(LATENCY_FULL_RTT) * cycles_to_usec(1, 3e9), &full);
	assert_same(half.median, 1);
	assert_same(full.median, 2);
	assert_int_equal(half.n, 10000);
	assert_int_equal(half.max_at, 2);
	for (const double *h = &half.min, *f = &full.min; h <= &half.ci95_hi; h++, f++)
		assert_true(*f == 2 * *h && *f > 0); /* --full-rtt doubles every column exactly */
	free(v);
}

static int u64_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_sort(void **state)
{
	static const uint64_t masks[] = {
		0, 0xff, 0xff00, 0xffff, 0xff000000ff, 0xfffff, ~0ULL, 0xff00000000000000
	};
	static const size_t sizes[] = { 0, 1, 2, 3, 255, 1000 };
	uint64_t v[1000], want[1000], scratch[1000], x = 1;

	(void)state;
	for (size_t m = 0; m < COUNT(masks); m++) {
		for (size_t k = 0; k < COUNT(sizes); k++) {
			for (size_t i = 0; i < sizes[k]; i++)
				v[i] = want[i] =
					(random_next(&x) & masks[m]) | (~masks[m] & 0x5a5a);
			qsort(want, sizes[k], sizeof(*want), u64_compare);
			sort_u64(v, sizes[k], scratch);
			assert_memory_equal(v, want, sizes[k] * sizeof(*v));
		}
	}
}

/* CPU time, which the neighbours on this machine do not change much. */
static double seconds_used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 10^7 where the code runs at full speed, less under valgrind, a sanitizer or emulation. */
static size_t many(void)
{
	const char *preload = getenv("LD_PRELOAD");
	size_t n = preload && strstr(preload, "vgpreload") ? 100000 : 10000000;

#if defined(SANITIZED) || !defined(__OPTIMIZE__) || !defined(__x86_64__)
	n = 100000;
#endif
	return n;
}

static void test_faster_than_qsort(void **state)
{
	size_t n = many();
	uint64_t *v = series_make(n, 0, 0), x = 7;
	double start, mine = INFINITY, qsorted;
	struct stats s;

	(void)state;
	for (size_t i = 0; i < n; i++) /* a lap of 5000 cycles, and now and then a long one */
		v[i] = 5000 + random_next(&x) % 2000 + (i % 1000 ? 0 : x % 1000000);
	for (int turn = 0; turn < 3; turn++) { /* the first pays for memory new to the machine */
		start = seconds_used();
		assert_int_equal(stats_summarise(v, n, &s), 0);
		mine = fmin(mine, seconds_used() - start);
	}
	start = seconds_used();
	qsort(v, n, sizeof(*v), u64_compare);
	qsorted = seconds_used() - start;
	print_message("# %zu samples: summary %.3f s, qsort alone %.3f s\n", n, mine, qsorted);
	assert_int_equal(s.max, v[n - 1]);
	assert_same(s.p99_99, (double)v[n - n / 10000 - 1]);
	if (n == 10000000)
		assert_true(mine < qsorted / 2);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_samples),
		cmocka_unit_test(test_stdev_below_a_microsecond),
		cmocka_unit_test(test_stdev_far_from_zero),
		cmocka_unit_test(test_one_giant_is_the_max),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_median_ranks),
		cmocka_unit_test(test_interval_covers),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_faster_than_qsort),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
