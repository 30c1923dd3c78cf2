/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The JSON document and the CSV table: keys, null, what is documented, what a name may hold. */
#include "reports.h"

#include <math.h>

static const char *const figures[] = { "first_exchange", "min", "median", "median_ci95", "mean",
				       "stdev", "p90", "p99", "p99_9", "p99_99", "max" };
static const char *const others[] = { "size", "iterations", "samples", "warmup", "latency_kind",
				      "write_in_order", "max_at", "lost", "late", "loaded",
				      "load_gbit_s", "interval_inflation", "modes", "worst",
				      "run" };

static void print_json(FILE *out, const struct report *r)
{
	json_t *doc = report_json(r);

	assert_non_null(doc);
	json_dumpf(doc, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	json_decref(doc);
}

/* Through text, as a reader has it. */
static json_t *document(const struct fixture *f)
{
	char *text = fixture_text(f, print_json);
	json_error_t e;
	json_t *doc = json_loads(text, JSON_REJECT_DUPLICATES, &e);

	if (!doc)
		fail_msg("%s in %s", e.text, text);
	assert_sane(text);
	free(text);
	return doc;
}

static json_t *result(json_t *doc, size_t i)
{
	json_t *o = json_array_get(json_object_get(doc, "results"), i);

	assert_non_null(o);
	return o;
}

static double real(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	if (!json_is_real(v))
		fail_msg("%s is no real number", key);
	return json_real_value(v);
}

static void assert_near(double is, double due)
{
	if (!(fabs(is - due) <= 1e-9 * fabs(due)))
		fail_msg("%.17g, wanted %.17g", is, due);
}

static void test_document(void **state)
{
	static const char *const keys[] = { "program",	"version", "protocol", "role", "time",
					    "local",	"remote",  "settings", "path", "setup", "counters",
					    "counters", "warnings", "results", "error" };
	json_t *doc = document(*state);

	for (size_t i = 0; i < COUNT(keys); i++)
		assert_non_null(json_object_get(doc, keys[i]));
	assert_int_equal(json_object_size(doc), COUNT(keys));
	assert_string_equal(json_string_value(json_object_get(doc, "program")), "rdma_lat");
	assert_string_equal(json_string_value(json_object_get(doc, "role")), "client");
	assert_int_equal(json_integer_value(json_object_get(doc, "protocol")), 1);
	assert_true(json_is_null(json_object_get(doc, "error")));
	assert_int_equal(json_integer_value(json_object_get(json_object_get(doc, "settings"),
							    "tx_depth")), 16);
	assert_near(real(json_object_get(doc, "setup"), "connect_usec"), 5);
	json_decref(doc);
}

static void test_result(void **state)
{
	json_t *doc = document(*state), *o = result(doc, 0);
	char key[40];

	for (size_t i = 0; i < COUNT(others); i++)
		assert_non_null(json_object_get(o, others[i]));
	for (size_t i = 0; i < COUNT(figures); i++)
		for (int cycles = 0; cycles < 2; cycles++) {
			snprintf(key, sizeof(key), "%s_%s", figures[i], cycles ? "cycles" : "usec");
			if (!json_object_get(o, key))
				fail_msg("no %s", key);
		}
	assert_int_equal(json_object_size(o), COUNT(others) + 2 * COUNT(figures));
	assert_int_equal(json_integer_value(json_object_get(o, "size")), 8);
	assert_int_equal(json_integer_value(json_object_get(o, "samples")), SAMPLES);
	assert_near(real(o, "min_usec"), 1);
	assert_near(real(o, "median_usec"), 5.995);
	assert_near(real(o, "max_cycles"), 10990);
	assert_near(real(o, "first_exchange_cycles"), 6172.5);
	assert_near(json_real_value(json_array_get(json_object_get(o, "median_ci95_usec"), 1)),
		    6.31);
	assert_true(json_is_null(json_object_get(o, "p99_99_usec")));
	assert_true(json_is_null(json_object_get(o, "write_in_order")));
	/* (7 k + 3) mod 1000 is 999 at k = 428, sample 429. */
	assert_int_equal(json_integer_value(json_object_get(o, "max_at")), 429);
	assert_string_equal(json_string_value(json_object_get(o, "latency_kind")), "half_rtt");
	assert_int_equal(json_integer_value(json_object_get(o, "lost")), 0);
	assert_true(json_is_false(json_object_get(o, "loaded")));
	assert_true(json_is_null(json_object_get(o, "load_gbit_s")));
	json_decref(doc);
}

/* --full-rtt doubles every figure exactly, in both units. */
static void test_full_rtt(void **state)
{
	struct fixture *f = *state;
	json_t *half = report_json(&f->r), *full, *v;
	const char *key;

	f->r.kind = LATENCY_FULL_RTT;
	full = report_json(&f->r);
	json_object_foreach(result(half, 0), key, v) {
		json_t *twice = json_object_get(result(full, 0), key);

		if (json_is_real(v) && json_real_value(twice) != 2 * json_real_value(v))
			fail_msg("%s", key);
		if (json_is_array(v))
			for (size_t i = 0; i < 2; i++)
				assert_true(json_real_value(json_array_get(twice, i)) ==
					    2 * json_real_value(json_array_get(v, i)));
		if (json_is_integer(v) || json_is_null(v))
			assert_true(json_equal(v, twice));
	}
	assert_string_equal(json_string_value(json_object_get(result(full, 0), "latency_kind")),
			    "full_rtt");
	json_decref(half);
	json_decref(full);
}

/* Not measured is null: no sample, no clock, no step of the set-up, no QP. */
static void test_nulls(void **state)
{
	struct fixture *f = *state;
	char key[40];
	json_t *doc, *v;
	const char *name;

	fixture_samples(f, 0, 0);
	f->r.setup = (struct report_setup){ NAN, NAN, NAN, NAN, NAN };
	f->endpoint.qp_count = 0;
	doc = document(f);
	for (size_t i = 0; i < COUNT(figures); i++)
		for (int cycles = 0; cycles < 2; cycles++) {
			snprintf(key, sizeof(key), "%s_%s", figures[i], cycles ? "cycles" : "usec");
			assert_true(json_is_null(json_object_get(result(doc, 0), key)));
		}
	assert_true(json_is_null(json_object_get(result(doc, 0), "max_at")));
	assert_true(json_is_null(json_object_get(doc, "path")));
	json_object_foreach(json_object_get(doc, "setup"), name, v)
		assert_true(json_is_null(v));
	json_decref(doc);
	fixture_samples(f, 0, 5);
	f->clock.hz = 0;
	doc = document(f);
	assert_true(json_is_null(json_object_get(result(doc, 0), "min_usec")));
	assert_near(real(result(doc, 0), "min_cycles"), 1000);
	json_decref(doc);
}

/* A run that failed still has its document, with the reason; unknown facts are null. */
static void test_error(void **state)
{
	struct fixture *f = *state;
	struct capture c;
	char said[256];
	json_t *doc, *e;

	json_decref(f->r.local);
	json_decref(f->r.remote);
	f->r.local = f->r.remote = NULL;
	f->r.result_count = 0;
	f->err.stage = "connect-qp";
	capture_begin(&c);
	error_warn(&f->err, "a \"warning\"");
	error_warn(&f->err, "in Latin-1: caf\xe9");
	capture_end(&c, said, sizeof(said));
	error_set(&f->err, EXIT_FAILED, 110, "to host \xfc");
	doc = document(f);
	e = json_object_get(doc, "error");
	assert_string_equal(json_string_value(json_object_get(e, "stage")), "connect-qp");
	assert_int_equal(json_integer_value(json_object_get(e, "errno")), 110);
	assert_contains(json_string_value(json_object_get(e, "text")), "to host ?: ");
	assert_true(json_is_null(json_object_get(doc, "local")));
	assert_true(json_is_null(json_object_get(doc, "remote")));
	assert_int_equal(json_array_size(json_object_get(doc, "results")), 0);
	assert_int_equal(json_array_size(json_object_get(doc, "warnings")), 2);
	assert_string_equal(json_string_value(json_array_get(json_object_get(doc, "warnings"), 0)),
			    "a \"warning\"");
	json_decref(doc);
}

/* Names with quotes, control characters and foreign letters come back as they were. */
static void test_names(void **state)
{
	static const char *const names[] = { "dev\"0", "back\\slash", "line\nend", "\033[1m",
					     "\xc3\xbc\xe2\x82\xac", "{\"a\":1}", "" };
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT(names); i++) {
		json_t *doc;

		json_object_set_new(f->r.remote, "device", json_string(names[i]));
		doc = document(f);
		assert_string_equal(json_string_value(json_object_get(
					    json_object_get(doc, "remote"), "device")),
				    names[i]);
		json_decref(doc);
	}
}

