/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Best and worst window and the peak, against what a second look at all events gives. */
#include <math.h>

#include "draws.h"
#include "unit.h"
#include "windows.h"

#define EVENTS 4000
#define LENGTH 1000

struct event {
	uint64_t t, n;
};

static void assert_near(const char *what, double is, double due)
{
	if (isnan(due) != isnan(is) || (!isnan(due) && fabs(is - due) > 1e-9 * (1 + fabs(due))))
		fail_msg("%s: %.17g, wanted %.17g", what, is, due);
}

/* Progress at @t as a line through the events. */
static double progress(const struct event *e, size_t count, double t)
{
	for (size_t i = 1; i < count; i++)
		if (t <= (double)e[i].t && e[i].t != e[i - 1].t)
			return (double)e[i - 1].n + (t - (double)e[i - 1].t) *
			       (double)(e[i].n - e[i - 1].n) / (double)(e[i].t - e[i - 1].t);
	return (double)e[count - 1].n;
}

/* By definition, with the first event at the start. */
static void by_definition(const struct event *e, size_t count, double *best, double *worst,
			  double *peak)
{
	*best = *worst = *peak = NAN;
	for (double t = (double)e[0].t; t + LENGTH <= (double)e[count - 1].t; t += LENGTH) {
		double v = (progress(e, count, t + LENGTH) - progress(e, count, t)) / LENGTH;

		*best = fmax(*best, v);
		*worst = fmin(*worst, v);
	}
	for (size_t i = 16; i < count; i++)
		if (e[i].t > e[i - 16].t)
			*peak = fmax(*peak, (double)(e[i].n - e[i - 16].n) /
						    (double)(e[i].t - e[i - 16].t));
}

static void compare(const struct event *e, size_t count)
{
	struct windows w;
	double best, worst, peak;

	windows_start(&w, e[0].t, LENGTH);
	for (size_t i = 1; i < count; i++)
		windows_add(&w, e[i].t, e[i].n);
	by_definition(e, count, &best, &worst, &peak);
	assert_near("best", windows_best(&w), best);
	assert_near("worst", windows_worst(&w), worst);
	assert_near("peak", windows_peak(&w), peak);
}

static void test_random(void **state)
{
	struct event e[EVENTS / 10];
	struct draws d = { 3 };

	(void)state;
	for (int run = 0; run < 200; run++) {
		size_t count = 1 + (size_t)(draw_uniform(&d) * (EVENTS / 10 - 1));
		double apart = draw_uniform(&d) < 0.5 ? 40 : 900;

		e[0] = (struct event){ 77, 0 };
		for (size_t i = 1; i < count; i++) {
			double gap = apart * draw_exponential(&d);

			/* Now and then nothing comes for many windows, or two at the same time. */
			gap *= draw_uniform(&d) < 0.02 ? 100 : draw_uniform(&d) < 0.02 ? 0 : 1;
			e[i].t = e[i - 1].t + (uint64_t)gap;
			e[i].n = e[i - 1].n + 1 + (uint64_t)(draw_uniform(&d) * 64);
		}
		compare(e, count);
	}
}

static void test_few(void **state)
{
	struct windows w;

	(void)state;
	windows_start(&w, 5, LENGTH);
	assert_true(isnan(windows_best(&w)) && isnan(windows_worst(&w)) && isnan(windows_peak(&w)));
	windows_add(&w, 5 + LENGTH - 1, 10);
	assert_true(isnan(windows_best(&w)));
	windows_add(&w, 5 + LENGTH, 20);
	assert_true(!isnan(windows_best(&w)) && isnan(windows_peak(&w)));
}

/* Steady progress with completions of 64 that do not divide a window: all windows are alike. */
static void test_moderated(void **state)
{
	struct windows w;

	(void)state;
	windows_start(&w, 0, LENGTH);
	for (uint64_t i = 1; i < 1000; i++)
		windows_add(&w, i * 350, i * 64);
	assert_near("best", windows_best(&w), 64 / 350.0);
	assert_near("worst", windows_worst(&w), 64 / 350.0);
	assert_near("peak", windows_peak(&w), 64 / 350.0);
}

/* A clock that steps back counts as one that stands still. */
static void test_backwards(void **state)
{
	struct windows w;

	(void)state;
	windows_start(&w, 1000000, LENGTH);
	windows_add(&w, 1000500, 5);
	windows_add(&w, 900000, 6);
	windows_add(&w, 1001000, 10);
	assert_near("best", windows_best(&w), 10.0 / LENGTH);
}

/* Counts beyond 2^33, days of a 4 GHz counter; the last windows are the fastest. */
static void test_large(void **state)
{
	struct windows w;
	uint64_t window = 400000000, t = UINT64_MAX / 2, n = 0;

	(void)state;
	windows_start(&w, t, window);
	for (int i = 0; i < 100; i++) {
		t += (uint64_t)30 * 86400 * 4000000000ull / 100;
		n += 1ull << 40;
		windows_add(&w, t, n);
	}
	assert_true(n > 1ull << 33);
	assert_near("worst", windows_worst(&w) * 1e6, (double)(1ull << 40) / (25920.0 * 4e9) * 1e6);
	for (int i = 0; i < 40; i++) {
		t += window;
		n += 1ull << 41;
		windows_add(&w, t, n);
	}
	assert_near("best", windows_best(&w), (double)(1ull << 41) / (double)window);
	assert_near("peak", windows_peak(&w), (double)(1ull << 41) / (double)window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),	  cmocka_unit_test(test_few),
		cmocka_unit_test(test_moderated), cmocka_unit_test(test_backwards),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests_name("windows", tests, NULL, NULL);
}
