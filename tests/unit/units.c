/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes, times, rates: what is read, what is refused, and that a refusal changes nothing. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "units.h"

#define UNTOUCHED 0xdeadbeef
#define COUNT(a)  (sizeof(a) / sizeof(*(a)))

struct row {
	const char *text;
	int rc;
	uint64_t value;
};

static void rows_check(int (*parse)(const char *, uint64_t *), const struct row *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t v = UNTOUCHED;
		int rc = parse(row[i].text, &v);
		uint64_t want = row[i].rc ? UNTOUCHED : row[i].value;

		if (rc != row[i].rc || v != want)
			fail_msg("\"%s\": %d, %llu; wanted %d, %llu", row[i].text, rc,
				 (unsigned long long)v, row[i].rc, (unsigned long long)want);
	}
}

static void test_numbers(void **state)
{
	static const struct row rows[] = {
		{ "0", 0, 0 },
		{ "18515", 0, 18515 },
		{ "007", 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999", -ERANGE, 0 },
		{ "0xffff", 0, 0xffff },
		{ "0XfF", 0, 255 },
		{ "0xffffffffffffffff", 0, UINT64_MAX },
		{ "0x10000000000000000", -ERANGE, 0 },
		{ "0x", -EINVAL, 0 },
		{ "0xg", -EINVAL, 0 },
		{ "12a", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
	};

	(void)state;
	rows_check(units_parse_u64, rows, COUNT(rows));
}

static void test_sizes(void **state)
{
	static const struct row rows[] = {
		{ "1", 0, 1 },
		{ "64", 0, 64 },
		{ "64B", 0, 64 },
		{ "4k", 0, 4096 },
		{ "4K", 0, 4096 },
		{ "4ki", 0, 4096 },
		{ "4KiB", 0, 4096 },
		{ "1M", 0, 1 << 20 },
		{ "8Mi", 0, 8 << 20 },
		{ "1G", 0, 1 << 30 },
		{ "1T", 0, 1ULL << 40 },
		{ "16777215T", 0, 16777215ULL << 40 },
		{ "16777216T", -ERANGE, 0 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "k", -EINVAL, 0 },
		{ "4kB", -EINVAL, 0 }, /* 1000 to some, 1024 to others */
		{ "4kk", -EINVAL, 0 },
		{ "4i", -EINVAL, 0 },
		{ "4 k", -EINVAL, 0 },
		{ "-4k", -EINVAL, 0 },
		{ "1.5k", -EINVAL, 0 },
		{ "1,2", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	(void)state;
	rows_check(units_parse_size, rows, COUNT(rows));
}

static void test_size_lists(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} wrong[] = {
		{ "", -EINVAL },     { ",", -EINVAL },	      { "1,", -EINVAL },
		{ ",1", -EINVAL },   { "1,,2", -EINVAL },     { "1,2x", -EINVAL },
		{ "1;2", -EINVAL },  { "1,2,3,4,5", -E2BIG }, { "1,99999999999T", -ERANGE },
		{ "1, 2", -EINVAL },
	};
	uint64_t v[4] = { 0 };

	(void)state;
	assert_int_equal(units_parse_sizes("1,64,4k", v, 4), 3);
	assert_int_equal(v[0], 1);
	assert_int_equal(v[1], 64);
	assert_int_equal(v[2], 4096);
	assert_int_equal(units_parse_sizes("8", v, 4), 1);
	assert_int_equal(v[0], 8);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		v[0] = UNTOUCHED;
		assert_int_equal(units_parse_sizes(wrong[i].text, v, 4), wrong[i].rc);
		assert_int_equal(v[0], UNTOUCHED);
	}
}

static void test_times(void **state)
{
	static const struct row rows[] = {
		{ "100ns", 0, 100 },
		{ "200us", 0, 200000 },
		{ "500ms", 0, 500000000 },
		{ "10s", 0, 10000000000 },
		{ "2m", 0, 120000000000 },
		{ "1h", 0, 3600000000000 },
		{ "10", 0, 10000000000 },
		{ "0.5", 0, 500000000 },
		{ ".5s", 0, 500000000 },
		{ "1.5us", 0, 1500 },
		{ "0.1", 0, 100000000 },
		{ "1.25ns", 0, 1 },
		{ "5.25usec", 0, 5250 },
		{ "0.9999999996", 0, 1000000000 },
		{ "0.00000000000000000000000000001h", 0, 0 },
		{ "0", 0, 0 },
		{ "18446744073.709551615", 0, UINT64_MAX },
		{ "18446744073.9", -ERANGE, 0 },
		{ "5124096h", -ERANGE, 0 },
		{ "1.", -EINVAL, 0 },
		{ ".", -EINVAL, 0 },
		{ "1.2.3", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "1d", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "nan", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	(void)state;
	rows_check(units_parse_time, rows, COUNT(rows));
}

static void test_rates(void **state)
{
	static const struct {
		const char *text;
		int rc;
		enum rate_kind kind;
		double value;
	} rows[] = {
		{ "65Gb/s", 0, RATE_BITS, 65e9 },
		{ "90Gbit/s", 0, RATE_BITS, 90e9 },
		{ "1.5Gbps", 0, RATE_BITS, 1.5e9 },
		{ "100b/s", 0, RATE_BITS, 100 },
		{ "8GB/s", 0, RATE_BITS, 64e9 },
		{ "1MiB/s", 0, RATE_BITS, 8.0 * (1 << 20) },
		{ "1k", 0, RATE_MESSAGES, 1000 },
		{ "2.5M", 0, RATE_MESSAGES, 2.5e6 },
		{ "1G/s", 0, RATE_MESSAGES, 1e9 },
		{ "10kmsg/s", 0, RATE_MESSAGES, 10000 },
		{ "10msg/s", 0, RATE_MESSAGES, 10 },
		{ "1000", 0, RATE_MESSAGES, 1000 },
		{ "0", -EINVAL, 0, 0 },
		{ "0Gb/s", -EINVAL, 0, 0 },
		{ "65Gb", -EINVAL, 0, 0 },
		{ "65Gb/s ", -EINVAL, 0, 0 },
		{ "Gb/s", -EINVAL, 0, 0 },
		{ "-1k", -EINVAL, 0, 0 },
		{ "1kk", -EINVAL, 0, 0 },
		{ "", -EINVAL, 0, 0 },
		{ "99999999999999999999", -ERANGE, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct units_rate r = { RATE_BITS, UNTOUCHED };
		int rc = units_parse_rate(rows[i].text, &r);

		if (rc != rows[i].rc || r.value != (rc ? UNTOUCHED : rows[i].value) ||
		    (!rc && r.kind != rows[i].kind))
			fail_msg("\"%s\": %d, %g", rows[i].text, rc, r.value);
	}
}

static void test_printing_reads_back(void **state)
{
	static const struct {
		uint64_t value;
		const char *size, *time;
	} rows[] = {
		{ 0, "0", "0s" },
		{ 1, "1", "1ns" },
		{ 1000, "1000", "1us" },
		{ 1023, "1023", "1023ns" },
		{ 4096, "4k", "4096ns" },
		{ 4097, "4097", "4097ns" },
		{ 1500000000, "1500000000", "1500ms" },
		{ 1ULL << 40, "1T", "1099511627776ns" },
		{ 90000000000, "87890625k", "90s" },
		{ 120000000000, "117187500k", "2m" },
		{ 7200000000000, "7031250000k", "2h" },
		{ 1ULL << 60, "1048576T", "1152921504606846976ns" },
		{ UINT64_MAX, "18446744073709551615", "18446744073709551615ns" },
	};
	char buf[UNITS_TEXT];
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_string_equal(units_print_size(buf, rows[i].value), rows[i].size);
		assert_int_equal(units_parse_size(buf, &v), 0);
		assert_int_equal(v, rows[i].value);
		assert_string_equal(units_print_time(buf, rows[i].value), rows[i].time);
		assert_int_equal(units_parse_time(buf, &v), 0);
		assert_int_equal(v, rows[i].value);
	}
}

static void test_bandwidth_units(void **state)
{
	(void)state; /* the value, and the digits that a table shows of it */
	assert_float_equal(units_gbit_s(12.5e9), 100, 1e-9);
	assert_float_equal(units_mb_s(12.5e9), 12500, 1e-9);
	assert_float_equal(units_mib_s(12.5e9), 11920.929, 5e-4);
	assert_true(units_mib_s(1 << 20) == 1);
}

static void test_cycles_to_usec(void **state)
{
	(void)state;
	assert_true(fabs(cycles_to_usec(25, 25e6) - 1) < 1e-12);
	assert_true(fabs(cycles_to_usec(2450, 2.45e9) - 1) < 1e-12);
	assert_true(fabs(cycles_to_usec(5000, 5e9) - 1) < 1e-12);
	assert_true(fabs(cycles_to_usec(1, 25e6) - 0.04) < 1e-12);
	/* 60 h at 3 GHz */
	assert_true(fabs(cycles_to_usec(6.48e14, 3e9) - 60 * 3600 * 1e6) < 1);
	/* A lap of 6000 cycles at 3 GHz: ping-pong 1 us, READ and ATOMIC 2 us. */
	assert_true(fabs(latency_factor(LATENCY_HALF_RTT) * cycles_to_usec(6000, 3e9) - 1) < 1e-12);
	assert_true(fabs(latency_factor(LATENCY_FULL_RTT) * cycles_to_usec(6000, 3e9) - 2) < 1e-12);
	assert_string_equal(latency_kind_name(LATENCY_HALF_RTT), "half_rtt");
	assert_string_equal(latency_kind_name(LATENCY_FULL_RTT), "full_rtt");
}

static void test_deadlines(void **state)
{
	(void)state;
	assert_int_equal(cycles_from_ns(1000000000, 2.45e9), 2450000000);
	assert_int_equal(cycles_from_ns(1, 25e6), 1); /* never early */
	assert_int_equal(cycles_from_ns(0, 5e9), 0);
	assert_int_equal(cycles_from_ns(41, 25e6), 2);
	assert_true(cycles_from_ns(UINT64_MAX, 5e9) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_size_lists),	cmocka_unit_test(test_times),
		cmocka_unit_test(test_rates),		cmocka_unit_test(test_printing_reads_back),
		cmocka_unit_test(test_bandwidth_units), cmocka_unit_test(test_cycles_to_usec),
		cmocka_unit_test(test_deadlines),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
