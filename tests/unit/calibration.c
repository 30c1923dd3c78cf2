/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calibration on simulated machines, whose true rate is known, and the rule of trust. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine.h"
#include "units.h"

static void calibrate(struct machine *m, const char *sys_root, struct clock_cert *cert)
{
	struct clock_ops ops = machine_ops(m, sys_root);

	assert_int_equal(clock_calibrate(CLOCK_SRC_COUNTER, &ops, cert), 0);
}

static void assert_ppm(double have, double want, double ppm)
{
	if (!(fabs(have / want - 1) * 1e6 <= ppm))
		fail_msg("%.3f, wanted %.3f within %g ppm", have, want, ppm);
}

static void file_put(const char *root, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0755);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static int root_open(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char *root = malloc(256);

	if (!root)
		return -1;
	snprintf(root, 256, "%s/cycles-XXXXXX", tmp && strlen(tmp) < 200 ? tmp : "/tmp");
	*state = root;
	return mkdtemp(root) ? 0 : -1;
}

static int root_close(void **state)
{
	static const char *const names[] = {
		CLOCKSOURCE,
		"/proc/cpuinfo",
		"/sys/devices/system/clocksource/clocksource0",
		"/sys/devices/system/clocksource",
		"/sys/devices/system",
		"/sys/devices",
		"/sys",
		"/proc",
		"",
	};
	char path[512];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s%s", (char *)*state, names[i]);
		remove(path);
	}
	free(*state);
	return 0;
}

/* What /proc/cpuinfo says is another clock: 2950 cycles at 2950 MHz are 1 us, whatever it says. */
static void test_cpuinfo_is_not_read(void **state)
{
	struct machine m = calm;
	struct clock_cert cert;
	char text[16];

	file_put(*state, "/proc/cpuinfo",
		 "cpu MHz\t\t: 3000.000\ncpu MHz\t\t: 1996.000\ncpu MHz\t\t: 4299.000\n");
	m.hz = 2950e6;
	calibrate(&m, *state, &cert);
	assert_ppm(cert.hz, 2950e6, 5);
	snprintf(text, sizeof(text), "%.3f", cycles_to_usec(2950, cert.hz));
	assert_string_equal(text, "1.000");
}

