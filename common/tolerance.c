/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --tolerance: a share of the first median in percent, or a time. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option_codec.h"
#include "units.h"

#define PERCENT_MAX 1000

static int tolerance_read(const char *text, void *value)
{
	struct option_tolerance *t = value, got = { 0 };
	size_t digits = strspn(text, "0123456789.");
	char *end;

	if (!strcmp(text + digits, "%")) {
		got.percent = strtod(text, &end);
		if (*end != '%' || end == text || !(got.percent <= PERCENT_MAX))
			return -EINVAL;
	} else if (!isalpha((unsigned char)text[digits]) || units_parse_time(text, &got.ns)) {
		return -EINVAL;
	}
	*t = got;
	return 0;
}

static void tolerance_write(const void *value, char *text, size_t cap)
{
	const struct option_tolerance *t = value;
	char time[UNITS_TEXT];

	if (t->ns)
		snprintf(text, cap, "%s", units_print_time(time, t->ns));
	else
		snprintf(text, cap, "%.15g%%", t->percent);
}

const struct option_codec option_tolerance_codec = {
	.read = tolerance_read,
	.write = tolerance_write,
	.allowed = "a share such as 2% or 0.5%, or a time such as 200ns",
};
