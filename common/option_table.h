/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an option is, and the values that a command line gives. */
#ifndef COMMON_OPTION_TABLE_H
#define COMMON_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
	OPTION_FLAG,     /* bool */
	OPTION_NUMBER,   /* uint64_t; OPTION_AUTO where the default is chosen at run time */
	OPTION_SIZE,     /* uint64_t, bytes */
	OPTION_SIZES,    /* struct size_list */
	OPTION_TIME,     /* uint64_t, ns */
	OPTION_NAME,     /* uint64_t, index into names[] */
	OPTION_TEXT,     /* const char *, NULL when not given */
	OPTION_FILE,     /* const char *, the =FILE may be left out: "-" then */
	OPTION_ALL_SIZES /* no value: fills the struct size_list with 2^0 ... 2^23 */
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
};

#define OPTION_AUTO UINT64_MAX
#define SIZES_MAX 64
#define OPTIONS_MAX 96

struct size_list {
	uint64_t v[SIZES_MAX];
	unsigned int count;
};

/* The values. A step of a run takes what it needs from here, never the whole. */
struct settings {
	uint64_t port, ib_port, gid_index, mtu, clock, iters, duration_ns, tx_depth, inline_size;
	uint64_t qps, post, qp_timeout, retry_count, rnr_retry, min_rnr_timer, sl, traffic_class;
	uint64_t flow_label, hop_limit, path_bits, pkey, warmup, reap, timeout_ns;
	uint64_t connect_timeout_ns;
	struct size_list sizes;
	const char *ib_dev, *cpu, *bind, *json, *csv;
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
};

/* Ends with a record without a name. */
extern const struct option_record option_table[];

#endif
