/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a bandwidth run gave, as text and JSON; the header is report.c's. */
#ifndef COMMON_REPORT_BW_H
#define COMMON_REPORT_BW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct report;

/* One direction of one size, or both directions together. Unknown doubles are NAN. */
struct bw_result {
	const char *direction;   /* of the data: client_to_server, server_to_client, both */
	unsigned int run; /* of its size, from 1 */
	uint64_t size;
	uint64_t sent, received; /* messages that were measured */
	bool received_known;
	double seconds;          /* from the first post to the last confirmed message */
	double window_s;
	double peak, best, worst; /* messages a second */
	const char *confirmed;   /* receiver, read, none */
};

/* Messages that the figures are made of: those that arrived, or, where nobody knows, all. */
static inline uint64_t bw_messages(const struct bw_result *b)
{
	return b->received_known ? b->received : b->sent;
}

double bw_bytes_per_s(const struct bw_result *b);

/* The middle of the header's line about the path. */
void report_bw_path(FILE *out, const struct report *r);
void report_bw_table(FILE *out, const struct report *r);
json_t *report_bw_json(const struct bw_result *b);

#endif
