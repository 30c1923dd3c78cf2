/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --expect: its grammar, the key and the value that come of it, and when a result meets it. */
#include "unit.h"

#include <errno.h>

#include "expect.h"

static char why[320];

static void test_grammar(void **state)
{
	static const struct {
		const char *text, *key;
		enum expect_op op;
		double value;
	} rows[] = {
		{ "median<5us", "median_usec", EXPECT_LESS, 5 },
		{ " p99_9 <= 1.5 ms ", "p99_9_usec", EXPECT_LESS_EQUAL, 1500 },
		{ "max<2e3ns", "max_usec", EXPECT_LESS, 2 },
		{ "mean<1s", "mean_usec", EXPECT_LESS, 1e6 },
		{ "median>100cycles", "median_cycles", EXPECT_MORE, 100 },
		{ "avg>=90Gb/s", "avg_gbit_s", EXPECT_MORE_EQUAL, 90 },
		{ "avg>500Mb/s", "avg_gbit_s", EXPECT_MORE, 0.5 },
		{ "avg>1GB/s", "avg_mb_s", EXPECT_MORE, 1000 },
		{ "avg>1GiB/s", "avg_mib_s", EXPECT_MORE, 1024 },
		{ "msg_rate>2M/s", "msg_rate_per_s", EXPECT_MORE, 2e6 },
		{ "lost<=0", "lost", EXPECT_LESS_EQUAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct expect e;

		assert_int_equal(expect_read(rows[i].text, &e, why, sizeof(why)), 0);
		assert_string_equal(e.key, rows[i].key);
		assert_int_equal(e.op, rows[i].op);
		assert_true(e.value > rows[i].value - 1e-9 && e.value < rows[i].value + 1e-9);
	}
}

static void test_refused(void **state)
{
	static const char *const texts[] = {
		"", "median", "median<", "<5us", "median<us", "median=5us", "median==5us", "median<5 furlongs",
		"median<-5us", "median<5us extra", "Median<5us", "median<nan", "median<inf", "median<1e999us",
		"a_key_that_is_longer_than_any_that_a_result_has<5us", "median<>5us", "median<5us,p99<6us",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct expect e;

		assert_int_equal(expect_read(texts[i], &e, why, sizeof(why)), -EINVAL);
		assert_non_null(strstr(why, "KEY OP VALUE"));
	}
}

static int check(const char *text, json_t *result)
{
	struct expect e;

	assert_int_equal(expect_read(text, &e, why, sizeof(why)), 0);
	return expect_met(&e, result, why, sizeof(why));
}

static void test_met(void **state)
{
	json_t *r = json_pack("{s:f,s:n,s:i}", "median_usec", 5.0, "p99_9_usec", "lost", 3);

	(void)state;
	assert_int_equal(check("median<5us", r), -1);
	assert_string_equal(why, "median_usec is 5");
	assert_int_equal(check("median<=5us", r), 0);
	assert_int_equal(check("median>5us", r), -1);
	assert_int_equal(check("median>=5us", r), 0);
	assert_int_equal(check("median<5.001us", r), 0);
	assert_int_equal(check("lost<4", r), 0);
	assert_int_equal(check("lost<3", r), -1);
	/* What was not measured meets nothing, and no figure is not one that was not measured. */
	assert_int_equal(check("p99_9<100s", r), -1);
	assert_non_null(strstr(why, "not measured"));
	assert_int_equal(check("p98<100s", r), -1);
	assert_non_null(strstr(why, "no figure"));
	json_decref(r);
}

static void test_figures(void **state)
{
	json_t *keys = json_pack("{s:f,s:n,s:i,s:s,s:b}", "median_usec", 5.0, "p99_9_usec", "lost", 0,
				 "latency_kind", "half_rtt", "loaded", 0);
	static const struct {
		const char *text;
		bool figure;
	} rows[] = { { "median<5us", true },  { "p99_9<5us", true },	 { "lost<=0", true },
		     { "medain<5us", false }, { "median<5Gb/s", false }, { "median<5", false },
		     { "loaded<1", false },   { "latency_kind<1", false } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct expect e;

		assert_int_equal(expect_read(rows[i].text, &e, why, sizeof(why)), 0);
		assert_int_equal(expect_is_figure(&e, keys), rows[i].figure);
	}
	json_decref(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grammar), cmocka_unit_test(test_refused), cmocka_unit_test(test_met),
		cmocka_unit_test(test_figures),
	};

	return cmocka_run_group_tests_name("expect", tests, NULL, NULL);
}
