/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The option table: one record an option. Parsing, --help, the man page, the plan that goes to the
 * peer and the settings part of the JSON all come from it.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <jansson.h>
#include <stdio.h>

#include "error.h"
#include "option_table.h"

/* A default that differs from the table's, ended by a NULL name. */
struct option_default {
	const char *name, *text;
};

/* What the option code knows of a program. */
struct option_program {
	const char *name, *summary;
	unsigned int mask;                     /* enum option_for */
	const struct option_default *defaults; /* may be NULL */
	const char *argument;                  /* "HOST", or NULL where none is taken */
	const char *const *usage; /* what follows the options, ends with NULL: many arguments */
	const char *const *sections;           /* man: title, text, title, text, ..., NULL */
};

/* Index of the option in the table; -1 when unknown. */
int option_index(const char *name);
bool option_given(const struct settings *s, const char *name);
/* Its value may be left out; if it is there, a = is needed. */
bool option_stands_alone(const struct option_record *o);
bool option_applies(const struct option_record *o, const struct option_program *p);
const char *option_fallback(const struct option_record *o, const struct option_program *p);

/* Defaults, then argv; 0 or -1 with code EXIT_MISUSE in @err. Does not check combinations. */
int options_parse(const struct option_program *p, int argc, char **argv, struct settings *s,
		  struct error *err);

/* Sets one value from text. 0 or -EINVAL; then @why says what is allowed. */
int option_set(const struct option_record *o, const char *text, struct settings *s, char *why,
	       size_t cap);

/* Value as JSON (null for a default still to be chosen), and back. 0 or -EINVAL when it has the
 * wrong type or is out of range: what comes from a peer is checked like what a user typed. */
json_t *option_to_json(const struct option_record *o, const struct settings *s);
int option_from_json(const struct option_record *o, json_t *v, struct settings *s);

/* Every effective option of the program, long names with '_' for '-'. */
json_t *options_settings_json(const struct option_program *p, const struct settings *s);
/* "tx_depth" of "tx-depth"; @key holds 32 bytes. */
void option_key(const struct option_record *o, char key[32]);

void options_help(FILE *out, const struct option_program *p);
void options_man(FILE *out, const struct option_program *p);
/*
 * --help, --man and --version, on stdout: true when one was given. @more stands behind the version:
 * ", protocol 1", or "".
 */
bool options_answer(const struct option_program *p, const struct settings *s, const char *more);

#endif