static void test_rates(void **state)
{
	static const struct {
		double hz, cost, jitter, ppm;
		uint64_t tick;
		unsigned int stall_every;
	} rows[] = {
		{ 2394.37e6, 20, 0, 5, 1, 0 },
		{ 2394.37e6, 20, 500, 100, 1, 0 }, /* 0.01 % */
		{ 25e6, 20, 30, 10, 1, 0 },
		{ 5e9, 20, 30, 10, 1, 0 },
		{ 2096e6, 10, 30, 10, 21, 0 },
		{ 1e9, 4000, 1000, 200, 1, 0 },	 /* a clock that is a system call */
		{ 2394.37e6, 20, 30, 10, 1, 5 }, /* something else takes the CPU between reads */
		{ 2394.37e6, 20, 30, 10, 1, 100 },
		{ 2394.37e6, 20, 30, 10, 1, 10007 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct machine m = calm;
		struct clock_cert cert;

		m.hz = rows[i].hz;
		m.cost_ns = rows[i].cost;
		m.jitter_ns = rows[i].jitter;
		m.tick = rows[i].tick;
		m.stall_every = rows[i].stall_every;
		calibrate(&m, "/nonexistent", &cert);
		assert_ppm(cert.hz, m.hz, rows[i].ppm);
		assert_true(cert.ppm >= 0 && cert.ppm <= 4 * rows[i].ppm);
		if (!m.stall_every)
			assert_true(m.now_ns - calm.now_ns <= 20 * MS);
	}
}

/* A jump spoils the windows that hold it, here the first alone: the median does not see it. */
static void test_median_of_windows(void **state)
{
	struct machine m = calm;
	struct clock_cert cert;

	(void)state;
	m.jump_at_ns = calm.now_ns + MS;
	calibrate(&m, "/nonexistent", &cert);
	assert_ppm(cert.hz, m.hz, 5);
	assert_true(cert.spread_ppm > 2000 && cert.ppm == cert.spread_ppm);
}

static void test_cost_and_step(void **state)
{
	struct machine m = calm;
	struct clock_cert cert;

	(void)state;
	calibrate(&m, "/nonexistent", &cert);
	assert_true(fabs(cert.read_ns - 20) < 1 && fabs(cert.unordered_read_ns - 20) < 1);
	assert_true(cert.windows >= 5);
	m = calm;
	m.hz = 2.1e9;
	m.tick = 21; /* 10 ns, half of a read */
	m.jitter_ns = 9;
	calibrate(&m, "/nonexistent", &cert);
	assert_true(fabs(cert.resolution_ns - 10) < 0.01);
	m = calm;
	m.hz = 25e6; /* 40 ns, two reads */
	calibrate(&m, "/nonexistent", &cert);
	assert_true(fabs(cert.resolution_ns - 40) < 0.01);
	m = calm;
	m.jitter_ns = 5; /* any value */
	calibrate(&m, "/nonexistent", &cert);
	assert_true(fabs(cert.resolution_ns - 1 / 2.45) < 0.01);
}

static void test_counter_that_stands(void **state)
{
	struct machine m = calm;
	struct clock_ops ops = machine_ops(&m, "/nonexistent");
	struct clock_cert cert;

	(void)state;
	m.hz = 0;
	assert_int_equal(clock_calibrate(CLOCK_SRC_COUNTER, &ops, &cert), -EIO);
}

static void test_trust_before_the_run(void **state)
{
	static const struct {
		const char *kernel; /* clocksource; NULL: no such file */
		int invariant;
		bool trusted, independent;
		const char *why;
	} rows[] = {
		{ "hpet\n", 1, true, true, "CPU says invariant" },
		{ "tsc\n", 1, true, false, "CPU says invariant" },
		{ "tsc\n", 0, true, false, "kernel's clocksource" },
		{ "tsc\n", -1, true, false, "kernel's clocksource" },
		{ "tsc-early\n", 0, false, true, "nothing vouches for its rate" },
		{ "kvm-clock\n", 0, false, false, "nothing vouches for its rate" },
		{ "hpet\n", 0, false, true, "nothing vouches for its rate" },
		{ "", -1, false, true, "nothing vouches for its rate" },
		{ NULL, -1, false, true, "nothing vouches for its rate" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct machine m = calm;
		struct clock_cert cert;

		if (rows[i].kernel)
			file_put(*state, CLOCKSOURCE, rows[i].kernel);
		m.invariant = rows[i].invariant;
		calibrate(&m, rows[i].kernel ? *state : "/nonexistent", &cert);
		assert_string_equal(cert.why, rows[i].why);
		assert_int_equal(cert.trusted, rows[i].trusted);
		assert_int_equal(cert.independent, rows[i].independent);
		assert_int_equal(cert.invariant_known, rows[i].invariant >= 0);
		assert_int_equal(cert.invariant, rows[i].invariant > 0);
	}
}

/* The run: so long, at so many ppm more than the calibration saw, so much lost at its end. */
static void run_simulate(struct machine *m, double ms, double ppm, double lost_ms,
			 struct clock_cert *cert)
{
	struct clock_ops ops = machine_ops(m, "/nonexistent");
	struct clock_pair t0, t1;

	assert_int_equal(clock_calibrate(CLOCK_SRC_COUNTER, &ops, cert), 0);
	clock_pair_read(CLOCK_SRC_COUNTER, &ops, &t0);
	m->now_ns += ms * MS;
	clock_pair_read(CLOCK_SRC_COUNTER, &ops, &t1);
	t1.counter += (uint64_t)((double)(t1.counter - t0.counter) * ppm / 1e6);
	t1.counter -= (uint64_t)(lost_ms * MS * m->hz / 1e9);
	clock_cert_refine(cert, &t0, &t1);
}

static void test_trust_after_the_run(void **state)
{
	static const struct {
		double ms, ppm, lost_ms;
		int invariant;
		bool trusted, refined;
		const char *why;
	} rows[] = {
		{ 1000, 0, 0, 0, true, true, "held within 100 ppm" },
		{ 1000, 90, 0, 0, true, true, "held within 100 ppm" },
		{ 1000, 110, 0, 0, false, true, "its rate moved by more than 100 ppm" },
		{ 1000, 110, 0, 1, true, true, "CPU says invariant" },
		{ 0.1, 0, 0, 0, false, false, "nothing vouches for its rate" }, /* too short */
		{ 1000, 0, 1001, 0, false, false, "it stepped back" },
		{ 1000, 0, 1001, 1, false, false, "it stepped back" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct machine m = calm;
		struct clock_cert cert;

		m.invariant = rows[i].invariant;
		m.jitter_ns = 20;
		run_simulate(&m, rows[i].ms, rows[i].ppm, rows[i].lost_ms, &cert);
		assert_string_equal(cert.why, rows[i].why);
		assert_int_equal(cert.trusted, rows[i].trusted);
		assert_int_equal(cert.refined, rows[i].refined);
		if (rows[i].refined)
			assert_true(fabs(cert.ppm - rows[i].ppm) < 5);
	}
}

static void test_refining(void **state)
{
	struct machine m = calm;
	struct clock_cert cert;

	(void)state;
	m.jitter_ns = 2000; /* the calibration alone is no better than tens of ppm */
	run_simulate(&m, 10000, 0, 0, &cert);
	assert_ppm(cert.hz, calm.hz, 1);
	m = calm;
	run_simulate(&m, 1000, 2000, 0, &cert); /* it moved: what the run says counts */
	assert_ppm(cert.hz, calm.hz * 1.002, 5);
	/* A step back that only the samples showed. */
	m = calm;
	m.invariant = 1;
	calibrate(&m, "/nonexistent", &cert);
	cert.backwards = 1;
	clock_cert_refine(&cert, &cert.start, &cert.start);
	assert_false(cert.trusted);
	assert_string_equal(cert.why, "it stepped back");
}

static void test_step_back_while_calibrating(void **state)
{
	struct machine m = calm;
	struct clock_cert cert;

	(void)state;
	m.invariant = 1;
	m.back_at_ns = calm.now_ns + 7 * MS; /* more than lies between two pairs */
	calibrate(&m, "/nonexistent", &cert);
	assert_int_equal(cert.backwards, 1);
	assert_false(cert.trusted);
	assert_string_equal(cert.why, "it stepped back");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cpuinfo_is_not_read, root_open, root_close),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_median_of_windows),
		cmocka_unit_test(test_cost_and_step),
		cmocka_unit_test(test_counter_that_stands),
		cmocka_unit_test_setup_teardown(test_trust_before_the_run, root_open, root_close),
		cmocka_unit_test(test_trust_after_the_run),
		cmocka_unit_test(test_refining),
		cmocka_unit_test(test_step_back_while_calibrating),
	};

	return cmocka_run_group_tests_name("calibration", tests, NULL, NULL);
}
