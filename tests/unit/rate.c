/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The token bucket: on average what was asked for, after a stall too, and never in large bursts. */
#include <math.h>

#include "draws.h"
#include "rate.h"
#include "unit.h"

#define HZ 2.1e9

/* Messages that go in @seconds, looked at every @look ticks; @most: largest burst that was allowed. */
static uint64_t run(struct rate *r, uint64_t *now, double seconds, uint64_t look, unsigned int list,
		    uint64_t *most)
{
	uint64_t end = *now + (uint64_t)(seconds * HZ), sent = 0;

	for (; *now < end; *now += look) {
		uint64_t allowed = rate_allowed(r, *now);

		*most = allowed > *most ? allowed : *most;
		while (allowed) {
			rate_take(r, list);
			sent += list;
			allowed = allowed > list ? allowed - list : 0;
		}
	}
	return sent;
}

static void test_cost(void **state)
{
	(void)state;
	assert_true(rate_cost(0, 0, 8, HZ) == 0);
	assert_true(fabs(rate_cost(8000, 0, 1000, HZ) - HZ) < 1);     /* 1 kB at 8 kbit/s: 1 s */
	assert_true(fabs(rate_cost(0, 1000000, 77, HZ) - 2100) < 1e-6); /* the size is no matter */
}

static void test_average(void **state)
{
	static const double rates[] = { 10, 1e3, 1e5, 3e6, 2e7 };
	static const unsigned int lists[] = { 1, 7, 64 };

	(void)state;
	for (size_t i = 0; i < COUNT(rates); i++)
		for (size_t k = 0; k < COUNT(lists); k++) {
			uint64_t now = 12345, most = 0, sent, burst;
			struct rate r;
			double due = 20 * rates[i];

			rate_start(&r, rate_cost(0, (uint64_t)rates[i], 8, HZ), HZ, now);
			sent = run(&r, &now, 20, 2100 * 50, lists[k], &most);
			if (fabs((double)sent - due) > fmax(0.001 * due, lists[k] + 1.0))
				fail_msg("%g/s, lists of %u: %llu, due %g", rates[i], lists[k],
					 (unsigned long long)sent, due);
			burst = (uint64_t)fmax(1, rates[i] * 1e-3);
			if (most > burst + 1)
				fail_msg("%g/s: a burst of %llu", rates[i], (unsigned long long)most);
		}
}

/* A tenth of the time the sender has no CPU: what it missed is made up for, in bursts of 1 ms. */
static void test_stalls(void **state)
{
	struct draws d = { 42 };
	uint64_t now = 0, most = 0, sent = 0;
	struct rate r;

	(void)state;
	rate_start(&r, rate_cost(0, 100000, 8, HZ), HZ, now);
	while (now < (uint64_t)(10 * HZ)) {
		sent += run(&r, &now, 0.009, 2100, 1, &most);
		now += (uint64_t)(draw_uniform(&d) * 0.002 * HZ);
	}
	if (fabs((double)sent - 1e6) > 2000)
		fail_msg("%llu messages", (unsigned long long)sent);
	assert_true(most <= 101);
}

/* No faster than eight times the rate while it catches up. */
static void test_pace(void **state)
{
	uint64_t now = 0, most = 0, sent;
	struct rate r;

	(void)state;
	rate_start(&r, rate_cost(0, 100000, 8, HZ), HZ, now);
	now += (uint64_t)HZ;
	sent = run(&r, &now, 0.1, 2100, 1, &most);
	assert_true(sent > 79000 && sent <= 80101);
}

static void test_next(void **state)
{
	struct rate r;
	uint64_t now = 1000;

	(void)state;
	rate_start(&r, 5000, HZ, now);
	assert_int_equal(rate_allowed(&r, now), 1);
	rate_take(&r, 1);
	assert_int_equal(rate_allowed(&r, now), 0);
	assert_int_equal(rate_next(&r), 5000);
	assert_int_equal(rate_allowed(&r, now + 4999), 0);
	assert_int_equal(rate_next(&r), 1);
	assert_int_equal(rate_allowed(&r, now + 5000), 1);
	/* A clock that steps back gives nothing, and takes nothing away. */
	assert_int_equal(rate_allowed(&r, now), 1);
}

static void test_no_limit(void **state)
{
	struct rate r;

	(void)state;
	rate_start(&r, 0, HZ, 0);
	assert_false(rate_limits(&r));
	rate_start(&r, 1, HZ, 0);
	assert_true(rate_limits(&r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost),  cmocka_unit_test(test_average),
		cmocka_unit_test(test_stalls), cmocka_unit_test(test_pace),
		cmocka_unit_test(test_next),  cmocka_unit_test(test_no_limit),
	};

	return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
