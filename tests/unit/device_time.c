/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the device's completion to the host seeing it: the line between two clocks that have nothing
 * in common, and what lies behind the completion, in laps that are made up and so known.
 */
#include <errno.h>

#include "analysis.h"
#include "draws.h"
#include "dumps.h"

#define HOST_HZ	  2.5e9
#define DEVICE_HZ (156.25e6 * (1 + 37e-6)) /* of 156.25 MHz as it says */
#define WARMUP	  10
#define APART	  997 /* laps between two hiccups */

struct laps {
	uint64_t n, warmup;
	uint64_t *post, *seen, *gap, *device;
	double *late; /* ns, of each */
};

static uint64_t host_units(double ns)
{
	return 7000000000000 + (uint64_t)(ns * HOST_HZ / 1e9);
}

static uint64_t device_units(double ns)
{
	return 1ull << 40 | (uint64_t)(ns * DEVICE_HZ / 1e9);
}

/*
 * Laps of 2 us: half of it before the device completes, then what the host takes to see it, at
 * least @least_ns, then its turn. Every APART-th has 50 us more, in one of the three.
 */
static void make_laps(struct laps *l, uint64_t n, double least_ns)
{
	struct draws d = { 11 };
	double now = 0;

	*l = (struct laps){ .n = n, .warmup = WARMUP };
	l->post = calloc(n + 1, sizeof(*l->post));
	l->seen = calloc(n, sizeof(*l->seen));
	l->gap = calloc(n, sizeof(*l->gap));
	l->device = calloc(n, sizeof(*l->device));
	l->late = calloc(n, sizeof(*l->late));
	for (uint64_t k = 0; k < n; k++) {
		bool hiccup = k > WARMUP && (k - WARMUP) % APART == 500;
		int part = hiccup ? (int)(k / APART % 3) : -1;

		l->post[k] = host_units(now);
		now += 1000 + 100 * draw_uniform(&d) + (part == 0 ? 50000 : 0);
		l->device[k] = device_units(now);
		l->late[k] = 40 * draw_exponential(&d) + (part == 1 ? 50000 : 0);
		now += least_ns + l->late[k];
		l->seen[k] = host_units(now);
		now += 500 + (part == 2 ? 50000 : 0);
	}
	l->post[n] = host_units(now);
}

static void free_laps(struct laps *l)
{
	free(l->post);
	free(l->seen);
	free(l->gap);
	free(l->device);
	free(l->late);
}

/* Written as a dump and read again. */
static void load(const struct laps *l, bool server, struct series_set *set, struct error *err)
{
	json_t *facts = dump_facts();
	struct dump_series s = { .role = server ? DUMP_SERVER : DUMP_CLIENT, .size = 8, .run = 1,
				 .kind = LATENCY_HALF_RTT, .laps = l->n, .warmup = l->warmup,
				 .count = { l->n + !server, l->n, l->n, l->n },
				 .v = { l->post, l->seen, l->gap, l->device } };
	char dir[32], path[64];

	error_init(err, "x");
	dir_open(dir);
	snprintf(path, sizeof(path), "%s/x.dump", dir);
	assert_int_equal(dump_write(path, facts, &s, 1, err), 0);
	json_decref(facts);
	*set = (struct series_set){ 0 };
	if (series_load(set, path, err))
		fail_msg("%s", err->text);
	dir_close(dir);
}

static void assert_near(double is, double due, double within)
{
	if (!(fabs(is - due) <= within))
		fail_msg("%g, wanted %g within %g", is, due, within);
}

/* Each lap's delay is found again within a few ns, but for the least, which no lap tells. */
static void test_line(void **state)
{
	struct device_line line;
	struct laps l;

	(void)state;
	make_laps(&l, 20000, 300);
	assert_int_equal(device_line_fit(l.device, l.seen, l.n, &line), 0);
	assert_near(line.slope * DEVICE_HZ / HOST_HZ, 1, 1e-6);
	for (uint64_t k = 0; k < l.n; k++) {
		double late = device_line_late(&line, l.device[k], l.seen[k]);

		/* A step of the device's clock is 6.4 ns. */
		assert_near(late * 1e9 / HOST_HZ, l.late[k], 10);
	}
	free_laps(&l);
}

