/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --help and the manual page, from the option table. */
#include "options.h"

#include <ctype.h>
#include <string.h>

#include "units.h"

#define HELP_COLUMN 30
#define HELP_WIDTH 96

static bool visible(const struct option_record *o, const struct option_program *p)
{
	return option_applies(o, p);
}

/* "1 to 65535", "1 ms to 30 d", "send, wr"; empty where everything is allowed. */
static void print_allowed(const struct option_record *o, char *out, size_t cap)
{
	char lo[UNITS_TEXT], hi[UNITS_TEXT];
	size_t len = 0;

	*out = '\0';
	switch (o->type) {
	case OPTION_NAME:
		for (int i = 0; o->names[i]; i++) {
			len = strlen(out);
			snprintf(out + len, cap - len, "%s%s", i ? ", " : "", o->names[i]);
		}
		return;
	case OPTION_NUMBER:
		snprintf(out, cap, "%llu to %llu", (unsigned long long)o->min,
			 (unsigned long long)o->max);
		return;
	case OPTION_SIZE:
	case OPTION_SIZES:
		snprintf(out, cap, "%s to %s", units_print_size(lo, o->min),
			 units_print_size(hi, o->max));
		return;
	case OPTION_TIME:
		snprintf(out, cap, "%s to %s", units_print_time(lo, o->min),
			 units_print_time(hi, o->max));
		return;
	default:
		return;
	}
}

/* The help text with what is allowed and the default behind it. */
static void full_text(const struct option_record *o, const struct option_program *p, char *out,
		      size_t cap)
{
	const char *fallback = option_fallback(o, p);
	char allowed[128];
	size_t len;

	print_allowed(o, allowed, sizeof(allowed));
	snprintf(out, cap, "%s", o->help);
	len = strlen(out);
	if (*allowed)
		snprintf(out + len, cap - len, " (%s%s%s)", allowed,
			 fallback && *fallback ? "; default " : "", fallback ? fallback : "");
	else if (fallback && *fallback)
		snprintf(out + len, cap - len, " (default %s)", fallback);
}

static void option_usage(const struct option_record *o, char *out, size_t cap)
{
	size_t len = 0;

	*out = '\0';
	for (const char *l = o->letters; *l; l++) {
		len = strlen(out);
		snprintf(out + len, cap - len, "-%c, ", *l);
	}
	len = strlen(out);
	snprintf(out + len, cap - len, "--%s%s%s%s", o->name,
		 !o->arg ? "" : option_stands_alone(o) ? "[=" : " ", o->arg ? o->arg : "",
		 option_stands_alone(o) ? "]" : "");
}

/* Words of @text from column HELP_COLUMN on, no line longer than HELP_WIDTH. */
static void print_wrapped(FILE *out, const char *text)
{
	int column = HELP_COLUMN;

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (column + 1 + word > HELP_WIDTH) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		}
		column += fprintf(out, "%s%.*s", column > HELP_COLUMN ? " " : "", word, text);
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void help_option(FILE *out, const struct option_record *o, const struct option_program *p)
{
	char usage[96], text[512];

	option_usage(o, usage, sizeof(usage));
	full_text(o, p, text, sizeof(text));
	fprintf(out, "%c %-*s", o->scope == SCOPE_LOCAL ? ' ' : '*', HELP_COLUMN - 2, usage);
	if (strlen(usage) > HELP_COLUMN - 4)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	print_wrapped(out, text);
}

void options_help(FILE *out, const struct option_program *p)
{
	const char *group = "";

	if (p->argument)
		fprintf(out, "Usage: %s [OPTIONS]         server\n"
			     "       %s [OPTIONS] %-7s client\n", p->name, p->name, p->argument);
	else if (!p->usage)
		fprintf(out, "Usage: %s [OPTIONS]\n", p->name);
	for (int i = 0; p->usage && p->usage[i]; i++)
		fprintf(out, "%s %s [OPTIONS] %s\n", i ? "      " : "Usage:", p->name, p->usage[i]);
	fprintf(out, "\n%s.\n", p->summary);
	if (p->argument)
		fputs("Options marked * are given on the client: the server takes them from it.\n",
		      out);
	for (const struct option_record *o = option_table; o->name; o++) {
		if (!visible(o, p))
			continue;
		if (strcmp(group, o->group))
			fprintf(out, "\n%s:\n", o->group);
		group = o->group;
		help_option(out, o, p);
	}
}

