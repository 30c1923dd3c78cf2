/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock's certificate: the calibration after the run, what it vouches for, and the JSON. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cycles_json.h"
#include "machine.h"

/* Calibrated, then @ms of another rate, by @ppm more, and calibrated again. */
static void run(struct machine *m, double ms, double ppm, struct clock_cert *cert)
{
	struct clock_ops ops = machine_ops(m, "/nonexistent");
	double began = m->now_ns, before;

	assert_int_equal(clock_calibrate(CLOCK_SRC_COUNTER, &ops, cert), 0);
	m->now_ns += ms * MS;
	/* The counter goes on from where it is. */
	before = (m->now_ns - calm.now_ns + 1e6) * m->hz;
	m->hz *= 1 + ppm / 1e6;
	m->ahead_ns = before / m->hz - (m->now_ns - calm.now_ns + 1e6);
	began = m->now_ns;
	clock_cert_again(cert, &ops);
	assert_true(m->now_ns - began <= 20 * MS);
}

static void test_before_and_after(void **state)
{
	static const struct {
		double ppm, within;
	} rows[] = { { 0, 2 }, { 30, 2 }, { -30, 2 }, { 150, 3 }, { 5000, 60 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct machine m = calm;
		struct clock_cert cert;

		m.invariant = 1;
		run(&m, 100, rows[i].ppm, &cert);
		assert_true(fabs(cert.hz_before / calm.hz - 1) < 2e-6);
		assert_true(fabs(cert.hz_after / m.hz - 1) < 2e-6);
		assert_true(fabs(cert.between_ppm - fabs(rows[i].ppm)) <= rows[i].within);
		assert_true(cert.trusted); /* the CPU vouches */
	}
}

/* A run too short to say anything: then the two calibrations do. */
static void test_vouching(void **state)
{
	static const struct {
		double ppm;
		bool trusted;
		const char *why;
	} rows[] = { { 0, true, "held within 100 ppm" },
		     { 90, true, "held within 100 ppm" },
		     { 120, false, "its rate moved by more than 100 ppm" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct machine m = calm;
		struct clock_cert cert;

		run(&m, 0.1, rows[i].ppm, &cert);
		assert_int_equal(cert.trusted, rows[i].trusted);
		assert_string_equal(cert.why, rows[i].why);
	}
}

static void test_step_back_after_the_run(void **state)
{
	struct machine m = calm;
	struct clock_cert cert;

	(void)state;
	m.invariant = 1;
	m.back_at_ns = calm.now_ns + 130 * MS;
	run(&m, 110, 0, &cert);
	assert_int_equal(cert.backwards, 1);
	assert_false(cert.trusted);
	assert_string_equal(cert.why, "it stepped back");
}

/* Of the kernel's clock nothing is measured, and nothing is said to be. */
static void test_gettime(void **state)
{
	struct clock_cert cert;
	json_t *o;

	(void)state;
	assert_int_equal(clock_calibrate(CLOCK_SRC_GETTIME, NULL, &cert), 0);
	clock_cert_again(&cert, NULL);
	assert_true(cert.trusted && cert.hz_after == 0);
	o = clock_cert_json(&cert);
	assert_true(json_is_null(json_object_get(o, "hz_before")));
	assert_true(json_is_null(json_object_get(o, "hz_after")));
	assert_true(json_is_null(json_object_get(o, "between_ppm")));
	assert_true(json_is_null(json_object_get(o, "invariant")));
	json_decref(o);
}

static void test_json(void **state)
{
	static const char *const keys[] = { "source", "hz", "ppm", "hz_before", "hz_after",
					    "between_ppm", "invariant", "trusted", "why",
					    "independent", "read_ns", "resolution_ns" };
	struct machine m = calm;
	struct clock_cert cert;
	json_t *o;

	(void)state;
	m.invariant = 0;
	run(&m, 100, 30, &cert);
	o = clock_cert_json(&cert);
	assert_int_equal(json_object_size(o), sizeof(keys) / sizeof(*keys));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		assert_non_null(json_object_get(o, keys[i]));
	assert_true(json_real_value(json_object_get(o, "hz_before")) == cert.hz_before);
	assert_true(json_real_value(json_object_get(o, "hz_after")) == cert.hz_after);
	assert_true(json_real_value(json_object_get(o, "between_ppm")) == cert.between_ppm);
	assert_true(json_is_false(json_object_get(o, "invariant")));
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_and_after),
		cmocka_unit_test(test_vouching),
		cmocka_unit_test(test_step_back_after_the_run),
		cmocka_unit_test(test_gettime),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests_name("certificate", tests, NULL, NULL);
}
