/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line: each record of the table with and without a value; order. */
#include "words.h"

#include "units.h"

/* Every option's value as one text, so that two parses can be compared. */
static char *values(const struct settings *s)
{
	json_t *v = json_object(), *given = json_array();
	char *text;

	for (int i = 0; option_table[i].name; i++) {
		json_object_set_new(v, option_table[i].name, option_to_json(&option_table[i], s));
		json_array_append_new(given, json_boolean(s->given[i]));
	}
	json_object_set_new(v, "given", given);
	json_object_set_new(v, "host", s->host ? json_string(s->host) : json_null());
	text = json_dumps(v, JSON_COMPACT);
	json_decref(v);
	assert_non_null(text);
	return text;
}

/* The first of a few texts that the codec of @o takes. */
static const char *parsed_value(const struct option_record *o)
{
	static const char *const texts[] = { "12+", "10Gb/s,sl=1,tc=104", "10Gb/s", "ff12::7",
					     "99,5", "30,3", "3%" };
	struct settings s;
	char why[128];

	for (size_t i = 0; i < COUNT(texts); i++)
		if (!option_set(o, texts[i], &s, why, sizeof(why)))
			return texts[i];
	fail_msg("no value for --%s", o->name);
	return NULL;
}

/* A value that differs from the default, in text. */
static const char *good_value(const struct option_record *o, char buf[UNITS_TEXT])
{
	switch (o->type) {
	case OPTION_NUMBER:
		snprintf(buf, UNITS_TEXT, "%llu", (unsigned long long)o->max);
		return buf;
	case OPTION_SIZE:
	case OPTION_SIZES:
		return units_print_size(buf, o->max);
	case OPTION_TIME:
		return units_print_time(buf, o->max);
	case OPTION_NAME:
		return o->names[1];
	case OPTION_PARSED:
		return parsed_value(o);
	default:
		return "some/text";
	}
}

static void check_table(void)
{
	for (const struct option_record *o = option_table; o->name; o++) {
		assert_true(o - option_table < OPTIONS_MAX);
		assert_int_equal(option_index(o->name), o - option_table);
		assert_true(strlen(o->name) < 32);
		for (const char *l = o->letters; *l; l++)
			for (const struct option_record *p = o + 1; p->name; p++)
				if (strchr(p->letters, *l))
					fail_msg("-%c is --%s and --%s", *l, o->name, p->name);
		if (o->type == OPTION_FLAG || o->type == OPTION_ALL_SIZES)
			assert_null(o->arg);
		else
			assert_non_null(o->arg);
		if (o->type == OPTION_NAME)
			assert_true(o->names && o->names[0] && o->names[1]);
		assert_true((o->codec != NULL) == (o->type == OPTION_PARSED));
		assert_true(o->min <= o->max);
	}
}

static void test_table(void **state)
{
	(void)state;
	check_table();
	assert_int_equal(option_index("no-such"), -1);
	assert_int_equal(option_index(""), -1);
}

/* Without an option its value is the default of the table, or still open. */
static void test_without(void **state)
{
	struct settings s, want;
	struct error e;
	char why[128];

	(void)state;
	assert_int_equal(parse(&all_options, WORDS("host"), &s, &e), 0);
	for (const struct option_record *o = option_table; o->name; o++) {
		json_t *is = option_to_json(o, &s), *due;

		assert_false(option_given(&s, o->name));
		want = s;
		if (o->fallback && *o->fallback)
			assert_int_equal(option_set(o, o->fallback, &want, why, sizeof(why)), 0);
		due = option_to_json(o, &want);
		if (!o->fallback)
			assert_true(json_is_null(is));
		if (!json_equal(is, due))
			fail_msg("default of --%s", o->name);
		json_decref(is);
		json_decref(due);
	}
	assert_string_equal(s.host, "host");
}

static void takes(const struct option_record *o, const char *const *words, const char *value)
{
	struct settings s, want;
	struct error e;
	char why[128], *is, *due;

	if (parse(&all_options, words, &s, &e))
		fail_msg("--%s: %s", o->name, e.text);
	assert_int_equal(parse(&all_options, WORDS("host"), &want, &e), 0);
	want.host = NULL;
	assert_int_equal(option_set(o, value, &want, why, sizeof(why)), 0);
	want.given[o - option_table] = true;
	is = values(&s);
	due = values(&want);
	assert_string_equal(is, due);
	free(is);
	free(due);
}

/* --name VALUE, --name=VALUE, -l VALUE, -lVALUE: the same, and no other value changes. */
static void test_with(void **state)
{
	(void)state;
	for (const struct option_record *o = option_table; o->name; o++) {
		char buf[UNITS_TEXT], name[64], equals[128], letter[3] = "-?", glued[64];
		const char *v = o->arg ? good_value(o, buf) : NULL;

		snprintf(name, sizeof(name), "--%s", o->name);
		snprintf(equals, sizeof(equals), "--%s=%s", o->name, v ? v : "");
		if (option_stands_alone(o))
			takes(o, WORDS(name), NULL);
		else
			takes(o, WORDS(name, v), v);
		if (v)
			takes(o, WORDS(equals), v);
		for (const char *l = o->letters; *l; l++) {
			letter[1] = *l;
			snprintf(glued, sizeof(glued), "-%c%s", *l, v ? v : "");
			takes(o, WORDS(letter, v), v);
			takes(o, WORDS(glued), v);
		}
	}
}

