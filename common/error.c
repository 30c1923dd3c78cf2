/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void error_init(struct error *e, const char *program)
{
	memset(e, 0, sizeof(*e));
	e->program = program;
	e->stage = "options";
}

void error_free(struct error *e)
{
	for (int i = 0; i < e->warning_count; i++)
		free(e->warnings[i]);
	e->warning_count = 0;
}

static void record_stage(struct error *e, const char *stage)
{
	snprintf(e->failed_stage, sizeof(e->failed_stage), "%s", stage);
}

int error_set(struct error *e, enum exit_code code, int err, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	if (error_is_set(e))
		return -1;
	e->code = code;
	e->err = err;
	record_stage(e, e->stage);
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	len = strlen(e->text);
	if (err)
		snprintf(e->text + len, sizeof(e->text) - len, ": %s", strerror(err));
	return -1;
}

int error_set_peer(struct error *e, enum exit_code code, int err, const char *stage,
		   const char *text)
{
	if (error_is_set(e))
		return -1;
	e->code = code;
	e->err = err;
	e->from_peer = true;
	record_stage(e, stage);
	snprintf(e->text, sizeof(e->text), "peer failed at %s: %s", stage, text);
	return -1;
}

void error_warn(struct error *e, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (int i = 0; i < e->warning_count; i++)
		if (!strcmp(e->warnings[i], text))
			return;
	fprintf(stderr, "%s: warning: %s\n", e->program, text);
	if (e->warning_count < ERROR_WARNINGS_MAX) {
		char *kept = strdup(text);

		if (kept)
			e->warnings[e->warning_count++] = kept;
	}
}

void error_note(const struct error *e, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s\n", e->program, text);
}

void error_print(const struct error *e)
{
	if (error_is_set(e))
		error_note(e, "%s", e->text);
}

void error_sanitise(char *out, size_t cap, const char *text, size_t len)
{
	size_t n = len < cap - 1 ? len : cap - 1;

	for (size_t i = 0; i < n; i++)
		out[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
	out[n] = '\0';
}
