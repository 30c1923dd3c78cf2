/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Option values to JSON and back; what a peer may send instead is refused and changes nothing. */
#include "unit.h"

#include <errno.h>

#include "options.h"

static const struct option_program all = {
	.name = "prog", .summary = "tests", .mask = ~0u,
	.argument = "HOST",
};

static void defaults(struct settings *s)
{
	char *argv[] = { (char *)(uintptr_t)"prog", NULL };
	struct error e;

	error_init(&e, "prog");
	assert_int_equal(options_parse(&all, 1, argv, s, &e), 0);
}

static const struct option_record *record(const char *name)
{
	assert_true(option_index(name) >= 0);
	return &option_table[option_index(name)];
}

static bool goes_over_the_wire(const struct option_record *o)
{
	return o->type != OPTION_TEXT && o->type != OPTION_TEXTS && o->type != OPTION_FILE &&
	       o->type != OPTION_ALL_SIZES;
}

/* Through text, as the frames do it. */
static void round_trip(const struct option_record *o, const struct settings *s)
{
	json_t *v = option_to_json(o, s), *read, *back;
	char *text = json_dumps(v, JSON_ENCODE_ANY);
	struct settings other;

	assert_non_null(text);
	defaults(&other);
	read = json_loads(text, JSON_DECODE_ANY, NULL);
	assert_int_equal(option_from_json(o, read, &other), 0);
	back = option_to_json(o, &other);
	if (!json_equal(v, back))
		fail_msg("--%s: %s came back as something else", o->name, text);
	json_decref(v);
	json_decref(read);
	json_decref(back);
	free(text);
}

static void test_round_trip_defaults(void **state)
{
	struct settings s;

	(void)state;
	defaults(&s);
	for (const struct option_record *o = option_table; o->name; o++)
		if (goes_over_the_wire(o))
			round_trip(o, &s);
}

static void test_round_trip_values(void **state)
{
	static const char *const texts[] = { "1", "2", "7", "300", "4k", "1,64,4k", "1ms", "1500ms",
					     "123456789ns", "29d", "720h", "0.1", "true", "gettime",
					     "wr", "late", "0xffff", "1099511627776", "10Gb/s",
					     "2M/s,sl=3,tc=255", "7+" };
	unsigned int done = 0;
	char why[256];

	(void)state;
	for (const struct option_record *o = option_table; o->name; o++)
		for (size_t i = 0; i < COUNT(texts) && goes_over_the_wire(o); i++) {
			struct settings s;

			defaults(&s);
			if (option_set(o, texts[i], &s, why, sizeof(why)))
				continue;
			round_trip(o, &s);
			done++;
		}
	assert_true(done > 100);
}

#define EXACT_NS (30 * 86400 * 1000000000ull) /* 2^53 ns are 104 days */

/* Times are doubles of seconds in JSON; no nanosecond gets lost in 30 days, a few in a year. */
static void test_round_trip_times(void **state)
{
	const struct option_record *o = record("duration");
	struct settings s, t;

	(void)state;
	defaults(&s);
	for (uint64_t ns = o->min; ns <= o->max; ns = ns * 3 / 2 + 1) {
		json_t *v;

		s.duration_ns = ns;
		v = option_to_json(o, &s);
		defaults(&t);
		assert_int_equal(option_from_json(o, v, &t), 0);
		assert_true(t.duration_ns >= o->min && t.duration_ns <= o->max);
		assert_true(llabs((long long)(t.duration_ns - ns)) <= (ns <= EXACT_NS ? 0 : 8));
		json_decref(v);
	}
}

static void test_forms(void **state)
{
	static const struct {
		const char *option, *text, *json;
	} rows[] = {
		{ "size", "1,64,4k", "[1,64,4096]" },
		{ "iters", "1000", "1000" },
		{ "duration", "1500ms", "1.5" },
		{ "reap", "late", "\"late\"" },
		{ "cycles", "", "true" },
		{ "mtu", NULL, "null" },
		{ "duration", NULL, "null" },
		{ "cycles", NULL, "false" },
		{ "json", NULL, "null" },
		{ "json", "a\"b", "\"a\\\"b\"" },
		{ "inline", "0", "0" },
		{ "pkey", "0xffff", "65535" },
	};
	char why[256];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct option_record *o = record(rows[i].option);
		struct settings s;
		json_t *v;
		char *text;

		defaults(&s);
		if (rows[i].text)
			assert_int_equal(option_set(o, rows[i].text, &s, why, sizeof(why)), 0);
		v = option_to_json(o, &s);
		text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
		assert_string_equal(text, rows[i].json);
		free(text);
		json_decref(v);
	}
}

