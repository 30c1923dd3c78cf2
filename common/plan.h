/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What both ends must agree on: every option of scope plan, by name. Built and checked from the
 * option table; no printing, no connection.
 */
#ifndef COMMON_PLAN_H
#define COMMON_PLAN_H

#include "options.h"

#define PROTOCOL 1 /* of the control connection; an integer of its own, not the release */

/* {"size": [8], "iters": 1000, ...}: effective values of the client. */
json_t *plan_to_json(const struct option_program *p, const struct settings *s);

/*
 * Takes the client's values over into the server's settings. What the server's user gave and the
 * client has differently is listed in @why as "option: client X, server Y" lines and -EEXIST
 * returned; -EINVAL when a value is missing, unknown or out of range, named in @why.
 */
int plan_apply(const struct option_program *p, json_t *plan, struct settings *s, char *why,
	       size_t cap);

/* Combinations that no single option can check. 0 or -EINVAL with the reason in @why. */
int plan_validate(const struct settings *s, char *why, size_t cap);

/* What options that were given mean for others: --run-infinitely is a run by time. */
void plan_complete(struct settings *s);

/* Bytes of memory the sample arrays and buffers of one end need at most. */
uint64_t plan_memory(const struct settings *s, bool dumps);

/* Above this many laps a run keeps a histogram and no samples. */
#define PLAN_SAMPLES_MAX 100000000ull

/* -U or -H of this end, which keep every sample, and more laps than can be kept. */
bool plan_dump_too_long(const struct settings *s);

/* How many laps of samples are kept; 0: a histogram. @dumps: the samples are wanted one by one. */
uint64_t plan_kept_laps(const struct settings *s, bool dumps);

#endif
