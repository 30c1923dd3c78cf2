/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "expect.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What ends the JSON key, and what a value is multiplied by. */
static const struct {
	const char *unit, *suffix;
	double factor;
} units[] = {
	{ "ns", "_usec", 1e-3 },
	{ "us", "_usec", 1 },
	{ "usec", "_usec", 1 },
	{ "ms", "_usec", 1e3 },
	{ "s", "_usec", 1e6 },
	{ "cycles", "_cycles", 1 },
	{ "b/s", "_gbit_s", 1e-9 },
	{ "kb/s", "_gbit_s", 1e-6 },
	{ "Mb/s", "_gbit_s", 1e-3 },
	{ "Gb/s", "_gbit_s", 1 },
	{ "Tb/s", "_gbit_s", 1e3 },
	{ "kB/s", "_mb_s", 1e-3 },
	{ "MB/s", "_mb_s", 1 },
	{ "GB/s", "_mb_s", 1e3 },
	{ "KiB/s", "_mib_s", 1.0 / 1024 },
	{ "MiB/s", "_mib_s", 1 },
	{ "GiB/s", "_mib_s", 1024 },
	{ "/s", "_per_s", 1 },
	{ "k/s", "_per_s", 1e3 },
	{ "M/s", "_per_s", 1e6 },
	{ "", "", 1 },
};

static const char allowed[] = "KEY OP VALUE[UNIT]: a key of a JSON result without its unit (median, "
			      "p99, max, avg, msg_rate, lost ...), one of < <= > >=, a number, and "
			      "ns, us, ms, s, cycles, Gb/s, MB/s, MiB/s, M/s or none";

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " ");
}

static const char *take_op(const char *s, enum expect_op *op)
{
	bool more = *s == '>', equal = (*s == '<' || *s == '>') && s[1] == '=';

	if (*s != '<' && *s != '>')
		return NULL;
	*op = more ? equal ? EXPECT_MORE_EQUAL : EXPECT_MORE : equal ? EXPECT_LESS_EQUAL : EXPECT_LESS;
	return s + 1 + equal;
}

/* A number of digits, a fraction and an exponent, and no more than strtod takes of it. */
static const char *take_value(const char *s, double *v)
{
	char *end;

	if (!strchr("0123456789.", *s) || !*s)
		return NULL;
	*v = strtod(s, &end);
	return end == s || !isfinite(*v) ? NULL : end;
}

static int take_unit(const char *s, struct expect *e)
{
	size_t len = strlen(e->key);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(s, units[i].unit))
			continue;
		e->value *= units[i].factor;
		return snprintf(e->key + len, sizeof(e->key) - len, "%s", units[i].suffix) <
			       (int)(sizeof(e->key) - len) ? 0 : -EINVAL;
	}
	return -EINVAL;
}

int expect_read(const char *text, struct expect *e, char *why, size_t cap)
{
	const char *s = skip_blanks(text);
	size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
	char unit[16];

	snprintf(why, cap, "%s", allowed);
	memset(e, 0, sizeof(*e));
	e->text = text;
	if (!len || len >= sizeof(e->key) - 8)
		return -EINVAL;
	memcpy(e->key, s, len);
	s = take_op(skip_blanks(s + len), &e->op);
	if (s)
		s = take_value(skip_blanks(s), &e->value);
	if (!s)
		return -EINVAL;
	s = skip_blanks(s);
	if (snprintf(unit, sizeof(unit), "%s", s) >= (int)sizeof(unit))
		return -EINVAL;
	while (*unit && unit[strlen(unit) - 1] == ' ')
		unit[strlen(unit) - 1] = '\0';
	return take_unit(unit, e);
}

static bool holds(enum expect_op op, double got, double want)
{
	switch (op) {
	case EXPECT_LESS:
		return got < want;
	case EXPECT_LESS_EQUAL:
		return got <= want;
	case EXPECT_MORE:
		return got > want;
	default:
		return got >= want;
	}
}

bool expect_is_figure(const struct expect *e, json_t *keys)
{
	json_t *v = json_object_get(keys, e->key);

	return json_is_number(v) || json_is_null(v);
}

int expect_met(const struct expect *e, json_t *result, char *why, size_t cap)
{
	json_t *v = json_object_get(result, e->key);
	double got = json_number_value(v);

	*why = '\0';
	if (!json_is_number(v))
		snprintf(why, cap, "%s %s", e->key, v ? "was not measured" : "is no figure of this program");
	else if (!holds(e->op, got, e->value))
		snprintf(why, cap, "%s is %.9g", e->key, got);
	return *why ? -1 : 0;
}
