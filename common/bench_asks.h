/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a session asks of its settings, for bench_state.h. */
#ifndef COMMON_BENCH_ASKS_H
#define COMMON_BENCH_ASKS_H

/* A dump is written, here or at the peer. */
static inline bool bench_keeps_stamps(const struct bench *b)
{
	return b->set.dump || b->dump_peer;
}

/* Samples are wanted one by one. */
static inline bool bench_dumps(const struct bench *b)
{
	return b->set.unsorted || b->set.sorted || bench_keeps_stamps(b);
}

static inline enum latency_kind bench_kind(const struct bench *b)
{
	return b->set.full_rtt ? LATENCY_FULL_RTT : b->program->latency_kind;
}

static inline bool bench_mcast(const struct bench *b)
{
	return *b->set.mcast.address;
}

/* --load: every size is measured idle and again with one more QP busy. */
static inline bool bench_loads(const struct bench *b)
{
	return b->set.load.rate.bits || b->set.load.rate.messages;
}

/* The arrays of results[] are copies, not the store's. */
static inline bool bench_keeps_copies(const struct bench *b)
{
	return (b->set.unsorted || b->set.sorted) && (b->set.sizes.count > 1 || b->set.runs.most > 1 || bench_loads(b));
}

static inline unsigned int bench_qps(const struct bench *b)
{
	return (unsigned int)b->set.qps + bench_loads(b);
}

/* JSON or CSV is all of stdout. */
static inline bool bench_stdout_taken(const struct bench *b)
{
	const char *json = b->set.json, *csv = b->set.csv;

	return (json && !strcmp(json, "-")) || (csv && !strcmp(csv, "-"));
}

/* Something is done between laps: a sample is from post to seen. */
static inline bool bench_paced(const struct bench *b)
{
	return b->set.gap_ns || b->set.verify || bench_loads(b);
}

#endif
