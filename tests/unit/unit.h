/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the unit tests share: cmocka with the headers it wants, and stderr as text. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "error.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* What is written to stderr between begin and end. */
struct capture {
	FILE *file;
	int saved;
};

static inline void capture_begin(struct capture *c)
{
	fflush(stderr);
	c->file = tmpfile();
	c->saved = dup(STDERR_FILENO);
	assert_non_null(c->file);
	assert_true(dup2(fileno(c->file), STDERR_FILENO) >= 0);
}

/* Ends with a zero byte; what does not fit is cut. */
static inline void capture_end(struct capture *c, char *out, size_t cap)
{
	size_t n;

	fflush(stderr);
	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	rewind(c->file);
	n = fread(out, 1, cap - 1, c->file);
	out[n] = '\0';
	fclose(c->file);
}

/* All of @f from its start, closed then; malloc'ed. */
static inline char *file_text(FILE *f)
{
	long len = ftell(f);
	char *text = malloc((size_t)len + 1);

	rewind(f);
	assert_int_equal(fread(text, 1, (size_t)len, f), len);
	text[len] = '\0';
	fclose(f);
	return text;
}

static inline unsigned int count_lines(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static inline void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static inline void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in \"%s\"", part, text);
}

/* The failure that was recorded has this code and holds this text. */
static inline void assert_error(const struct error *e, enum exit_code code, const char *part)
{
	if (e->code != code || !strstr(e->text, part))
		fail_msg("code %d \"%s\"; wanted %d with \"%s\"", (int)e->code, e->text, (int)code,
			 part);
}

#endif
