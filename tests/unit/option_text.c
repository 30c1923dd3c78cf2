/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --help and the manual page name every option, its range and its default; no word is lost. */
#include "unit.h"

#include "options.h"
#include "report_keys.h"
#include "units.h"

static const char *const sections[] = { "EXAMPLES", "Text:\n  -literal 'line'\n.dot at start\n\n"
					"Second paragraph.", BENCH_LATENCY_SECTIONS, NULL };

static const struct option_program lat = {
	.name = "rdma_lat", .summary = "Measures the latency - of tests",
	.mask = FOR_PAIR | FOR_LAT | FOR_CLOCK, .argument = "HOST", .sections = sections,
};

static const struct option_program clock = {
	.name = "clock_test", .summary = "Clocks", .mask = FOR_CLOCK,
};

static char *printed(void (*print)(FILE *out, const struct option_program *p),
		     const struct option_program *p)
{
	FILE *out = tmpfile();

	assert_non_null(out);
	print(out, p);
	return file_text(out);
}

/* One space for any run of spaces and line ends; roff's escapes undone. */
static void flatten(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (!strncmp(from, "\\&", 2))
			from++;
		else if (!strncmp(from, "\\e", 2))
			*to++ = '\\', from++;
		else if (!strncmp(from, "\\-", 2))
			*to++ = '-', from++;
		else if (*from == ' ' || *from == '\n')
			to += to > text && to[-1] == ' ' ? 0 : (*to = ' ', 1);
		else
			*to++ = *from;
	}
	*to = '\0';
}

static void check_option(const char *text, const struct option_record *o, const char *fallback)
{
	char want[128], lo[UNITS_TEXT], hi[UNITS_TEXT];

	snprintf(want, sizeof(want), "--%s", o->name);
	assert_contains(text, want);
	assert_contains(text, o->help);
	for (const char *l = o->letters; *l; l++) {
		snprintf(want, sizeof(want), "-%c, ", *l);
		assert_contains(text, want);
	}
	if (o->arg) {
		snprintf(want, sizeof(want), option_stands_alone(o) ? "--%s[=%s]" : "--%s %s",
			 o->name, o->arg);
		assert_contains(text, want);
	}
	if (fallback && *fallback) {
		snprintf(want, sizeof(want), "default %s)", fallback);
		assert_contains(strstr(text, o->help), want);
	}
	if (o->type == OPTION_NUMBER) {
		snprintf(want, sizeof(want), "(%llu to %llu", (unsigned long long)o->min,
			 (unsigned long long)o->max);
		assert_contains(strstr(text, o->help), want);
	} else if (o->type == OPTION_TIME) {
		snprintf(want, sizeof(want), "(%s to %s", units_print_time(lo, o->min),
			 units_print_time(hi, o->max));
		assert_contains(strstr(text, o->help), want);
	}
}

static void check_all(char *text, const struct option_program *p)
{
	flatten(text);
	for (const struct option_record *o = option_table; o->name; o++) {
		char usage[80];

		if (option_applies(o, p)) {
			check_option(text, o, option_fallback(o, p));
			continue;
		}
		/* Without a value as it stands in a list; the text of the page may name others. */
		snprintf(usage, sizeof(usage), "--%s%s%s", o->name,
			 !o->arg ? " " : option_stands_alone(o) ? "[=" : " ", o->arg ? o->arg : "");
		assert_lacks(text, usage);
	}
	assert_contains(text, p->summary);
	assert_contains(text, p->name);
	free(text);
}

static void test_help(void **state)
{
	(void)state;
	check_all(printed(options_help, &lat), &lat);
	check_all(printed(options_help, &clock), &clock);
}

static void test_man(void **state)
{
	(void)state;
	check_all(printed(options_man, &lat), &lat);
	check_all(printed(options_man, &clock), &clock);
}

/* No line of --help is wider than a terminal of 100 columns; none ends in a space. */
static void test_help_width(void **state)
{
	char *text = printed(options_help, &lat), *save, *line;

	(void)state;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strlen(line) > 100)
			fail_msg("%zu columns: %s", strlen(line), line);
		if (line[strlen(line) - 1] == ' ')
			fail_msg("ends in a space: %s", line);
	}
	free(text);
}

/* A default of the program is shown instead of the table's. */
static void test_help_defaults(void **state)
{
	static const struct option_default mine[] = { { "iters", "4242" }, { NULL, NULL } };
	struct option_program p = lat;
	char *text;

	(void)state;
	p.defaults = mine;
	text = printed(options_help, &p);
	assert_contains(text, "default 4242)");
	assert_lacks(text, "default 1000)");
	free(text);
}

/* All words of a section, in their order. */
static void check_section(const char *text, const char *title, const char *section)
{
	char *words = strdup(section), *save, *w;
	const char *at = strstr(text, title);

	for (w = strtok_r(words, " \n", &save); w && at; w = strtok_r(NULL, " \n", &save)) {
		at = strstr(at, w);
		if (!at)
			fail_msg("%s: \"%s\" is missing", title, w);
		at += strlen(w);
	}
	assert_non_null(at);
	free(words);
}

/* Sections arrive whole, however long their paragraphs are. */
static void test_man_sections(void **state)
{
	char *text = printed(options_man, &lat);

	(void)state;
	assert_contains(text, ".nf\n");
	assert_contains(text, "\\&.dot");
	flatten(text);
	for (const char *const *s = sections; s[0]; s += 2)
		check_section(text, s[0], s[1]);
	free(text);
}

/* No line is taken for a request that we did not write. */
static void test_man_requests(void **state)
{
	static const char *const known[] = { ".TH ", ".SH ", ".SS ", ".TP", ".B ", ".br", ".PP",
					     ".nf", ".fi" };
	char *text = printed(options_man, &lat), *save, *line;

	(void)state;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		bool fine = *line != '.' && *line != '\'';

		for (size_t i = 0; i < COUNT(known); i++)
			fine |= !strncmp(line, known[i], strlen(known[i]));
		if (!fine)
			fail_msg("request %s", line);
		/* A bare one may become a dash that cannot be pasted. */
		for (const char *c = line; (c = strchr(c, '-')) && strncmp(line, ".TH ", 4); c++)
			if (c == line || c[-1] != '\\')
				fail_msg("a bare hyphen: %s", line);
		for (const char *c = strchr(line, '\\'); c; c = strchr(c + 2, '\\'))
			assert_non_null(strchr("&e-f", c[1]));
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_man),
		cmocka_unit_test(test_help_width),
		cmocka_unit_test(test_help_defaults),
		cmocka_unit_test(test_man_sections),
		cmocka_unit_test(test_man_requests),
	};

	return cmocka_run_group_tests_name("option_text", tests, NULL, NULL);
}