#define MAN_WIDTH 72

/* roff: a leading dot or quote, every backslash and every hyphen are escaped. */
static void man_word(FILE *out, const char *word, size_t len, bool line_start)
{
	if (line_start && (*word == '.' || *word == '\''))
		fputs("\\&", out);
	for (size_t i = 0; i < len; i++) {
		if (word[i] == '\\')
			fputs("\\e", out);
		else if (word[i] == '-')
			fputs("\\-", out);
		else
			fputc(word[i], out);
	}
}

/* @len bytes of text, with line breaks between words. */
static void man_text(FILE *out, const char *text, size_t len)
{
	const char *end = text + len;
	size_t column = 0;

	while (text < end) {
		size_t word = strcspn(text, " ");

		if (text + word > end)
			word = (size_t)(end - text);
		if (column && column + word > MAN_WIDTH) {
			fputc('\n', out);
			column = 0;
		} else if (column) {
			fputc(' ', out);
		}
		man_word(out, text, word, column == 0);
		column += word + 1;
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void man_option(FILE *out, const struct option_record *o, const struct option_program *p)
{
	char usage[96], text[512];

	option_usage(o, usage, sizeof(usage));
	full_text(o, p, text, sizeof(text));
	fputs(".TP\n.B ", out);
	man_text(out, usage, strlen(usage));
	man_text(out, text, strlen(text));
}

/* A blank line starts a paragraph; lines that begin with a space are shown as they stand. */
static void man_section(FILE *out, const char *title, const char *text)
{
	bool literal = false;

	fprintf(out, ".SH %s\n", title);
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (literal != (*text == ' '))
			fputs(literal ? ".fi\n" : ".nf\n", out);
		literal = *text == ' ';
		if (len == 0)
			fputs(".PP\n", out);
		else if (literal)
			man_word(out, text, len, true);
		else
			man_text(out, text, len);
		if (literal)
			fputc('\n', out);
		text += len + (text[len] == '\n');
	}
	if (literal)
		fputs(".fi\n", out);
}

/* .TH wants capitals. */
static void man_title(FILE *out, const char *name)
{
	fputs(".TH ", out);
	for (; *name; name++)
		fputc(toupper((unsigned char)*name), out);
	fprintf(out, " 1 %s \"verbsperf %s\" \"User Commands\"\n", VERBSPERF_DATE, VERBSPERF_VERSION);
}

void options_man(FILE *out, const struct option_program *p)
{
	const char *group = "";

	man_title(out, p->name);
	fprintf(out, ".SH NAME\n%s \\- ", p->name);
	man_text(out, p->summary, strlen(p->summary));
	fprintf(out, ".SH SYNOPSIS\n.B %s\n[\\fIOPTIONS\\fR]%s%s\n", p->name,
		p->usage ? " " : "", p->usage ? p->usage[0] : "");
	for (int i = 1; p->usage && p->usage[0] && p->usage[i]; i++)
		fprintf(out, ".br\n.B %s\n[\\fIOPTIONS\\fR] %s\n", p->name, p->usage[i]);
	if (p->argument)
		fprintf(out, ".br\n.B %s\n[\\fIOPTIONS\\fR] \\fI%s\\fR\n", p->name, p->argument);
	fputs(".SH OPTIONS\n", out);
	for (const struct option_record *o = option_table; o->name; o++) {
		if (!visible(o, p))
			continue;
		if (strcmp(group, o->group))
			fprintf(out, ".SS %s\n", o->group);
		group = o->group;
		man_option(out, o, p);
	}
	for (const char *const *s = p->sections; s && s[0]; s += 2)
		man_section(out, s[0], s[1]);
}

bool options_answer(const struct option_program *p, const struct settings *s, const char *more)
{
	if (s->help)
		options_help(stdout, p);
	else if (s->man)
		options_man(stdout, p);
	else if (s->version)
		printf("%s (verbsperf) %s%s\n", p->name, VERBSPERF_VERSION, more);
	return s->help || s->man || s->version;
}
