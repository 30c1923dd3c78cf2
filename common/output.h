/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a report goes, so that a full disk leaves no half file and a closed pipe is no failure. */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "error.h"

struct output {
	FILE *f;
	const char *path;     /* "-" is stdout */
	char temporary[4096]; /* written first, renamed at the end; "" where that does not apply */
};

/* A regular file gets a temporary name beside it; a pipe or a device is written directly. */
int output_open(struct output *o, const char *path, struct error *err);
/* Flushes, syncs, renames. A reader that has gone (EPIPE) is no failure. */
int output_close(struct output *o, struct error *err);

/* A JSON document and a newline. */
int output_json(const char *path, const json_t *doc, struct error *err);

#endif
