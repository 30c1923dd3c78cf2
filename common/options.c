/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line: defaults and argv through getopt_long, which is driven by the table. */
#include "options.h"

#include <ctype.h>
#include <getopt.h>
#include <string.h>

#define LONG_BASE 1000 /* getopt_long's value of option i is LONG_BASE + i */

int option_index(const char *name)
{
	for (int i = 0; option_table[i].name; i++)
		if (!strcmp(option_table[i].name, name))
			return i;
	return -1;
}

bool option_given(const struct settings *s, const char *name)
{
	int i = option_index(name);

	return i >= 0 && s->given[i];
}

bool option_applies(const struct option_record *o, const struct option_program *p)
{
	return o->programs & (p->mask | FOR_ALL);
}

const char *option_fallback(const struct option_record *o, const struct option_program *p)
{
	for (const struct option_default *d = p->defaults; d && d->name; d++)
		if (!strcmp(d->name, o->name))
			return d->text;
	return o->fallback;
}

static bool holds_number(const struct option_record *o)
{
	return o->type == OPTION_NUMBER || o->type == OPTION_SIZE || o->type == OPTION_NAME;
}

bool option_stands_alone(const struct option_record *o)
{
	return o->type == OPTION_FILE || (o->codec && o->codec->fallback);
}

static int set_defaults(const struct option_program *p, struct settings *s, struct error *err)
{
	char why[128];

	memset(s, 0, sizeof(*s));
	for (const struct option_record *o = option_table; o->name; o++) {
		const char *text = option_fallback(o, p);

		if (!text && holds_number(o))
			*(uint64_t *)((char *)s + o->offset) = OPTION_AUTO;
		else if (text && *text && option_set(o, text, s, why, sizeof(why)))
			return error_set(err, EXIT_MISUSE, 0, "default of --%s: allowed is %s",
					 o->name, why);
	}
	return 0;
}

struct getopt_tables {
	struct option longs[OPTIONS_MAX + 1];
	char shorts[3 * OPTIONS_MAX];
};

static void build_tables(const struct option_program *p, struct getopt_tables *t)
{
	char *c = t->shorts;
	int n = 0;

	memset(t, 0, sizeof(*t));
	*c++ = ':'; /* a missing value is reported apart from an unknown option */
	for (int i = 0; option_table[i].name; i++) {
		const struct option_record *o = &option_table[i];

		if (!option_applies(o, p))
			continue;
		t->longs[n].name = o->name;
		t->longs[n].has_arg = option_stands_alone(o) ? optional_argument :
				      o->arg		     ? required_argument :
							       no_argument;
		t->longs[n++].val = LONG_BASE + i;
		for (const char *l = o->letters; *l; l++) {
			*c++ = *l;
			if (o->arg)
				*c++ = ':';
		}
	}
}

static int index_of_letter(const struct option_program *p, int c)
{
	for (int i = 0; option_table[i].name; i++)
		if (option_applies(&option_table[i], p) && strchr(option_table[i].letters, c))
			return i;
	return -1;
}

/* getopt_long accepts --dur for --duration; then a later option would break a script. */
static const char *abbreviated(char **argv, const struct option_record *o)
{
	const char *word = argv[optind - 1];

	if (optarg && word == optarg)
		word = argv[optind - 2];
	if (strncmp(word, "--", 2) || strcspn(word + 2, "=") == strlen(o->name))
		return NULL;
	return word;
}

static int misuse(const struct option_program *p, struct error *err, const char *what,
		  const char *text)
{
	return error_set(err, EXIT_MISUSE, 0, "%s %s; %s --help lists what is known", what, text,
			 p->name);
}

static int take_option(const struct option_program *p, int c, char **argv, struct settings *s,
		       struct error *err)
{
	int i = c >= LONG_BASE ? c - LONG_BASE : index_of_letter(p, c);
	const struct option_record *o = &option_table[i];
	const char *word;
	char why[128];

