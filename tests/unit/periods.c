/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Periodic disturbances that are planted come out within 1 %; noise of every kind has none. */
#include "correlate.h"
#include "draws.h"
#include "periods.h"
#include "unit.h"

#define MAX   200000
#define LEVEL 40000.0

enum noise { GAUSS, TAIL, CORRELATED, TWO_MODES, BUSY, SPELLS, NOISES };

static double noise(struct draws *d, enum noise kind, double *state)
{
	switch (kind) {
	case GAUSS:
		return 300 * draw_normal(d);
	case TAIL:
		return 300 * draw_exponential(d) + (draw_uniform(d) < 0.003 ? 60000 : 0);
	case CORRELATED:
		return *state = 0.9 * *state + 130 * draw_normal(d);
	case TWO_MODES:
		return 200 * draw_normal(d) + (draw_uniform(d) < 0.3 ? 3000 : 0);
	case BUSY: /* a CPU that others have every so often */
		return 300 * draw_normal(d) +
		       (draw_uniform(d) < 0.15 ? 40000 * draw_exponential(d) : 0);
	default: /* two modes that last 20 laps on average */
		if (draw_uniform(d) < 0.05)
			*state = *state > 0 ? 0 : 3000;
		return 200 * draw_normal(d) + *state;
	}
}

struct planted {
	double ticks;	     /* a disturbance each, by time; 0: by lap */
	size_t every, count; /* by lap: the first @count of @every */
	double amplitude;
	bool sine;
};

static void fill(uint64_t *v, size_t n, const struct planted *p, size_t count, enum noise kind,
		 uint64_t seed)
{
	struct draws d = { seed };
	double state = 0, t = 12345, next[4] = { 0 };

	for (size_t i = 0; i < n; i++) {
		double x = LEVEL + noise(&d, kind, &state);

		for (size_t k = 0; k < count; k++) {
			if (!p[k].ticks) {
				x += i % p[k].every < p[k].count ? p[k].amplitude : 0;
			} else if (p[k].sine) {
				x += p[k].amplitude * sin(2 * M_PI * t / p[k].ticks);
			} else if (t + x >= next[k]) {
				x += p[k].amplitude;
				next[k] += p[k].ticks * (next[k] ? 1 : 0.7);
			}
		}
		v[i] = (uint64_t)x;
		t += (double)v[i];
	}
}

static size_t find(const uint64_t *v, size_t n, struct period *out)
{
	double *excess = malloc(n * sizeof(*excess));
	size_t count;

	for (size_t i = 0; i < n; i++)
		excess[i] = (double)v[i] - LEVEL;
	assert_int_equal(periods_find(excess, v, n, 200, out, 4, &count), 0);
	free(excess);
	return count;
}

static void expect_near(const char *what, double have, double want, double tolerance)
{
	if (!(fabs(have - want) <= tolerance * fabs(want)))
		fail_msg("%s: %g, wanted %g", what, have, want);
}

static void expect(size_t n, const struct planted *p, enum noise kind, double share)
{
	static uint64_t v[MAX];
	struct period found[4];
	double sum = 0;
	size_t count;

	fill(v, n, p, 1, kind, 7);
	for (size_t i = 0; i < n; i++)
		sum += (double)v[i];
	count = find(v, n, found);
	print_message("# n %zu, noise %d: %zu found: %g laps, %g ticks, +%g, %g %%, by lap %d\n", n,
		      kind, count, found[0].laps, found[0].ticks, found[0].amplitude,
		      100 * found[0].share, found[0].by_lap);
	if (count < 1)
		fail_msg("not found");
	assert_int_equal(count, 1);
	assert_int_equal(found[0].by_lap, !p->ticks);
	if (p->ticks) {
		expect_near("ticks", found[0].ticks, p->ticks, 0.01);
		expect_near("laps", found[0].laps, p->ticks * (double)n / sum, 0.01);
	} else {
		expect_near("laps", found[0].laps, (double)p->every, 0.001);
		expect_near("ticks", found[0].ticks, (double)p->every * sum / (double)n, 0.01);
	}
	if (!p->sine) {
		expect_near("amplitude", found[0].amplitude, p->amplitude, 0.03);
		expect_near("share", found[0].share, share, 0.1);
	}
}