static void test_lines_that_are_none(void **state)
{
	static const uint64_t same[] = { 5, 5, 5 }, up[] = { 5, 6, 7 }, down[] = { 7, 6, 5 };
	struct device_line line;

	(void)state;
	assert_int_equal(device_line_fit(up, up, 1, &line), -EINVAL);
	assert_int_equal(device_line_fit(same, up, 3, &line), -EINVAL);
	assert_int_equal(device_line_fit(up, down, 3, &line), -EINVAL);
	assert_int_equal(device_line_fit(up, up, 2, &line), 0);
	assert_near(line.slope, 1, 1e-12);
}

/* The whole way: a dump, its analysis, on both ends; more than one stretch of laps. */
static void check_analysis(const struct laps *l, bool server)
{
	struct series_set set;
	struct analysis a;
	struct error err;
	size_t before = 0, after = 0;

	load(l, server, &set, &err);
	assert_int_equal(analysis_run(&a, &set.v[0], 20, &err), 0);
	assert_int_equal(analysis_place(&a, NULL, &err), 0);
	assert_int_equal(a.device.laps, a.stats.n);
	assert_int_equal(a.device.out, 0);
	/* The dump's header has the host's clock, of the server 3 GHz. */
	assert_near(a.device.hz / DEVICE_HZ * HOST_HZ / (server ? 3e9 : 2.5e9), 1, 1e-6);
	assert_near(a.device.late.median * 1e9 / HOST_HZ, 40 * log(2), 4);
	assert_near(a.device.late.p99 * 1e9 / HOST_HZ, 40 * log(100), 20);
	assert_near((double)a.device.late.max * 1e9 / HOST_HZ, 50000, 500);
	assert_true(a.hiccups.n >= l->n / APART - 1);
	for (size_t i = 0; i < a.hiccups.n; i++) {
		const struct hiccup *h = &a.hiccups.kept[i];
		uint64_t lap = h->lap + server + WARMUP;

		assert_int_equal((lap - WARMUP) % APART, 500);
		assert_int_equal(h->side, lap / APART % 3 ? HICCUP_AFTER_DEVICE :
							    HICCUP_BEFORE_DEVICE);
		before += h->side == HICCUP_BEFORE_DEVICE;
		after += h->side == HICCUP_AFTER_DEVICE;
	}
	assert_true(before > 5 && after > 5);
	analysis_close(&a);
	series_close(&set);
}

static void test_client(void **state)
{
	struct laps l;

	(void)state;
	make_laps(&l, 150000, 300);
	check_analysis(&l, false);
	free_laps(&l);
}

/*
 * A server's sample ends with its answer: the same laps, post behind seen, and a hiccup lies in the
 * sample before.
 */
static void test_server(void **state)
{
	struct laps l;

	(void)state;
	make_laps(&l, 70000, 300);
	memmove(l.post, l.post + 1, l.n * sizeof(*l.post));
	check_analysis(&l, true);
	free_laps(&l);
}

/* A clock that begins anew: two stretches, none of whose laps is told by the other's line. */
static void test_step_back(void **state)
{
	struct device_time t;
	struct series_set set;
	struct error err;
	struct laps l;

	(void)state;
	make_laps(&l, 5000, 300);
	for (uint64_t k = 3000; k < l.n; k++)
		l.device[k] -= l.device[2990];
	for (uint64_t k = 4980; k < l.n; k++)
		l.device[k] -= l.device[4970]; /* too few to say anything */
	load(&l, false, &set, &err);
	assert_int_equal(device_time_run(&t, &set.v[0], NULL, 0, NULL, &err), 0);
	assert_int_equal(t.laps, 4980 - WARMUP);
	assert_int_equal(t.out, 20);
	assert_near(t.late.median * 1e9 / HOST_HZ, 40 * log(2), 4);
	series_close(&set);
	free_laps(&l);
}

static void test_without(void **state)
{
	static const uint64_t wanted[] = { 1, 2 };
	double after[2];
	struct device_time t;
	struct series_set set;
	struct error err;
	struct laps l;

	(void)state;
	make_laps(&l, 50, 300); /* too few */
	load(&l, false, &set, &err);
	assert_int_equal(device_time_run(&t, &set.v[0], wanted, 2, after, &err), 0);
	assert_int_equal(t.laps, 0);
	assert_true(isnan(t.hz) && isnan(after[0]) && isnan(after[1]));
	series_close(&set);
	free_laps(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),	  cmocka_unit_test(test_lines_that_are_none),
		cmocka_unit_test(test_client),	  cmocka_unit_test(test_server),
		cmocka_unit_test(test_step_back), cmocka_unit_test(test_without),
	};

	return cmocka_run_group_tests_name("device_time", tests, NULL, NULL);
}
