/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the files of bench_stream; no one else includes this. */
#ifndef COMMON_BENCH_STREAM_PARTS_H
#define COMMON_BENCH_STREAM_PARTS_H

#include "bench_state.h"
#include "report_bw.h"
#include "stream.h"

/* What an end says of what it sent. */
struct sender {
	bool there;
	uint64_t sent, arrived;
	double seconds, peak, best, worst; /* messages a second */
	const char *confirmed;
};

/* A direction, put together from both ends. */
struct direction {
	struct sender sender;
	bool received_known;
	uint64_t received;
};

struct bench_stream {
	struct stream *s;
	struct wait w;
	bool sends, peer_sends;
	struct direction ours, theirs;
	struct bw_result *rows; /* up to three a run */
	unsigned int count;
};

/* bench_stream_rows.c: rows of the report from what both ends know */
void bench_stream_add_rows(struct bench *b, uint64_t size);
/* 0, or -1 and EXIT_DATA where messages were lost and none may be. */
int bench_stream_judge_loss(struct bench *b, const struct direction *d);

/* Messages are counted where they arrive. */
bool bench_stream_told(const struct bench *b);
/* WRITEs that READs come behind. */
bool bench_stream_reads_behind(const struct bench *b);
/* "receiver", "read", "none" */
const char *bench_stream_confirmed(const struct bench *b);

#endif