/* A timer tick: 4 ms at 2.5 GHz, 250 laps of 16 us; small and large; few laps between; odd ones. */
static void test_by_time(void **state)
{
	static const struct planted rows[] = {
		{ .ticks = 1e7, .amplitude = 4000 },	{ .ticks = 1e7, .amplitude = 400000 },
		{ .ticks = 1e6, .amplitude = 2000 },	{ .ticks = 3.3333e6, .amplitude = 9000 },
		{ .ticks = 0.35e6, .amplitude = 5000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		expect(MAX, &rows[i], GAUSS, LEVEL / rows[i].ticks);
	expect(20000, &rows[0], GAUSS, LEVEL / rows[0].ticks);
	expect(20000, &rows[3], TAIL, LEVEL / rows[3].ticks);
	expect(20000, &rows[3], CORRELATED, LEVEL / rows[3].ticks);
}

static void test_by_lap(void **state)
{
	static const struct planted rows[] = {
		{ .every = 512, .count = 1, .amplitude = 4000 },
		{ .every = 100, .count = 5, .amplitude = 20000 },
		{ .every = 2, .count = 1, .amplitude = 2000 },
		{ .every = 7, .count = 1, .amplitude = 2000 },
		{ .every = 64, .count = 20, .amplitude = 3000 },
		{ .every = 32, .count = 4, .amplitude = 60000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		expect(20000, &rows[i], GAUSS, (double)rows[i].count / (double)rows[i].every);
	expect(1000, &rows[1], GAUSS, 0.05);
	expect(1000, &rows[3], TAIL, 1.0 / 7);
	expect(20000, &rows[5], BUSY, 4.0 / 32);
}

static void test_sine(void **state)
{
	static const struct planted slow = { .ticks = 2e7, .amplitude = 600, .sine = true };

	(void)state;
	expect(50000, &slow, GAUSS, 0);
}

static void test_two(void **state)
{
	static const struct planted both[] = { { .ticks = 1e7, .amplitude = 6000 },
					       { .every = 64, .count = 1, .amplitude = 3000 } };
	static uint64_t v[MAX];
	struct period found[4];
	int tick, ring;

	(void)state;
	fill(v, MAX, both, 2, GAUSS, 3);
	assert_int_equal(find(v, MAX, found), 2);
	ring = fabs(found[0].laps - 64) < 0.1 ? 0 : 1;
	tick = 1 - ring;
	assert_true(found[ring].by_lap && !found[tick].by_lap);
	expect_near("ring", found[ring].laps, 64, 0.001);
	expect_near("tick", found[tick].ticks, 1e7, 0.01);
	expect_near("ring's share", found[ring].share, 1.0 / 64, 0.1);
}

/* Two rings: every other lag at which one of them repeats is between, and their common one last. */
static void test_two_rings(void **state)
{
	static const struct planted both[] = {
		{ .every = 100, .count = 3, .amplitude = 12000 },
		{ .every = 77, .count = 2, .amplitude = 8000 },
	};
	static uint64_t v[MAX];
	struct period found[4];

	(void)state;
	fill(v, MAX, both, 2, GAUSS, 3);
	assert_int_equal(find(v, MAX, found), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct planted *p = &both[fabs(found[i].laps - 77) < 1];

		expect_near("laps", found[i].laps, (double)p->every, 0.001);
		expect_near("amplitude", found[i].amplitude, p->amplitude, 0.03);
		expect_near("share", found[i].share, (double)p->count / (double)p->every, 0.15);
		assert_true(found[i].by_lap);
	}
	assert_true(fabs(found[0].laps - found[1].laps) > 20);
}

/*
 * A planted ring of 32 laps, and a CPU that another thread has for 50 laps every 16 ms, which is
 * nearly a multiple of it: the ring is found first, and its share and amplitude are its own.
 */
static void test_ring_in_spells(void **state)
{
	static const struct planted ring = { .every = 32, .count = 4, .amplitude = 60000 };
	static uint64_t v[MAX];
	struct period found[4];
	enum { N = 5000 };
	double t = 0;

	(void)state;
	fill(v, N, &ring, 1, GAUSS, 4);
	for (size_t i = 0; i < N; t += (double)v[i++])
		v[i] += fmod(t, 33e6) < 5e6 ? 52000 : 0;
	assert_true(find(v, N, found) >= 1);
	expect_near("laps", found[0].laps, 32, 0.001);
	expect_near("amplitude", found[0].amplitude, 60000, 0.03);
	expect_near("share", found[0].share, 4.0 / 32, 0.15);
}

static void test_none(void **state)
{
	static const size_t lengths[] = { 100, 1000, 5000 };
	static uint64_t v[MAX];
	struct period found[4];

	(void)state;
	for (int kind = 0; kind < NOISES; kind++) {
		int runs = 0;

		for (size_t i = 0; i < 150; i++) {
			fill(v, lengths[i % 3], NULL, 0, kind, 100 + i);
			runs += find(v, lengths[i % 3], found) > 0;
		}
		if (runs > 2)
			fail_msg("noise %d: periods in %d of 150 runs", kind, runs);
	}
	for (size_t n = 0; n < 300; n++) {
		for (size_t i = 0; i < n; i++)
			v[i] = 40000;
		assert_int_equal(find(v, n, found), 0);
	}
}

/* Against the definition. */
static void test_correlate(void **state)
{
	enum { N = 300, LAGS = 100 };
	double v[N], r[LAGS], mean = 0, first = 0;
	struct draws d = { 5 };

	(void)state;
	for (int i = 0; i < N; i++)
		mean += (v[i] = 5 + draw_normal(&d) + sin(i)) / N;
	for (int i = 0; i < N; i++)
		first += (v[i] - mean) * (v[i] - mean) / N;
	assert_int_equal(correlate(v, N, r, LAGS), 0);
	for (int lag = 0; lag < LAGS; lag++) {
		double sum = 0;

		for (int i = 0; i + lag < N; i++)
			sum += (v[i] - mean) * (v[i + lag] - mean);
		assert_true(fabs(r[lag] - sum / (N - lag) / first) < 1e-9);
	}
	memset(v, 0, sizeof(v));
	assert_int_equal(correlate(v, N, r, LAGS), 0);
	assert_true(r[0] == 0 && r[50] == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_time),	  cmocka_unit_test(test_by_lap),
		cmocka_unit_test(test_sine),	  cmocka_unit_test(test_two),
		cmocka_unit_test(test_two_rings), cmocka_unit_test(test_ring_in_spells),
		cmocka_unit_test(test_none),	  cmocka_unit_test(test_correlate),
	};

	return cmocka_run_group_tests_name("periods", tests, NULL, NULL);
}
