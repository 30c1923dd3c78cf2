/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counters of both ends' devices: what went wrong in a line, and under -v all of them. */
#include "report.h"

#include <string.h>

#include "counters.h"

#define NAME_TEXT 64

/* A peer's names too. */
static const char *clean(const char *name, char buf[NAME_TEXT])
{
	error_sanitise(buf, NAME_TEXT, name, strlen(name));
	return buf;
}

/* "local: retry_exceeded_err 3 (retries were used up), ..."; whether there was one. */
static bool print_errors(FILE *out, const char *before, const char *end, json_t *counters)
{
	const char *name, *meaning;
	bool any = false;
	char buf[NAME_TEXT];
	json_t *v;

	json_object_foreach(counters, name, v) {
		meaning = counter_error(name);
		if (!meaning || json_integer_value(v) <= 0)
			continue;
		if (any)
			fputs(", ", out);
		else
			fprintf(out, "%s%s: ", before, end);
		fprintf(out, "%s %lld (%s)", clean(name, buf), (long long)json_integer_value(v),
			meaning);
		any = true;
	}
	return any;
}

static void print_all(FILE *out, const char *end, json_t *counters)
{
	const char *name;
	char buf[NAME_TEXT];
	json_t *v;

	json_object_foreach(counters, name, v) {
		fprintf(out, "  %s counter %s = ", end, clean(name, buf));
		if (json_is_integer(v))
			fprintf(out, "%lld\n", (long long)json_integer_value(v));
		else
			fputs("-\n", out);
	}
}

void report_counters(FILE *out, const struct report *r)
{
	bool local = print_errors(out, "counters, ", "local", r->local_counters);
	bool remote = print_errors(out, local ? "; " : "counters, ", "remote", r->remote_counters);

	if (local || remote)
		fputc('\n', out);
	if (!r->settings->verbose)
		return;
	print_all(out, "local", r->local_counters);
	print_all(out, "remote", r->remote_counters);
}
