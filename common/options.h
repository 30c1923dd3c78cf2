/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The option table: one record an option. Parsing, --help, the man page, the plan that goes to the
 * peer and the settings part of the JSON all come from it.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"

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

/* A default that differs from the table's, ended by a NULL name. */
struct option_default {
	const char *name, *text;
};

/* What the option code knows of a program. */
struct option_program {
	const char *name, *summary;
	unsigned int mask;                     /* enum option_for */
	const struct option_default *defaults; /* may be NULL */
	const char *argument;                  /* "HOST", or NULL where none is taken */
	const char *const *sections;           /* man: title, text, title, text, ..., NULL */
};

/* Ends with a record without a name. */
extern const struct option_record option_table[];

/* Index of the option in the table; -1 when unknown. */
int option_index(const char *name);
bool option_given(const struct settings *s, const char *name);
bool option_applies(const struct option_record *o, const struct option_program *p);
const char *option_fallback(const struct option_record *o, const struct option_program *p);

/* Defaults, then argv; 0 or -1 with code EXIT_MISUSE in @err. Does not check combinations. */
int options_parse(const struct option_program *p, int argc, char **argv, struct settings *s,
		  struct error *err);

/* Sets one value from text. 0 or -EINVAL; then @why says what is allowed. */
int option_set(const struct option_record *o, const char *text, struct settings *s, char *why,
	       size_t cap);

/* Value as JSON (null for a default still to be chosen), and back. 0 or -EINVAL when it has the
 * wrong type or is out of range: what comes from a peer is checked like what a user typed. */
json_t *option_to_json(const struct option_record *o, const struct settings *s);
int option_from_json(const struct option_record *o, json_t *v, struct settings *s);

/* Every effective option of the program, long names with '_' for '-'. */
json_t *options_settings_json(const struct option_program *p, const struct settings *s);
/* "tx_depth" of "tx-depth"; @key holds 32 bytes. */
void option_key(const struct option_record *o, char key[32]);

void options_help(FILE *out, const struct option_program *p);
void options_man(FILE *out, const struct option_program *p);

#endif