static void test_in_order(void **state)
{
	static const int values[] = { 1, 0, -1 };
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT(values); i++) {
		json_t *doc, *v;

		f->endpoint.in_order = values[i];
		doc = document(f);
		v = json_object_get(result(doc, 0), "write_in_order");
		assert_true(values[i] == 1 ? json_is_true(v) : values[i] ? json_is_null(v) :
									   json_is_false(v));
		json_decref(doc);
	}
}

static void check_documented(const char *man, json_t *v)
{
	const char *key;
	json_t *child;
	size_t i;

	json_array_foreach(v, i, child)
		check_documented(man, child);
	json_object_foreach(v, key, child) {
		char want[64];
		size_t len = strlen(key);

		/* "and the same keys ending in _cycles" */
		snprintf(want, sizeof(want), "%s", key);
		if (len > 7 && !strcmp(key + len - 7, "_cycles"))
			strcpy(want + len - 7, "_usec");
		assert_contains(man, want);
		/* "every option by its long name" */
		if (strcmp(key, "settings"))
			check_documented(man, child);
	}
}

/* Every key that is written has its place in the manual page. */
static void test_documented(void **state)
{
	struct fixture *f = *state;
	FILE *out = tmpfile();
	json_t *doc;
	char *man;

	error_set(&f->err, EXIT_FAILED, 1, "x");
	f->r.floor.known = true;
	f->r.runs = &(struct report_runs){ .size = 8, .of = { .n = 3, .mean = 6000 } };
	f->r.runs_count = 1;
	doc = document(f);
	options_man(out, &fixture_program);
	man = file_text(out);
	check_documented(strstr(man, "JSON KEYS"), doc);
	free(man);
	json_decref(doc);
}