static void refuse(const struct option_record *o, const char *json)
{
	json_t *v = json_loads(json, JSON_DECODE_ANY, NULL);
	struct settings before, s;

	assert_non_null(v);
	memset(&before, 0, sizeof(before));
	defaults(&before);
	s = before;
	if (option_from_json(o, v, &s) != -EINVAL)
		fail_msg("--%s took %s", o->name, json);
	if (memcmp(&s, &before, sizeof(s)))
		fail_msg("--%s: %s was refused and changed something", o->name, json);
	json_decref(v);
}

/* Strings are what a value with a grammar of its own is written in; option_codec.c has those. */
static bool may_be_right(const struct option_record *o, const char *json)
{
	return o->type == OPTION_PARSED && !strcmp(json, "\"8\"");
}

/* Never the right thing for any number, name, time or list. */
static void test_hostile_types(void **state)
{
	static const char *const hostile[] = {
		"{}", "[]", "[[]]", "[null]", "[\"8\"]", "[8.0]", "[1,-1]", "[0]", "[true]", "{\"a\":1}",
		"\"\"", "\"8\"", "\"\\u0001\"", "-1", "-9223372036854775808",
		"9223372036854775807", "18446744073709551615.0", "1e300", "-0.5",
	};

	(void)state;
	for (const struct option_record *o = option_table; o->name; o++)
		for (size_t i = 0; i < COUNT(hostile); i++)
			if (!may_be_right(o, hostile[i]))
				refuse(o, hostile[i]);
}

static void test_hostile_values(void **state)
{
	static const struct {
		const char *option, *json;
	} rows[] = {
		{ "size", "null" }, { "size", "8" }, { "size", "[2147483649]" },
		{ "size", "[4294967304]" }, { "iters", "0" }, { "iters", "1.5" },
		{ "iters", "1099511627777" }, { "iters", "null" }, { "iters", "true" },
		{ "duration", "0" }, { "duration", "0.0000001" }, { "duration", "31536000.1" },
		{ "duration", "false" }, { "reap", "null" }, { "reap", "0" }, { "reap", "\"LATE\"" },
		{ "reap", "\"late \"" }, { "full-rtt", "1" }, { "full-rtt", "null" },
		{ "full-rtt", "\"true\"" }, { "mtu", "255" }, { "mtu", "4097" },
		{ "mtu", "4294967552" }, { "qps", "16385" }, { "sl", "16" }, { "pkey", "0" },
		{ "connect-timeout", "\"10s\"" }, { "bind", "\"::1\"" }, { "json", "\"/etc/x\"" },
		{ "ib-dev", "null" }, { "all", "true" }, { "all", "[1]" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		refuse(record(rows[i].option), rows[i].json);
}

static void test_too_many_sizes(void **state)
{
	const struct option_record *o = record("size");
	json_t *a = json_array();
	struct settings s;

	(void)state;
	defaults(&s);
	for (int i = 0; i < SIZES_MAX; i++)
		json_array_append_new(a, json_integer(i + 1));
	assert_int_equal(option_from_json(o, a, &s), 0);
	assert_int_equal(s.sizes.count, SIZES_MAX);
	assert_int_equal(s.sizes.v[SIZES_MAX - 1], SIZES_MAX);
	json_array_append_new(a, json_integer(1));
	assert_int_equal(option_from_json(o, a, &s), -EINVAL);
	assert_int_equal(s.sizes.count, SIZES_MAX);
	json_decref(a);
}

/* Long names with _; what only prints and ends is not there; all kinds of text are. */
static void test_settings(void **state)
{
	struct settings s;
	json_t *v, *none;

	(void)state;
	defaults(&s);
	s.bind = "10.0.0.1";
	s.json = "caf\xe9.json"; /* Latin-1: no UTF-8 */
	v = options_settings_json(&all, &s);
	for (const struct option_record *o = option_table; o->name; o++) {
		char key[32];

		option_key(o, key);
		assert_null(strchr(key, '-'));
		none = json_object_get(v, key);
		if (!strcmp(o->group, "The rest") || o->type == OPTION_ALL_SIZES)
			assert_null(none);
		else if (!none)
			fail_msg("no key %s", key);
	}
	assert_string_equal(json_string_value(json_object_get(v, "bind")), "10.0.0.1");
	assert_string_equal(json_string_value(json_object_get(v, "json")), "caf?.json");
	json_decref(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip_defaults),
		cmocka_unit_test(test_round_trip_values),
		cmocka_unit_test(test_round_trip_times),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_hostile_types),
		cmocka_unit_test(test_hostile_values),
		cmocka_unit_test(test_too_many_sizes),
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests_name("option_json", tests, NULL, NULL);
}
