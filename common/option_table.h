/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an option is, and the values that a command line gives. */
#ifndef COMMON_OPTION_TABLE_H
#define COMMON_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "option_stats.h"
#include "option_types.h"

enum option_type {
	OPTION_FLAG,     /* bool */
	OPTION_NUMBER,   /* uint64_t; OPTION_AUTO where the default is chosen at run time */
	OPTION_SIZE,     /* uint64_t, bytes */
	OPTION_SIZES,    /* struct size_list */
	OPTION_TIME,     /* uint64_t, ns */
	OPTION_NAME,     /* uint64_t, index into names[] */
	OPTION_TEXT,     /* const char *, NULL when not given */
	OPTION_TEXTS,    /* struct text_list: may be given again and again */
	OPTION_FILE,     /* const char *, the =FILE may be left out: "-" then */
	OPTION_ALL_SIZES, /* no value: fills the struct size_list with 2^0 ... 2^23 */
	OPTION_PARSED    /* whatever its codec reads and prints */
};

enum option_scope {
	SCOPE_LOCAL, /* each end its own, never compared */
	SCOPE_PLAN,  /* the client decides, the server takes it */
	SCOPE_PAIR,  /* -T: the client sets both ends */
};

/* Which programs have the option: a record and a program meet when their masks do. */
enum option_for {
	FOR_PAIR = 1 << 0,  /* every program with two ends */
	FOR_LAT = 1 << 1,   /* latency */
	FOR_CLOCK = 1 << 2, /* whatever reads the cycle counter */
	FOR_ALL = 1 << 3,
	FOR_BW = 1 << 4,    /* bandwidth */
	FOR_IMM = 1 << 5,   /* WRITE and SEND, which can carry immediate data */
	FOR_RECV = 1 << 6,  /* messages that may take a receive: the same programs, and SEND */
	FOR_FETCH = 1 << 7, /* READ and ATOMIC */
	FOR_ATOMIC = 1 << 8,
	FOR_LOSSY = 1 << 9, /* more transports than RC */
	FOR_MCAST = 1 << 10, /* to several receivers */
	FOR_STATS = 1 << 11, /* lat_stats */
};

/*
 * How an OPTION_PARSED is read and written; what write gives, read takes. Nothing was given: all
 * zero, and "" as text.
 */
struct option_codec {
	int (*read)(const char *text, void *value); /* 0, -EINVAL */
	void (*write)(const void *value, char *text, size_t cap);
	const char *allowed;
	const char *fallback; /* where the option stands alone; NULL: it needs a value */
};

#define OPTIONS_MAX 128

/* The values. A step of a run takes what it needs from here, never the whole. */
struct settings {
	uint64_t port, ib_port, gid_index, mtu, clock, iters, duration_ns, tx_depth, inline_size;
	uint64_t qps, post, qp_timeout, retry_count, rnr_retry, min_rnr_timer, sl, traffic_class;
	uint64_t hop_limit, path_bits, pkey, warmup, reap, timeout_ns, connect_timeout_ns;
	uint64_t transport, atomic, rx_depth, outs, post_list, recv_post_list, cq_mod, buffer;
	uint64_t relaxed_ordering, gap_ns, spin_ns, interval_ns;
	struct option_rate rate;
	struct option_load load;
	struct option_flow flow;
	struct option_mcast mcast;
	struct option_confidence confidence;
	struct option_runs runs;
	struct text_list expect;
	struct size_list sizes;
	struct stats_settings stats;
	const char *ib_dev, *cpu, *bind, *json, *csv, *dump;
	bool imm, bidirectional, reversed, events, srq, rdma_cm, path_record, verify, mr_per_qp;
	bool allow_loss, infinite, floor, hw_timestamps;
	bool cycles, unsorted, sorted, detail, full_rtt, hugepages, ipv4, ipv6, keep, force;
	bool verbose, version, help, man;
	const char *host; /* the argument; NULL on the server */
	bool given[OPTIONS_MAX]; /* by index in the table: came from the command line */
};

struct option_record {
	const char *name;         /* long name */
	const char *letters;      /* short names, "" where there is none */
	enum option_type type;
	enum option_scope scope;
	unsigned int programs;    /* mask of enum option_for */
	const char *group;        /* heading in --help */
	const char *arg;          /* name of the value in --help, NULL for a flag */
	uint64_t min, max;        /* of NUMBER, SIZE, SIZES (each), TIME (ns) */
	const char *fallback;     /* default as text, NULL: chosen at run time; "" : none */
	const char *const *names; /* of NAME, ends with NULL */
	const char *help;
	size_t offset;            /* of the value in struct settings */
	const struct option_codec *codec; /* of PARSED */
};

/* Ends with a record without a name. */
extern const struct option_record option_table[];

#endif