/* The next field of a line, or NULL behind the last. */
static char *field(char **line)
{
	return strsep(line, ",");
}

static void check_csv_row(char *titles, char *row, json_t *o)
{
	const char *key;
	json_t *v;

	json_object_foreach(o, key, v) {
		bool pair = strstr(key, "ci95") != NULL;

		for (int i = 0; i < (pair ? 2 : 1); i++) {
			char want[48], *title = field(&titles), *is = field(&row);
			json_t *one = pair ? json_array_get(v, (size_t)i) : v;

			snprintf(want, sizeof(want), pair ? (i ? "%s_hi" : "%s_lo") : "%s", key);
			assert_string_equal(title, want);
			assert_non_null(is);
			if (!one || json_is_null(one))
				assert_string_equal(is, "");
			else if (json_is_string(one))
				assert_string_equal(is, json_string_value(one));
			else if (json_is_number(one))
				assert_near(strtod(is, NULL), json_number_value(one));
		}
	}
	assert_null(titles);
	assert_null(row);
}

/* One line of titles, the keys of a result; a line for each size; an empty field for null. */
static void test_csv(void **state)
{
	struct fixture *f = *state;
	char *text, *rest, *titles, *line;
	json_t *doc;

	f->r.result_count = 2;
	fixture_samples(f, 1, 3);
	doc = document(f);
	text = rest = fixture_text(f, report_csv);
	assert_int_equal(count_lines(text), 3);
	assert_sane(text);
	titles = strsep(&rest, "\n");
	for (size_t i = 0; i < 2; i++) {
		char *copy = strdup(titles);

		line = strsep(&rest, "\n");
		check_csv_row(copy, line, result(doc, i));
		free(copy);
	}
	free(text);
	json_decref(doc);
	f->r.result_count = 0;
	text = fixture_text(f, report_csv);
	assert_int_equal(count_lines(text), 1);
	free(text);
}

static void test_time(void **state)
{
	char out[32];
	int y, mo, d, h, mi, s, used = 0;

	(void)state;
	report_time(out);
	assert_int_equal(sscanf(out, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &y, &mo, &d, &h, &mi, &s, &used),
			 6);
	assert_int_equal(used, 20);
	assert_int_equal(strlen(out), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_REPORT(test_document), WITH_REPORT(test_result), WITH_REPORT(test_full_rtt),
		WITH_REPORT(test_nulls),    WITH_REPORT(test_error),  WITH_REPORT(test_names),
		WITH_REPORT(test_in_order), WITH_REPORT(test_documented), WITH_REPORT(test_csv),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests_name("report_json", tests, NULL, NULL);
}
