/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command lines that are refused: bad and missing values, cut-short names, no hosts. */
#include "words.h"

static void test_bad_values(void **state)
{
	static const char *const bad[] = { "x", "-1", "+1", " 1", "1 ", "1x", "0x", "1e3", "1,",
					   ",1", "1,,2", "18446744073709551616", "nan", "\xff" };

	(void)state;
	for (const struct option_record *o = option_table; o->name; o++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", o->name);
		if (!o->arg || o->type == OPTION_TEXT || o->type == OPTION_TEXTS ||
		    o->type == OPTION_FILE)
			continue;
		for (size_t i = 0; i < COUNT(bad); i++)
			if (!strcmp(o->name, "mcast") &&
			    strspn(bad[i], "0123456789abcdef.:") == strlen(bad[i])) {
				continue; /* might be part of an address, which mcast.c judges */
			} else if (option_stands_alone(o)) {
				char equals[96];

				snprintf(equals, sizeof(equals), "%s=%s", name, bad[i]);
				refuse(&all_options, WORDS(equals), "allowed is");
			} else {
				refuse(&all_options, WORDS(name, bad[i]), "allowed is");
			}
	}
	refuse(&all_options, WORDS("--duration", "0"), "a time from 1ms to");
	refuse(&all_options, WORDS("--clock", "TSC"), "one of tsc, gettime");
	refuse(&all_options, WORDS("--clock", "ts"), "one of tsc, gettime");
	refuse(&all_options, WORDS("--size", "1,0,2"), "sizes from 1 to");
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
			refuse(&all_options, WORDS(junk), "no value is taken by");
			continue;
		}
		refuse(&all_options, WORDS(equals), "has an empty value");
		if (option_stands_alone(o))
			continue;
		refuse(&all_options, WORDS(name), "a value is missing after");
		refuse(&all_options, WORDS(name, ""), "has an empty value");
		for (const char *l = o->letters; *l; l++) {
			letter[1] = *l;
			refuse(&all_options, WORDS(letter), "a value is missing after");
			refuse(&all_options, WORDS(letter), letter);
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
			refuse(&all_options, WORDS(word, "1", "--all"), word);
			refuse(&all_options, WORDS("host", equals), word);
		}
	refuse(&all_options, WORDS("--dur", "1s"), "option --dur is cut short; write --duration");
}

static void test_unknown(void **state)
{
	static const struct option_program clock = {
		.name = "clock", .summary = "", .mask = FOR_CLOCK,
	};

	(void)state;
	refuse(&all_options, WORDS("--nonsense"), "--nonsense");
	refuse(&all_options, WORDS("-cZ"), "unknown option -Z");
	refuse(&all_options, WORDS("-cZ"), "prog --help");
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
		refuse(&all_options, WORDS("-c", transports[i]), want);
		refuse(&all_options, WORDS(transports[i], "-n", "5"), want);
	}
	refuse(&all_options, WORDS("18515"), "18515 is no host but a number");
	refuse(&all_options, WORDS("-a", "5"), "5 is no host but a number");
	refuse(&all_options, WORDS(""), "the host is empty");
	refuse(&all_options, WORDS("a", "b"), "two hosts: a and b");
	for (size_t i = 0; i < COUNT(hosts); i++) {
		assert_int_equal(parse(&all_options, WORDS(hosts[i]), &s, &e), 0);
		assert_string_equal(s.host, hosts[i]);
	}
	assert_int_equal(parse(&all_options, WORDS("-c"), &s, &e), 0);
	assert_null(s.host);
	assert_true(s.cycles);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_missing_value),
		cmocka_unit_test(test_abbreviation),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_hosts),
	};

	return cmocka_run_group_tests_name("option_misuse", tests, NULL, NULL);
}
