/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line: each record of the table with, without and with bad values; hosts; order. */
#include "unit.h"

#include "options.h"
#include "units.h"

static const struct option_program all = {
	.name = "prog", .summary = "tests", .mask = FOR_PAIR | FOR_LAT | FOR_CLOCK | FOR_ALL,
	.argument = "HOST",
};

#define ARGS_MAX 32

/* Parses "prog" and these words, which end with NULL. */
static int parse(const struct option_program *p, const char *const *words, struct settings *s,
		 struct error *e)
{
	char *argv[ARGS_MAX + 2] = { (char *)(uintptr_t)"prog" };
	int argc = 1;

	for (; *words; words++)
		argv[argc++] = (char *)(uintptr_t)*words;
	error_init(e, "prog");
	return options_parse(p, argc, argv, s, e);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void refuse(const struct option_program *p, const char *const *words, const char *part)
{
	struct settings s;
	struct error e;

	if (!parse(p, words, &s, &e))
		fail_msg("%s %s: taken", words[0], words[1] ? words[1] : "");
	assert_error(&e, EXIT_MISUSE, part);
	assert_int_equal(count_lines(e.text), 0);
}

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
	assert_int_equal(parse(&all, WORDS("host"), &s, &e), 0);
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

	if (parse(&all, words, &s, &e))
		fail_msg("--%s: %s", o->name, e.text);
	assert_int_equal(parse(&all, WORDS("host"), &want, &e), 0);
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
		if (o->type == OPTION_FILE)
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
		refuse(&all, WORDS(name, v), why);
		if (o->type == OPTION_NUMBER) {
			snprintf(range, sizeof(range), "from %llu to %llu",
				 (unsigned long long)o->min, (unsigned long long)o->max);
			refuse(&all, WORDS(name, v), range);
		}
		if (!o->min)
			continue;
		snprintf(v, sizeof(v), "%llu", (unsigned long long)o->min - 1);
		refuse(&all, WORDS(name, v), "allowed is");
	}
}

static void test_bad_values(void **state)
{
	static const char *const bad[] = { "x", "-1", "+1", " 1", "1 ", "1x", "0x", "1e3", "1,",
					   ",1", "1,,2", "18446744073709551616", "nan", "\xff" };

	(void)state;
	for (const struct option_record *o = option_table; o->name; o++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", o->name);
		if (!o->arg || o->type == OPTION_TEXT || o->type == OPTION_FILE)
			continue;
		for (size_t i = 0; i < COUNT(bad); i++)
			refuse(&all, WORDS(name, bad[i]), "allowed is");
	}
	refuse(&all, WORDS("--duration", "0"), "a time from 1ms to");
	refuse(&all, WORDS("--clock", "TSC"), "one of tsc, gettime");
	refuse(&all, WORDS("--clock", "ts"), "one of tsc, gettime");
	refuse(&all, WORDS("--size", "1,0,2"), "sizes from 1 to");
}

/* No value, an empty value, and a value where none is taken. */
static void test_missing_value(void **state)
{
	(void)state;
	for (const struct option_record *o = option_table; o->name; o++) {
		char name[64], equals[64], letter[3] = "-?", junk[64];

		snprintf(name, sizeof(name), "--%s", o->name);
		snprintf(equals, sizeof(equals), "--%s=", o->name);
		snprintf(junk, sizeof(junk), "--%s=1", o->name);
		if (!o->arg) {
			refuse(&all, WORDS(junk), "no value is taken by");
			continue;
		}
		refuse(&all, WORDS(equals), "has an empty value");
		if (o->type == OPTION_FILE)
			continue;
		refuse(&all, WORDS(name), "a value is missing after");
		refuse(&all, WORDS(name, ""), "has an empty value");
		for (const char *l = o->letters; *l; l++) {
			letter[1] = *l;
			refuse(&all, WORDS(letter), "a value is missing after");
			refuse(&all, WORDS(letter), letter);
		}
	}
}

