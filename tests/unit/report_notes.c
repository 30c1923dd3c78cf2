/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What stands below the table: the loop's floor and its share, runs and their interval, load. */
#include "reports.h"

#include <math.h>

/* Stamp, poll and post of 100, 50 and 1049 ns; the median of 8 bytes is 5995 ns. */
static void set_floor(struct fixture *f)
{
	f->r.floor = (struct report_floor){ true, 100, 50, 1049 };
}

static void test_floor(void **state)
{
	struct fixture *f = *state;
	char *text;
	json_t *doc, *o;

	set_floor(f);
	text = fixture_text(f, report_text);
	assert_contains(text, "floor: stamp 100.0 ns, empty poll 50.0 ns, post 1049.0 ns (8 bytes, to "
			      "itself); together 20 % of the median\n");
	free(text);
	doc = report_json(&f->r);
	o = json_object_get(doc, "floor");
	assert_int_equal(json_object_size(o), 4);
	assert_true(json_real_value(json_object_get(o, "post_ns")) == 1049);
	assert_true(fabs(json_real_value(json_object_get(o, "share")) - 0.2) < 1e-9);
	json_decref(doc);
}

/* Of a whole round trip the same cost is half the share; without a sample there is none. */
static void test_floor_share(void **state)
{
	struct fixture *f = *state;
	char *text;
	json_t *doc;

	set_floor(f);
	f->r.kind = LATENCY_FULL_RTT;
	assert_true(fabs(report_floor_share(&f->r) - 0.1) < 1e-9);
	fixture_samples(f, 0, 0);
	assert_true(isnan(report_floor_share(&f->r)));
	text = fixture_text(f, report_text);
	assert_lacks(text, "of the median");
	free(text);
	doc = report_json(&f->r);
	assert_true(json_is_null(json_object_get(json_object_get(doc, "floor"), "share")));
	json_decref(doc);
	f->r.floor.known = false;
	doc = report_json(&f->r);
	assert_true(json_is_null(json_object_get(doc, "floor")));
	json_decref(doc);
}

static void test_runs(void **state)
{
	struct fixture *f = *state;
	struct report_runs runs[] = {
		{ .size = 8, .of = { .n = 5, .mean = 12000, .half_percent = 1.25 },
		  .within_percent = 0.5, .reached = true },
		{ .size = 8, .of = { .n = 1, .mean = 12000, .half = NAN, .half_percent = NAN },
		  .within_percent = NAN },
	};
	json_t *doc, *o;
	char *text;

	f->set.confidence.level = 99;
	f->set.confidence.width = 5;
	f->r.runs = runs;
	f->r.runs_count = 2;
	text = fixture_text(f, report_text);
	assert_contains(text, "8 bytes: 5 runs: median 6.000 usec +/- 1.25 % (99 %), wanted +/- 2.50 %: "
			      "reached\n");
	assert_contains(text, "8 bytes: 1 runs: median 6.000 usec +/- - (99 %), wanted +/- 2.50 %: not "
			      "reached\n");
	free(text);
	doc = report_json(&f->r);
	o = json_array_get(json_object_get(doc, "runs"), 0);
	assert_true(json_real_value(json_object_get(o, "half_percent")) == 1.25);
	assert_true(json_is_true(json_object_get(o, "reached")));
	o = json_array_get(json_object_get(doc, "runs"), 1);
	assert_true(json_is_null(json_object_get(o, "half_percent")));
	assert_true(json_is_null(json_object_get(o, "within_half_percent")));
	json_decref(doc);
}

static void test_load(void **state)
{
	struct fixture *f = *state;
	char *text;

	f->r.result_count = 2;
	f->results[1].size = 8;
	f->results[1].loaded = true;
	f->results[1].load_bytes_per_s = 125e6;
	text = fixture_text(f, report_text);
	assert_contains(text, "8 bytes under load of 1.000 Gb/s: median 5.995 usec idle, 11.990 loaded "
			      "(2.00 x); mean 5.995 idle, 11.990 loaded (2.00 x)\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_REPORT(test_floor),
		WITH_REPORT(test_floor_share),
		WITH_REPORT(test_runs),
		WITH_REPORT(test_load),
	};

	return cmocka_run_group_tests_name("report_notes", tests, NULL, NULL);
}
