/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --confidence LEVEL,WIDTH and --runs MAX,MIN, as netperf has them. */
#include "option_codec.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

#define RUNS_MOST 1000

/* A number of plain digits with a fraction, above 0. */
static int percent(const char *text, double *v)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789.")] != '\0')
		return -EINVAL;
	*v = strtod(text, &end);
	return *end || !(*v > 0) ? -EINVAL : 0;
}

/* "99,5": the interval that holds with 99 %, 5 % wide */
static int confidence_read(const char *text, void *value)
{
	struct option_confidence *c = value, got = { 0, 0 };
	const char *comma = strchr(text, ',');
	char level[16];

	memset(c, 0, sizeof(*c));
	if (!*text)
		return 0;
	if (!comma || (size_t)(comma - text) >= sizeof(level))
		return -EINVAL;
	snprintf(level, sizeof(level), "%.*s", (int)(comma - text), text);
	if (percent(level, &got.level) || percent(comma + 1, &got.width) || got.level < 50 ||
	    got.level > 99.99 || got.width > 100)
		return -EINVAL;
	*c = got;
	return 0;
}

static void confidence_write(const void *value, char *text, size_t cap)
{
	const struct option_confidence *c = value;

	*text = '\0';
	if (c->level > 0)
		snprintf(text, cap, "%.15g,%.15g", c->level, c->width);
}

const struct option_codec option_confidence_codec = {
	confidence_read, confidence_write,
	"LEVEL,WIDTH in percent, LEVEL from 50 to 99.99 and WIDTH up to 100: 99,5", NULL
};

/* "30,3" or "3,30" */
static int runs_read(const char *text, void *value)
{
	struct option_runs *r = value;
	const char *comma = strchr(text, ',');
	uint64_t a, b;
	char first[24];

	memset(r, 0, sizeof(*r));
	if (!*text)
		return 0;
	if (!comma || (size_t)(comma - text) >= sizeof(first))
		return -EINVAL;
	snprintf(first, sizeof(first), "%.*s", (int)(comma - text), text);
	if (units_parse_u64(first, &a) || units_parse_u64(comma + 1, &b) || a < 1 || b < 1 ||
	    a > RUNS_MOST || b > RUNS_MOST)
		return -EINVAL;
	*r = (struct option_runs){ a < b ? a : b, a < b ? b : a };
	return 0;
}

static void runs_write(const void *value, char *text, size_t cap)
{
	const struct option_runs *r = value;

	*text = '\0';
	if (r->most)
		snprintf(text, cap, "%" PRIu64 ",%" PRIu64, r->most, r->least);
}

const struct option_codec option_runs_codec = {
	runs_read, runs_write, "MAX,MIN, each from 1 to 1000, in either order: 30,3", NULL
};