	if (c >= LONG_BASE && (word = abbreviated(argv, o)))
		return error_set(err, EXIT_MISUSE, 0, "option %s is cut short; write --%s", word,
				 o->name);
	if (optarg && !*optarg)
		return error_set(err, EXIT_MISUSE, 0, "option --%s has an empty value", o->name);
	if (option_set(o, optarg, s, why, sizeof(why)))
		return error_set(err, EXIT_MISUSE, 0, "--%s %s: allowed is %s", o->name, optarg,
				 why);
	s->given[i] = true;
	return 0;
}

static int unknown_option(const struct option_program *p, int c, char **argv, struct error *err)
{
	char letter[3] = { '-', (char)optopt, '\0' };
	const char *word = argv[optind - 1];

	if (c == ':' && optopt < LONG_BASE)
		return misuse(p, err, "a value is missing after", letter);
	if (c == ':')
		return misuse(p, err, "a value is missing after", word);
	if (optopt >= LONG_BASE)
		return misuse(p, err, "no value is taken by", word);
	if (optopt)
		return misuse(p, err, "unknown option", letter);
	return misuse(p, err, "unknown or ambiguous option", word);
}

/* perftest's -c UD leaves UD as an argument here, where -c means cycles. */
static int check_host(const struct option_program *p, const char *host, struct error *err)
{
	static const char *const transports[] = { "RC", "UC", "UD", "XRC", "DC", "SRD", NULL };

	for (int i = 0; transports[i]; i++)
		if (!strcmp(host, transports[i]))
			return error_set(err, EXIT_MISUSE, 0,
					 "%s is no host; did you mean --transport %s? "
					 "(-c reports cycles here)", host, host);
	if (*host && host[strspn(host, "0123456789")] == '\0')
		return error_set(err, EXIT_MISUSE, 0,
				 "%s is no host but a number; which option was it meant for? "
				 "%s --help lists them", host, p->name);
	if (!*host)
		return error_set(err, EXIT_MISUSE, 0, "the host is empty");
	return 0;
}

static int take_arguments(const struct option_program *p, int argc, char **argv,
			  struct settings *s, struct error *err)
{
	if (p->usage) {
		s->stats.files = argv + optind;
		s->stats.file_count = argc - optind;
		return 0;
	}
	if (optind == argc)
		return 0;
	if (!p->argument)
		return misuse(p, err, "unexpected argument", argv[optind]);
	if (optind + 1 < argc)
		return error_set(err, EXIT_MISUSE, 0, "two hosts: %s and %s; a client takes one",
				 argv[optind], argv[optind + 1]);
	s->host = argv[optind];
	if (strchr(s->host, ',') && !*s->mcast.address)
		return error_set(err, EXIT_MISUSE, 0, "%s are several hosts, which only --mcast has",
				 s->host);
	return check_host(p, s->host, err);
}

int options_parse(const struct option_program *p, int argc, char **argv, struct settings *s,
		  struct error *err)
{
	struct getopt_tables t;
	int c;

	if (set_defaults(p, s, err))
		return -1;
	build_tables(p, &t);
	optind = 0; /* glibc: start anew */
	opterr = 0;
	while ((c = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1) {
		if (c == '?' || c == ':' ? unknown_option(p, c, argv, err) :
					   take_option(p, c, argv, s, err))
			return -1;
	}
	/* A default duration ends a run only where nothing else does. */
	if ((option_given(s, "iters") || s->infinite) && !option_given(s, "duration"))
		s->duration_ns = 0;
	return take_arguments(p, argc, argv, s, err);
}

void option_key(const struct option_record *o, char key[32])
{
	snprintf(key, 32, "%s", o->name);
	for (char *c = key; *c; c++)
		if (*c == '-')
			*c = '_';
}

json_t *options_settings_json(const struct option_program *p, const struct settings *s)
{
	json_t *all = json_object();
	char key[32];

	for (const struct option_record *o = option_table; o->name; o++) {
		if (!option_applies(o, p) || !strcmp(o->group, "The rest") ||
		    o->type == OPTION_ALL_SIZES)
			continue;
		option_key(o, key);
		json_object_set_new(all, key, option_to_json(o, s));
	}
	return all;
}