/* Any shorter form is refused, also where getopt_long() would find it unambiguous. */
static void test_abbreviation(void **state)
{
	(void)state;
	for (const struct option_record *o = option_table; o->name; o++)
		for (size_t len = 1; len < strlen(o->name); len++) {
			char word[64], equals[80];

			snprintf(word, sizeof(word), "--%.*s", (int)len, o->name);
			snprintf(equals, sizeof(equals), "%s=1", word);
			if (option_index(word + 2) >= 0)
				continue;
			refuse(&all, WORDS(word, "1", "--all"), word);
			refuse(&all, WORDS("host", equals), word);
		}
	refuse(&all, WORDS("--dur", "1s"), "option --dur is cut short; write --duration");
}

static void test_unknown(void **state)
{
	static const struct option_program clock = {
		.name = "clock", .summary = "", .mask = FOR_CLOCK,
	};

	(void)state;
	refuse(&all, WORDS("--nonsense"), "--nonsense");
	refuse(&all, WORDS("-cZ"), "unknown option -Z");
	refuse(&all, WORDS("-cZ"), "prog --help");
	refuse(&clock, WORDS("--size", "8"), "--size");
	refuse(&clock, WORDS("host"), "unexpected argument host");
}

static void test_hosts(void **state)
{
	static const char *const transports[] = { "RC", "UC", "UD", "XRC", "DC" };
	static const char *const hosts[] = { "host-a", "10.0.0.1", "::1", "[::1]:9", "1host", "rc",
					     "fe80::1%eth0" };
	struct settings s;
	struct error e;
	char want[64];

	(void)state;
	for (size_t i = 0; i < COUNT(transports); i++) {
		snprintf(want, sizeof(want), "did you mean --transport %s?", transports[i]);
		refuse(&all, WORDS("-c", transports[i]), want);
		refuse(&all, WORDS(transports[i], "-n", "5"), want);
	}
	refuse(&all, WORDS("18515"), "18515 is no host but a number");
	refuse(&all, WORDS("-a", "5"), "5 is no host but a number");
	refuse(&all, WORDS(""), "the host is empty");
	refuse(&all, WORDS("a", "b"), "two hosts: a and b");
	for (size_t i = 0; i < COUNT(hosts); i++) {
		assert_int_equal(parse(&all, WORDS(hosts[i]), &s, &e), 0);
		assert_string_equal(s.host, hosts[i]);
	}
	assert_int_equal(parse(&all, WORDS("-c"), &s, &e), 0);
	assert_null(s.host);
	assert_true(s.cycles);
}

static void test_clusters(void **state)
{
	struct settings s;
	struct error e;

	(void)state;
	assert_int_equal(parse(&all, WORDS("-cU", "host"), &s, &e), 0);
	assert_true(s.cycles && s.unsorted && !s.sorted);
	assert_int_equal(parse(&all, WORDS("-CUHan7", "host"), &s, &e), 0);
	assert_true(s.cycles && s.unsorted && s.sorted);
	assert_int_equal(s.iters, 7);
	assert_int_equal(s.sizes.count, 24);
	assert_int_equal(s.sizes.v[0], 1);
	assert_int_equal(s.sizes.v[23], 1 << 23);
	assert_int_equal(parse(&all, WORDS("--json", "host"), &s, &e), 0);
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
	assert_int_equal(parse(&all, words, &s, &e), 0);
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
	assert_int_equal(parse(&all, WORDS("host", "-s", "1,64,4k", "-cU", "--json=out",
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
		refuse(&all, WORDS("-cZUH", "-n", "5"), "-Z");
		assert_int_equal(parse(&all, WORDS("-n", "5", "host"), &s, &e), 0);
		assert_int_equal(s.iters, 5);
		assert_false(s.unsorted || s.sorted || s.cycles);
		refuse(&all, WORDS("-c", "-n"), "missing");
		assert_int_equal(parse(&all, WORDS("host", "-U"), &s, &e), 0);
		assert_int_equal(s.iters, 1000);
		assert_true(s.unsorted);
	}
}

static void test_program_defaults(void **state)
{
	static const struct option_default mine[] = { { "size", "64k" }, { NULL, NULL } };
	static const struct option_default broken[] = { { "size", "0" }, { NULL, NULL } };
	struct option_program p = all;
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
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_missing_value),
		cmocka_unit_test(test_abbreviation),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_clusters),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_program_defaults),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
