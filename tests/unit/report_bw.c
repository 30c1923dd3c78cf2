/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bandwidth figures: units, what is not known, what is counted where messages were lost. */
#include <math.h>

#include "reports.h"

#define ROWS 3

/* 1,000 messages of 1,000 bytes in 1 ms: 8 Gb/s. */
static struct bw_result row(void)
{
	return (struct bw_result){ .direction = "client_to_server", .size = 1000, .sent = 1000,
				   .received = 1000, .received_known = true, .seconds = 1e-3,
				   .window_s = 0.1, .peak = 2e6, .best = NAN, .worst = NAN,
				   .confirmed = "receiver" };
}

static double real(const char *key, const struct bw_result *b)
{
	json_t *o = report_bw_json(b), *v = json_object_get(o, key);
	double d = json_is_number(v) ? json_number_value(v) : NAN;

	if (!v)
		fail_msg("no %s", key);
	json_decref(o);
	return d;
}

static void assert_near(double is, double due)
{
	if (!(fabs(is - due) <= 1e-12 * fabs(due)))
		fail_msg("%.17g, wanted %.17g", is, due);
}

static void test_units(void **state)
{
	struct bw_result b = row();

	(void)state;
	assert_near(real("bytes", &b), 1e6);
	assert_near(real("avg_gbit_s", &b), 8);
	assert_near(real("avg_mb_s", &b), 1000);
	assert_near(real("avg_mib_s", &b), 1e9 / 1048576);
	assert_near(real("msg_rate_per_s", &b), 1e6);
	assert_near(real("peak_gbit_s", &b), 16);
	assert_true(isnan(real("max_window_gbit_s", &b)) && isnan(real("min_window_gbit_s", &b)));
	b.best = 3e6;
	b.worst = 1e5;
	assert_near(real("max_window_gbit_s", &b), 24);
	assert_near(real("min_window_gbit_s", &b), 0.8);
}

/* Only what arrived is bandwidth. */
static void test_loss(void **state)
{
	struct bw_result b = row();

	(void)state;
	b.received = 900;
	assert_near(real("avg_gbit_s", &b), 7.2);
	assert_near(real("iterations", &b), 1000);
	assert_near(real("lost", &b), 100);
	assert_near(real("bytes", &b), 900000);
	b.received_known = false;
	assert_near(real("avg_gbit_s", &b), 8);
	assert_true(isnan(real("received", &b)) && isnan(real("lost", &b)));
}

/* A run that ended before anything was confirmed has no rate; nothing is divided by 0. */
static void test_nothing(void **state)
{
	static const char *const keys[] = { "seconds", "avg_gbit_s", "avg_mb_s", "avg_mib_s",
					    "msg_rate_per_s", "peak_gbit_s" };
	struct bw_result b = row();

	(void)state;
	b.seconds = 0;
	b.sent = b.received = 0;
	b.peak = NAN;
	for (size_t i = 0; i < COUNT(keys); i++)
		assert_true(isnan(real(keys[i], &b)));
}

/* 2^33 messages of 1 MiB in 30 days: counts stay exact, nothing wraps. */
static void test_large(void **state)
{
	struct bw_result b = row();
	json_t *o;

	(void)state;
	b.size = 1ull << 20;
	b.sent = b.received = (1ull << 33) + 1;
	b.seconds = 30 * 86400.0;
	o = report_bw_json(&b);
	assert_true(json_integer_value(json_object_get(o, "iterations")) == (1ll << 33) + 1);
	assert_true(json_integer_value(json_object_get(o, "bytes")) == ((1ll << 33) + 1) << 20);
	json_decref(o);
	assert_near(real("msg_rate_per_s", &b) * b.seconds, (double)b.sent);
}

static char *table_of(struct fixture *f, const struct bw_result *rows, unsigned int count)
{
	f->r.bandwidth = true;
	f->r.bw = rows;
	f->r.bw_count = count;
	return fixture_text(f, report_bw_table);
}

static void test_table(void **state)
{
	struct bw_result rows[ROWS] = { row(), row(), row() };
	struct fixture *f = *state;
	char *text = table_of(f, rows, 1);

	assert_int_equal(count_lines(text), 2);
	assert_contains(text, "avg[Gb/s]");
	assert_contains(text, "avg[MB/s]");
	assert_contains(text, "avg[MiB/s]");
	assert_contains(text, " 8.000 ");
	assert_contains(text, " - "); /* no whole window */
	assert_lacks(text, "lost");
	assert_lacks(text, "direction");
	assert_sane(text);
	free(text);
	f->set.bidirectional = true;
	rows[1].direction = "server_to_client";
	rows[1].received = 999;
	rows[2].direction = "both";
	text = table_of(f, rows, ROWS);
	assert_int_equal(count_lines(text), 4);
	assert_contains(text, "lost  direction\n");
	assert_contains(text, "1  server_to_client\n");
	assert_contains(text, "0  both\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units), cmocka_unit_test(test_loss),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_large),
		WITH_REPORT(test_table),
	};

	return cmocka_run_group_tests_name("report_bw", tests, NULL, NULL);
}
