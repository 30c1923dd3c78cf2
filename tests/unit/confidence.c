/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The interval of some runs' mean: Student's t against its table, and small sets by hand. */
#include "unit.h"

#include <math.h>

#include "confidence.h"

static void near(double got, double want, double by)
{
	if (!(fabs(got - want) <= by))
		fail_msg("%.9g, not %.9g", got, want);
}

static void test_t(void **state)
{
	/* Any printed table of Student's t, two-sided. */
	static const struct {
		unsigned int df;
		double t90, t95, t99;
	} rows[] = {
		{ 1, 6.314, 12.706, 63.657 }, { 2, 2.920, 4.303, 9.925 },  { 3, 2.353, 3.182, 5.841 },
		{ 4, 2.132, 2.776, 4.604 },   { 9, 1.833, 2.262, 3.250 },  { 10, 1.812, 2.228, 3.169 },
		{ 29, 1.699, 2.045, 2.756 },  { 120, 1.658, 1.980, 2.617 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		near(confidence_t(0.90, rows[i].df), rows[i].t90, 6e-4);
		near(confidence_t(0.95, rows[i].df), rows[i].t95, 6e-4);
		near(confidence_t(0.99, rows[i].df), rows[i].t99, 6e-4);
	}
	near(confidence_t(0.95, 999), 1.962, 6e-4);
}

static void test_sets(void **state)
{
	const double three[] = { 2, 1, 3 }, same[] = { 7, 7, 7, 7 }, one[] = { 5 };
	struct confidence c;

	(void)state;
	confidence_of(three, 3, 0.95, &c);
	assert_int_equal(c.n, 3);
	near(c.mean, 2, 1e-12);
	near(c.half, 4.302653 / sqrt(3), 1e-5);
	near(c.half_percent, 100 * 4.302653 / sqrt(3) / 2, 1e-3);
	near(c.least, 1, 0);
	near(c.most, 3, 0);
	confidence_of(same, 4, 0.99, &c);
	near(c.half, 0, 0);
	near(c.half_percent, 0, 0);
	/* One run says nothing of how runs differ. */
	confidence_of(one, 1, 0.99, &c);
	near(c.mean, 5, 0);
	assert_true(isnan(c.half) && isnan(c.half_percent));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_t), cmocka_unit_test(test_sets) };

	return cmocka_run_group_tests_name("confidence", tests, NULL, NULL);
}
