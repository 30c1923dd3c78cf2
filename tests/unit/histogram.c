/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The buckets themselves, and a summary against the exact one of the same samples. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "histogram.h"

#define N 20000

struct fixture {
	struct histogram h, other, out;
	uint64_t v[N];
};

static uint64_t random_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static int fixture_open(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	uint64_t x = 42;

	if (!f)
		return -1;
	histogram_init(&f->h);
	histogram_init(&f->other);
	for (int i = 0; i < N; i++) /* from 5000, with a tail over eight octaves */
		f->v[i] = 5000 + (random_next(&x) % 100000 >> (x >> 40) % 16);
	f->v[17] = 3; /* far from the rest: the point the sums are taken from does not matter */
	f->v[777] = (1ULL << 32) + 10;
	*state = f;
	return 0;
}

static int fixture_close(void **state)
{
	free(*state);
	return 0;
}

static void counts_check(const struct histogram *h)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++)
		sum += h->bucket[i];
	assert_int_equal(sum, h->count);
}

static void assert_near(double have, double want, double tolerance)
{
	if (!(fabs(have - want) <= fabs(want) * tolerance))
		fail_msg("%.17g, wanted %.17g", have, want);
}

static void test_buckets(void **state)
{
	(void)state;
	assert_int_equal(histogram_low(0), 0);
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t lo = histogram_low(i), hi = histogram_high(i);

		assert_true(lo <= hi);
		assert_int_equal(histogram_index(lo), i);
		assert_int_equal(histogram_index(hi), i);
		assert_true(!i || histogram_high(i - 1) + 1 == lo); /* no gap */
		assert_true((double)(hi - lo) / 2 <= 0.004 * (double)lo);
	}
	assert_int_equal(histogram_index(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void summary_compare(const struct stats *have, const struct stats *want)
{
	assert_int_equal(have->n, want->n);
	assert_int_equal(have->min, want->min);
	assert_int_equal(have->max, want->max);
	assert_int_equal(have->max_at, want->max_at);
	assert_near(have->mean, want->mean, 1e-12);
	assert_near(have->stdev, want->stdev, 1e-9);
	assert_near(have->median, want->median, 0.004);
	assert_near(have->p90, want->p90, 0.004);
	assert_near(have->p99, want->p99, 0.004);
	assert_near(have->p99_9, want->p99_9, 0.004);
	assert_near(have->p99_99, want->p99_99, 0.004);
	assert_near(have->ci95_lo, want->ci95_lo, 0.004);
	assert_near(have->ci95_hi, want->ci95_hi, 0.004);
}

static void test_summary(void **state)
{
	struct fixture *f = *state;
	struct stats have, want;

	for (int i = 0; i < N; i++)
		histogram_add(&f->h, f->v[i]);
	counts_check(&f->h);
	assert_int_equal(histogram_summarise(&f->h, &have), 0);
	assert_int_equal(stats_summarise(f->v, N, &want), 0);
	summary_compare(&have, &want);
}

static void test_merge(void **state)
{
	struct fixture *f = *state;
	struct stats have, want;

	for (int i = 0; i < N; i++)
		histogram_add(i < 500 ? &f->h : &f->other, f->v[i]);
	histogram_merge(&f->h, &f->other);
	histogram_init(&f->other);
	histogram_merge(&f->h, &f->other); /* nothing */
	histogram_merge(&f->other, &f->h); /* into nothing */
	counts_check(&f->other);
	assert_int_equal(histogram_summarise(&f->other, &have), 0);
	assert_int_equal(stats_summarise(f->v, N, &want), 0);
	summary_compare(&have, &want);
}

/* The second half as the difference of two snapshots. */
static void test_interval(void **state)
{
	struct fixture *f = *state;
	struct stats have, want;

	f->v[N - 1] = (1ULL << 33) + 1;
	for (int i = 0; i < N; i++) {
		if (i == N / 2)
			f->other = f->h;
		histogram_add(&f->h, f->v[i]);
	}
	assert_int_equal(histogram_subtract(&f->h, &f->other, &f->out), 0);
	counts_check(&f->out);
	assert_int_equal(histogram_summarise(&f->out, &have), 0);
	assert_int_equal(stats_summarise(f->v + N / 2, N / 2, &want), 0);
	assert_near((double)have.min, (double)want.min, 0.008); /* a bucket's edge */
	assert_true(have.min <= want.min);
	have.min = want.min;
	summary_compare(&have, &want);
	/* An interval without the run's maximum ends at a bucket's edge. */
	histogram_add(&f->h, 5001);
	histogram_subtract(&f->h, &f->out, &f->other);
	f->other = f->h;
	histogram_add(&f->h, 5001);
	assert_int_equal(histogram_subtract(&f->h, &f->other, &f->other), 0);
	assert_int_equal(f->other.count, 1);
	assert_int_equal(f->other.max_at, 0);
	assert_true(f->other.min <= 5001 && f->other.max >= 5001 && f->other.max < 5050);
}

static void test_subtract_refused(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 100; i++)
		histogram_add(&f->h, f->v[i]);
	f->other = f->h;
	histogram_add(&f->h, 1);
	assert_int_equal(histogram_subtract(&f->other, &f->h, &f->out), -EINVAL); /* order */
	histogram_init(&f->other);
	histogram_add(&f->other, 12345678);
	assert_int_equal(histogram_subtract(&f->h, &f->other, &f->out), -EINVAL); /* another */
	histogram_init(&f->other);
	assert_int_equal(histogram_subtract(&f->other, &f->other, &f->out), 0); /* empty */
	assert_int_equal(f->out.count, 0);
}

/* 2^33 laps in one bucket, by doubling: nothing is 32 bits wide. */
static void test_counts_beyond_32_bits(void **state)
{
	struct fixture *f = *state;
	struct stats s;

	histogram_add(&f->h, 5000);
	for (int i = 0; i < 33; i++) {
		f->other = f->h;
		histogram_merge(&f->h, &f->other);
	}
	histogram_add(&f->h, 650000000000000);
	counts_check(&f->h);
	assert_int_equal(histogram_summarise(&f->h, &s), 0);
	assert_int_equal(s.n, (1ULL << 33) + 1);
	assert_int_equal(s.max, 650000000000000);
	assert_int_equal(s.max_at, (1ULL << 33) + 1);
	assert_near(s.p99, 5000, 0.004);
	assert_near(s.p99_99, 5000, 0.004);
	assert_near(s.mean, (5000.0 * 8589934592 + 650000000000000) / 8589934593, 1e-12);
	assert_true(isfinite(s.stdev) && s.stdev > 0);
	assert_near(s.ci95_lo, 5000, 0.004);
}

static void test_extremes(void **state)
{
	struct fixture *f = *state;
	struct stats s;

	assert_int_equal(histogram_summarise(&f->h, &s), -EINVAL);
	histogram_add(&f->h, 0);
	assert_int_equal(histogram_summarise(&f->h, &s), 0);
	assert_int_equal(s.max_at, 1);
	assert_true(s.median == 0 && s.mean == 0 && isnan(s.stdev) && isnan(s.p90));
	histogram_add(&f->h, 0);
	histogram_add(&f->h, 255);
	assert_int_equal(histogram_summarise(&f->h, &s), 0);
	assert_int_equal(s.max_at, 3);
	assert_true(s.median == 0 && s.mean == 85 && s.min == 0 && s.max == 255);
	histogram_init(&f->h);
	for (int i = 0; i < 1000; i++) /* equal samples: clipped to what was seen */
		histogram_add(&f->h, 6001);
	assert_int_equal(histogram_summarise(&f->h, &s), 0);
	assert_true(s.median == 6001 && s.p99_9 == 6001 && s.stdev == 0 && s.mean == 6001);
	histogram_init(&f->h);
	histogram_add(&f->h, UINT64_MAX);
	assert_int_equal(histogram_summarise(&f->h, &s), 0);
	assert_true(s.max == UINT64_MAX && s.median == (double)UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		cmocka_unit_test_setup_teardown(test_summary, fixture_open, fixture_close),
		cmocka_unit_test_setup_teardown(test_merge, fixture_open, fixture_close),
		cmocka_unit_test_setup_teardown(test_interval, fixture_open, fixture_close),
		cmocka_unit_test_setup_teardown(test_subtract_refused, fixture_open, fixture_close),
		cmocka_unit_test_setup_teardown(test_counts_beyond_32_bits, fixture_open,
						fixture_close),
		cmocka_unit_test_setup_teardown(test_extremes, fixture_open, fixture_close),
	};

	return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
