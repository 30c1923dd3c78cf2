/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* TAP: a line for each check; a known difference is a pass that says so. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"

static const struct difference *known(const struct conf *c, const char *name)
{
	for (const struct difference *d = differences; d->kind; d++)
		if (!strcmp(d->kind, c->kind) && !strcmp(d->check, name))
			return d;
	return NULL;
}

/* Each line is out before the next check runs: a driver may hang, and the place must be seen. */
static bool result(struct conf *c, bool ok, const char *clause, const char *fmt, va_list ap)
{
	const struct difference *d;
	char name[256];
	int n = snprintf(name, sizeof(name), "%s: ", c->subject);

	vsnprintf(name + n, sizeof(name) - (size_t)n, fmt, ap);
	d = known(c, name);
	c->n++;
	if (ok) {
		printf("ok %d - %s [%s]\n", c->n, name, clause);
		if (d)
			printf("# this device is listed as different here, and is not\n");
	} else if (d) {
		c->differs++;
		printf("ok %d - %s [%s] # DIFFERS %s: %s\n", c->n, name, clause, c->kind,
		       d->instead);
	} else {
		c->failed++;
		printf("not ok %d - %s [%s]\n", c->n, name, clause);
	}
	fflush(stdout);
	return ok;
}

bool check(struct conf *c, bool ok, const char *clause, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	result(c, ok, clause, fmt, ap);
	va_end(ap);
	return ok;
}

bool check_eq(struct conf *c, long long got, long long want, const char *clause,
	      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	result(c, got == want, clause, fmt, ap);
	va_end(ap);
	if (got != want)
		note("got %lld (0x%llx), wanted %lld (0x%llx)", got, got, want, want);
	return got == want;
}

void skip(struct conf *c, const char *reason, const char *fmt, ...)
{
	va_list ap;

	c->n++;
	c->skipped++;
	printf("ok %d - %s: ", c->n, c->subject);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf(" # SKIP %s\n", reason);
	fflush(stdout);
}

void note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}
