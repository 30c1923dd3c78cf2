/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What can be said of the real clocks without asserting a time: order, the fence in the machine
 * code, agreement of the counter and clock_gettime(). calibration.c has the simulated machines.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cycles.h"
#include "units.h"

static void test_gettime(void **state)
{
	struct clock_cert cert;

	(void)state;
	assert_int_equal(clock_calibrate(CLOCK_SRC_GETTIME, NULL, &cert), 0);
	assert_true(cert.hz == 1e9 && cert.ppm == 0 && cert.trusted);
	assert_string_equal(cert.name, "gettime");
	assert_true(cert.read_ns > 0 && cert.start.raw_ns > 0);
	clock_cert_refine(&cert, &cert.start, &cert.start);
	assert_true(cert.trusted && cert.hz == 1e9);
}

static void test_names(void **state)
{
	enum clock_source s = 77;

	(void)state;
	assert_int_equal(clock_source_parse("rdtsc", &s), -EINVAL);
	assert_int_equal(clock_source_parse("", &s), -EINVAL);
	assert_int_equal(s, 77);
	assert_int_equal(clock_source_parse("gettime", &s), 0);
	assert_int_equal(s, CLOCK_SRC_GETTIME);
#if CYCLES_HAVE_COUNTER
	assert_int_equal(clock_source_parse(CYCLES_NAME, &s), 0);
	assert_int_equal(s, CLOCK_SRC_COUNTER);
	assert_int_equal(clock_source_parse("tsc", &s), 0);
	assert_int_equal(clock_source_default(), CLOCK_SRC_COUNTER);
#else
	assert_int_equal(clock_source_parse("tsc", &s), -ENOTSUP);
	assert_int_equal(clock_source_default(), CLOCK_SRC_GETTIME);
	assert_int_equal(clock_calibrate(CLOCK_SRC_COUNTER, NULL, &(struct clock_cert){ 0 }),
			 -ENOTSUP);
#endif
}

static void test_never_decreasing(void **state)
{
	(void)state;
	for (int source = CLOCK_SRC_COUNTER; source <= CLOCK_SRC_GETTIME; source++) {
		uint64_t last = cycles_read(source), now;

		for (int i = 0; i < 1000000; i++, last = now) {
			now = cycles_read(source);
			if (now < last)
				fail_msg("source %d went back by %llu", source,
					 (unsigned long long)(last - now));
		}
	}
}

static void test_gettime_is_raw_nanoseconds(void **state)
{
	struct timespec before, after;
	uint64_t now;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC_RAW, &before);
	now = cycles_gettime();
	clock_gettime(CLOCK_MONOTONIC_RAW, &after);
	assert_true(now >= (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec);
	assert_true(now <= (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec);
}

/* Each clock around the other, so that losing the CPU between two reads fails neither test. */
static void test_clocks_agree(void **state)
{
	struct clock_cert cert;
	uint64_t c0, c1, c2, c3, g0, g1;
	double outer, inner, gettime;

	(void)state;
	assert_int_equal(clock_calibrate(clock_source_default(), NULL, &cert), 0);
	c0 = cycles_read(cert.source);
	g0 = cycles_gettime();
	c1 = cycles_read(cert.source);
	do
		c2 = cycles_read(cert.source);
	while (cycles_to_usec((double)(c2 - c1), cert.hz) < 20000);
	g1 = cycles_gettime();
	c3 = cycles_read(cert.source);
	gettime = (double)(g1 - g0) / 1e3;
	outer = cycles_to_usec((double)(c3 - c0), cert.hz);
	inner = cycles_to_usec((double)(c2 - c1), cert.hz);
	assert_true(gettime <= outer * 1.01 && inner <= gettime * 1.01);
}

#if CYCLES_HAVE_COUNTER
uint64_t fence_probe(void);

__attribute__((noinline)) uint64_t fence_probe(void)
{
	return cycles_tsc();
}

/* The read as the compiler left it: the instruction before it is the fence, and none follows. */
static const char *const probe_wanted[] = {
#if defined(__x86_64__) || defined(__i386__)
	"lfence",
	"rdtsc",
#elif defined(__aarch64__)
	"isb",
	"cntvct_el0",
#elif defined(__powerpc64__)
	"isync",
	"mftb",
#elif defined(__riscv)
	"fence",
	"rdtime",
#else
	"stck\t", "lg", /* serialises by itself, where stckf does not */
#endif
};

static void test_fence_is_there(void **state)
{
	const char *tool = getenv("OBJDUMP");
	char exe[4096] = "", command[4400], line[256];
	int found = 0, fences = 0;
	bool before = false;
	FILE *f;

	(void)state;
	assert_true(fence_probe() > 0);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	snprintf(command, sizeof(command),
		 "%s -d --no-show-raw-insn --disassemble=fence_probe '%s' 2>/dev/null",
		 tool ? tool : "objdump", exe);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (before)
			found += strstr(line, probe_wanted[1]) != NULL;
		before = strstr(line, probe_wanted[0]) != NULL && line[0] == ' ';
		fences += before;
	}
	if (pclose(f))
		skip(); /* no objdump, or it does not know this architecture */
	assert_int_equal(found, 1);
	assert_int_equal(fences, 1);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gettime),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_never_decreasing),
		cmocka_unit_test(test_gettime_is_raw_nanoseconds),
		cmocka_unit_test(test_clocks_agree),
#if CYCLES_HAVE_COUNTER
		cmocka_unit_test(test_fence_is_there),
#endif
	};

	return cmocka_run_group_tests_name("cycles", tests, NULL, NULL);
}
