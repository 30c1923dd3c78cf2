/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --expect: what a result must be. Pure. */
#ifndef COMMON_EXPECT_H
#define COMMON_EXPECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define EXPECT_KEY_MAX 40

enum expect_op { EXPECT_LESS, EXPECT_LESS_EQUAL, EXPECT_MORE, EXPECT_MORE_EQUAL };

struct expect {
	char key[EXPECT_KEY_MAX]; /* of the JSON result, with its unit: "median_usec" */
	enum expect_op op;
	double value;             /* in the unit of the key */
	const char *text;         /* as given; borrowed */
};

/* "median<5us", "avg >= 90 Gb/s", "lost<=0": 0, or -EINVAL with what is allowed in @why. */
int expect_read(const char *text, struct expect *e, char *why, size_t cap);

/* Is it of a number (or null) among the keys of a result? */
bool expect_is_figure(const struct expect *e, json_t *keys);

/* 0 when met; else -1 and in @why what was found: "median_usec is 6.1", "p99_9_usec was not measured". */
int expect_met(const struct expect *e, json_t *result, char *why, size_t cap);

#endif