/* Both ends of each range are taken, what lies outside is not. */
static void test_range(void **state)
{
	(void)state;
	for (const struct option_record *o = option_table; o->name; o++) {
		char name[64], v[32], why[128], range[48];

		snprintf(name, sizeof(name), "--%s", o->name);
		if (o->type != OPTION_NUMBER && o->type != OPTION_SIZE && o->type != OPTION_SIZES)
			continue;
		snprintf(v, sizeof(v), "%llu", (unsigned long long)o->min);
		takes(o, WORDS(name, v), v);
		snprintf(v, sizeof(v), "%llu", (unsigned long long)o->max);
		takes(o, WORDS(name, v), v);
		snprintf(v, sizeof(v), "%llu", (unsigned long long)o->max + 1);
		snprintf(why, sizeof(why), "--%s %s: allowed is", o->name, v);
		refuse(&all_options, WORDS(name, v), why);
		if (o->type == OPTION_NUMBER) {
			snprintf(range, sizeof(range), "from %llu to %llu",
				 (unsigned long long)o->min, (unsigned long long)o->max);
			refuse(&all_options, WORDS(name, v), range);
		}
		if (!o->min)
			continue;
		snprintf(v, sizeof(v), "%llu", (unsigned long long)o->min - 1);
		refuse(&all_options, WORDS(name, v), "allowed is");
	}
}

static void test_clusters(void **state)
{
	struct settings s;
	struct error e;

	(void)state;
	assert_int_equal(parse(&all_options, WORDS("-cU", "host"), &s, &e), 0);
	assert_true(s.cycles && s.unsorted && !s.sorted);
	assert_int_equal(parse(&all_options, WORDS("-CUHan7", "host"), &s, &e), 0);
	assert_true(s.cycles && s.unsorted && s.sorted);
	assert_int_equal(s.iters, 7);
	assert_int_equal(s.sizes.count, 24);
	assert_int_equal(s.sizes.v[0], 1);
	assert_int_equal(s.sizes.v[23], 1 << 23);
	assert_int_equal(parse(&all_options, WORDS("--json", "host"), &s, &e), 0);
	assert_string_equal(s.json, "-");
	assert_string_equal(s.host, "host");
}

#define PIECES 5

/* All orders of five pieces, some of two words, mean the same. */
static void permute(const char *const (*piece)[2], int *order, int n, const char *first)
{
	const char *words[2 * PIECES + 1];
	struct settings s;
	struct error e;
	char *is;
	int k = 0;

	if (n < PIECES) {
		for (int i = n; i < PIECES; i++) {
			int swap = order[n];

			order[n] = order[i];
			order[i] = swap;
			permute(piece, order, n + 1, first);
			order[i] = order[n];
			order[n] = swap;
		}
		return;
	}
	for (int i = 0; i < PIECES; i++)
		for (int w = 0; w < 2 && piece[order[i]][w]; w++)
			words[k++] = piece[order[i]][w];
	words[k] = NULL;
	assert_int_equal(parse(&all_options, words, &s, &e), 0);
	is = values(&s);
	assert_string_equal(is, first);
	free(is);
}

static void test_order(void **state)
{
	static const char *const piece[PIECES][2] = { { "host" }, { "-s", "1,64,4k" }, { "-cU" },
						      { "--json=out" }, { "--duration", "2s" } };
	int order[PIECES] = { 0, 1, 2, 3, 4 };
	struct settings s;
	struct error e;
	char *first;

	(void)state;
	assert_int_equal(parse(&all_options, WORDS("host", "-s", "1,64,4k", "-cU", "--json=out",
					   "--duration", "2s"), &s, &e), 0);
	first = values(&s);
	permute(piece, order, 0, first);
	free(first);
}

/* getopt_long() keeps state between calls; a parse that ended early must not leak into the next. */
static void test_again(void **state)
{
	struct settings s;
	struct error e;

	(void)state;
	for (int i = 0; i < 3; i++) {
		refuse(&all_options, WORDS("-cZUH", "-n", "5"), "-Z");
		assert_int_equal(parse(&all_options, WORDS("-n", "5", "host"), &s, &e), 0);
		assert_int_equal(s.iters, 5);
		assert_false(s.unsorted || s.sorted || s.cycles);
		refuse(&all_options, WORDS("-c", "-n"), "missing");
		assert_int_equal(parse(&all_options, WORDS("host", "-U"), &s, &e), 0);
		assert_int_equal(s.iters, 1000);
		assert_true(s.unsorted);
	}
}

static void test_program_defaults(void **state)
{
	static const struct option_default mine[] = { { "size", "64k" }, { NULL, NULL } };
	static const struct option_default broken[] = { { "size", "0" }, { NULL, NULL } };
	struct option_program p = all_options;
	struct settings s;
	struct error e;

	(void)state;
	p.defaults = mine;
	assert_int_equal(parse(&p, WORDS("host"), &s, &e), 0);
	assert_int_equal(s.sizes.v[0], 65536);
	assert_int_equal(s.iters, 1000);
	p.defaults = broken;
	refuse(&p, WORDS("host"), "default of --size");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_with),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_clusters),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_program_defaults),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
