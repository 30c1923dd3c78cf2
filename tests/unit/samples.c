/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stamps to samples: how many, which, what a step back does; the array's pages are there. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "samples.h"
#include "stats.h"

static void test_counts(void **state)
{
	static const struct {
		size_t stamps, warmup, samples;
	} rows[] = {
		{ 0, 0, 0 },	     { 1, 0, 0 },	 { 2, 0, 1 },	     { 1001, 0, 1000 },
		{ 1101, 100, 1000 }, { 101, 100, 0 },	 { 102, 100, 1 },    { 3, 2, 0 },
		{ 3, 1, 1 },	     { 5, SIZE_MAX, 0 }, { 0, SIZE_MAX, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(samples_count(rows[i].stamps, rows[i].warmup), rows[i].samples);
}

static void test_deltas(void **state)
{
	const uint64_t base = UINT64_MAX / 2;
	uint64_t t[] = { base, base + 10, base + 30, base + 60, base + 60 + (1ULL << 32) + 10 };
	uint64_t out[4], back = 7;

	(void)state;
	assert_int_equal(samples_from_stamps(t, 5, 0, out, &back), 0);
	assert_int_equal(back, 0);
	assert_int_equal(out[0], 10);
	assert_int_equal(out[1], 20);
	assert_int_equal(out[2], 30);
	assert_int_equal(out[3], (1ULL << 32) + 10);
}

/* Warm-up goes by position, whatever the values are; in place as well. */
static void test_warmup_in_place(void **state)
{
	uint64_t t[] = { 0, 1, 1000, 1001, 1003, 1006 }, back;

	(void)state;
	assert_int_equal(samples_from_stamps(t, 6, 2, t, &back), 0);
	assert_int_equal(t[0], 1);
	assert_int_equal(t[1], 2);
	assert_int_equal(t[2], 3);
}

static void test_step_back_is_an_error(void **state)
{
	uint64_t t[] = { 100, 200, 199, 300, 10, 20 }, out[5], back;

	(void)state;
	assert_int_equal(samples_from_stamps(t, 6, 0, out, &back), -ERANGE);
	assert_int_equal(back, 2);
	assert_int_equal(out[0], 100);
	assert_int_equal(out[1], 0);
	assert_int_equal(out[2], 101);
	assert_int_equal(out[3], 0);
	assert_int_equal(out[4], 10);
	/* A step back inside the warm-up is cut with it. */
	assert_int_equal(samples_from_stamps(t, 4, 2, out, &back), 0);
	assert_int_equal(back, 0);
}

static void test_too_few(void **state)
{
	uint64_t t[] = { 5 }, out = 77, back = 1;

	(void)state;
	assert_int_equal(samples_from_stamps(t, 1, 0, &out, &back), 0);
	assert_int_equal(samples_from_stamps(t, 0, 0, &out, &back), 0);
	assert_int_equal(out, 77);
	assert_int_equal(back, 0);
}

/* What -U shows, sorted, is what -H shows; and neither loses a sample. */
static void test_sorted_is_unsorted(void **state)
{
	enum { N = 1000 };
	uint64_t t[N + 1] = { 12345 }, out[N], sorted[N], scratch[N], back, x = 88172645463325252;
	struct stats s;

	(void)state;
	for (int i = 0; i < N; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		t[i + 1] = t[i] + x % 100000;
	}
	assert_int_equal(samples_from_stamps(t, N + 1, 0, out, &back), 0);
	assert_int_equal(stats_summarise_into(out, N, sorted, scratch, &s), 0);
	assert_int_equal(s.n, N);
	for (int i = 0; i < N; i++) { /* each value as often in one as in the other */
		int more = 0;

		for (int k = 0; k < N; k++)
			more += (out[k] == out[i]) - (sorted[k] == out[i]);
		assert_int_equal(more, 0);
		assert_true(!i || sorted[i - 1] <= sorted[i]);
		assert_int_equal(out[i], t[i + 1] - t[i]);
	}
}

static void test_array_is_populated(void **state)
{
	enum { N = 100000 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (N * 8 + page - 1) / page;
	unsigned char *resident = calloc(pages, 1);
	struct samples s;

	(void)state;
	assert_non_null(resident);
	assert_int_equal(samples_open(&s, N), 0);
	assert_int_equal(s.cap, N);
	assert_int_equal(mincore(s.v, s.bytes, resident), 0);
	for (size_t i = 0; i < pages; i++)
		assert_true(resident[i] & 1);
	assert_int_equal(s.v[0] | s.v[N - 1], 0);
	s.v[N - 1] = 1;
	samples_close(&s);
	assert_null(s.v);
	samples_close(&s); /* twice is fine */
	free(resident);
}

static void test_array_refused(void **state)
{
	struct samples s;

	(void)state;
	assert_int_equal(samples_open(&s, 0), -EINVAL);
	assert_int_equal(samples_open(&s, SIZE_MAX / 8 + 2), -EOVERFLOW);
	assert_null(s.v);
	assert_int_equal(samples_open(&s, SIZE_MAX / 8), -ENOMEM);
	assert_null(s.v);
	samples_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_deltas),
		cmocka_unit_test(test_warmup_in_place),
		cmocka_unit_test(test_step_back_is_an_error),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_sorted_is_unsorted),
		cmocka_unit_test(test_array_is_populated),
		cmocka_unit_test(test_array_refused),
	};

	return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
