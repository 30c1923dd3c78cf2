/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps back are counted; the reads happen where they should, and the caller stays unbound. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "clock_steps.h"

#define READS 400
#define CAP   60000000000

static int error_open(void **state)
{
	static struct error err;

	error_init(&err, "clock_steps");
	*state = &err;
	return 0;
}

static int error_close(void **state)
{
	error_free(*state);
	return 0;
}

static void test_look(void **state)
{
	static const uint64_t reading[] = { 5, 5, 9, 7, 8, 3, 4, UINT64_MAX };
	struct clock_steps s = { 0 };

	(void)state;
	for (size_t i = 1; i < sizeof(reading) / sizeof(*reading); i++)
		clock_steps_look(&s, reading[i - 1], reading[i]);
	assert_int_equal(s.backwards, 2);
	assert_int_equal(s.largest, 5);
}

static void test_one_core(void **state)
{
	cpu_set_t before, after;
	struct clock_steps s;

	sched_getaffinity(0, sizeof(before), &before);
	assert_int_equal(clock_steps_one_core(CLOCK_SRC_GETTIME, READS, &s, *state), 0);
	assert_int_equal(s.reads, READS);
	assert_int_equal(s.backwards, 0);
	assert_true(CPU_ISSET(s.cpu, &before));
	assert_int_equal(s.peer, -1);
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
}

static void test_across(void **state)
{
	struct clock_steps s;
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (CPU_COUNT(&allowed) < 2)
		skip();
	assert_int_equal(clock_steps_across(CLOCK_SRC_GETTIME, READS, CAP, &s, *state), 0);
	assert_int_equal(s.pairs, CPU_COUNT(&allowed) - 1);
	assert_int_equal(s.reads, READS / s.pairs * s.pairs);
	assert_int_equal(s.backwards, 0);
	assert_true(CPU_ISSET(s.peer, &allowed) && s.peer != s.cpu);
	/* No time: it ends at the first look. */
	assert_int_equal(clock_steps_across(CLOCK_SRC_GETTIME, READS, 0, &s, *state), 0);
	assert_true(s.reads < READS);
}

static void test_single_cpu(void **state)
{
	cpu_set_t allowed, one;
	struct clock_steps s;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	CPU_ZERO(&one);
	for (int cpu = 0; !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &allowed))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(clock_steps_across(CLOCK_SRC_GETTIME, READS, CAP, &s, *state), 0);
	assert_int_equal(s.reads, 0);
	assert_int_equal(s.pairs, 0);
	assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_look),
		cmocka_unit_test_setup_teardown(test_one_core, error_open, error_close),
		cmocka_unit_test_setup_teardown(test_across, error_open, error_close),
		cmocka_unit_test_setup_teardown(test_single_cpu, error_open, error_close),
	};

	return cmocka_run_group_tests_name("clock_steps", tests, NULL, NULL);
}
