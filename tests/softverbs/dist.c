/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Draws against their closed forms: mean, quantiles, and exact values where nothing is random. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../softverbs/spec.h"

#define DRAWS 200000

static struct spec spec;

static struct dist *dist_of(const char *delay)
{
	struct spec_error err;
	char text[256];

	spec_free(&spec);
	snprintf(text, sizeof(text), "a:delay=%s", delay);
	if (spec_parse(text, &spec, &err))
		fail_msg("%s", err.text);
	return &spec.dev[0].delay;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t *draws(const struct dist *d, uint64_t seed, double *mean)
{
	static uint64_t v[DRAWS];
	struct dist_state st;

	*mean = 0;
	dist_seed(&st, seed);
	for (int i = 0; i < DRAWS; i++) {
		v[i] = dist_draw(d, &st, (uint64_t)i);
		*mean += (double)v[i] / DRAWS;
	}
	qsort(v, DRAWS, sizeof(v[0]), by_value);
	return v;
}

static void near(double got, double want, double part)
{
	if (fabs(got - want) > part * want)
		fail_msg("got %g, wanted %g within %g %%", got, want, part * 100);
}

static void test_const(void **state)
{
	struct dist_state st;

	(void)state;
	dist_seed(&st, 1);
	assert_int_equal(dist_draw(dist_of("2.5us"), &st, 0), 2500);
	assert_int_equal(dist_draw(dist_of("1us+2ms+3ns"), &st, 7), 2001003);
	assert_int_equal(dist_draw(dist_of("0"), &st, 7), 0);
}

static void test_uniform(void **state)
{
	double mean;

	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		uint64_t *v = draws(dist_of("uniform(1us,3us)"), seed, &mean);

		near(mean, 2000, 0.005);
		near((double)v[DRAWS / 10], 1200, 0.01);
		near((double)v[DRAWS / 2], 2000, 0.01);
		near((double)v[DRAWS * 9 / 10], 2800, 0.01);
		assert_true(v[0] >= 1000 && v[DRAWS - 1] <= 3000);
		assert_int_equal(v[0], 1000);
		assert_int_equal(v[DRAWS - 1], 3000);
	}
}

static void test_exp(void **state)
{
	double mean;

	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		uint64_t *v = draws(dist_of("exp(10us)"), seed, &mean);

		near(mean, 10000, 0.01);
		near((double)v[DRAWS / 4], 10000 * log(4.0 / 3), 0.02);
		near((double)v[DRAWS / 2], 10000 * log(2), 0.015);
		near((double)v[DRAWS * 99 / 100], 10000 * log(100), 0.02);
	}
}

/* The sum of two uniforms is a triangle: P(X < low + (high - low) / 4) = 1/8. */
static void test_sum(void **state)
{
	double mean;
	uint64_t *v = draws(dist_of("uniform(0,2us)+uniform(0,2us)"), 3, &mean);

	(void)state;
	near(mean, 2000, 0.01);
	near((double)v[DRAWS / 8], 1000, 0.02);
	v = draws(dist_of("5us+exp(1us)"), 3, &mean);
	near(mean, 6000, 0.005);
	assert_true(v[0] >= 5000);
}

static void test_periodic(void **state)
{
	struct dist *d = dist_of("1us+periodic(5,2,20us)");
	struct dist_state st;

	(void)state;
	dist_seed(&st, 1);
	for (uint64_t lap = 0; lap < 20; lap++)
		assert_int_equal(dist_draw(d, &st, lap), lap % 5 < 2 ? 21000 : 1000);
}

static void test_steps(void **state)
{
	struct dist *d = dist_of("steps(10:1us|500:5us)");
	struct dist_state st;

	(void)state;
	dist_seed(&st, 1);
	assert_int_equal(dist_draw(d, &st, 0), 0);
	assert_int_equal(dist_draw(d, &st, 9), 0);
	assert_int_equal(dist_draw(d, &st, 10), 1000);
	assert_int_equal(dist_draw(d, &st, 499), 1000);
	assert_int_equal(dist_draw(d, &st, 500), 5000);
	assert_int_equal(dist_draw(d, &st, 1u << 30), 5000);
}

static void test_streams(void **state)
{
	struct dist_state a, b, c;
	int same = 0;

	(void)state;
	dist_seed(&a, 1);
	dist_seed(&b, 1);
	dist_seed(&c, 2);
	for (int i = 0; i < 1000; i++) {
		uint64_t x = dist_random(&a);

		assert_int_equal(x, dist_random(&b));
		same += x == dist_random(&c);
	}
	assert_int_equal(same, 0);
}

static const char *write_file(const char *text)
{
	static char path[] = "/tmp/softverbs-dist.XXXXXX";
	static char delay[64];
	FILE *f;
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	fputs(text, f);
	fclose(f);
	snprintf(delay, sizeof(delay), "file:%s", path);
	return delay;
}

static void test_file(void **state)
{
	struct dist *d = dist_of(write_file("# truth\n100\n  2us \n\n1.5ms # long\n"));
	static const uint64_t want[] = { 100, 2000, 1500000, 100 };
	struct dist_state st;
	const char *path;
	size_t line;

	(void)state;
	assert_int_equal(dist_open(d, &path, &line), 0);
	dist_seed(&st, 1);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(dist_draw(d, &st, i), want[i]);
	unlink(d->term[0].path);
	dist_close(d);
	dist_close(d);
	assert_int_equal(dist_draw(d, &st, 1), 0);
}

static void test_long_file(void **state)
{
	static char text[40000];
	struct dist *d;
	struct dist_state st;
	const char *path;
	size_t line, n = 0;

	(void)state;
	for (int i = 0; i < 5000; i++)
		n += (size_t)sprintf(text + n, "%d\n", i);
	d = dist_of(write_file(text));
	assert_int_equal(dist_open(d, &path, &line), 0);
	assert_int_equal(d->term[0].nsamples, 5000);
	dist_seed(&st, 1);
	assert_int_equal(dist_draw(d, &st, 4999), 4999);
	unlink(d->term[0].path);
}

static void test_wrong_file(void **state)
{
	static const struct {
		const char *text;
		size_t line;
	} rows[] = { { "1\n2\nabc\n", 3 }, { "-1\n", 1 }, { "", 0 }, { "# nothing\n", 0 } };
	const char *path;
	size_t line;
	struct dist *d;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		d = dist_of(write_file(rows[i].text));
		assert_int_equal(dist_open(d, &path, &line), -EINVAL);
		assert_int_equal(line, rows[i].line);
		assert_string_equal(path, d->term[0].path);
		unlink(path);
	}
	d = dist_of("file:/nonexistent/x");
	assert_int_equal(dist_open(d, &path, &line), -ENOENT);
	assert_int_equal(line, 0);
	spec_free(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_const),
		cmocka_unit_test(test_uniform),
		cmocka_unit_test(test_exp),
		cmocka_unit_test(test_sum),
		cmocka_unit_test(test_periodic),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_long_file),
		cmocka_unit_test(test_wrong_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
