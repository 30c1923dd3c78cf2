/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the files of the SPEC parser only; users include spec.h. */
#ifndef SOFTVERBS_SPEC_PARSE_H
#define SOFTVERBS_SPEC_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec.h"

/* A piece of the text; pos is its place in the whole SPEC, for messages. */
struct spec_tok {
	const char *s;
	size_t n, pos;
};

/* The device under construction; given[] remembers keys, for "twice" and for late defaults. */
struct spec_build {
	struct spec_device *dev;
	struct spec_error *err;
	uint64_t given[SPEC_PORTS + 1];	/* [0]: without a prefix; bit: index in the key table */
	int port;			/* 0: no prefix */
	struct spec_port *to;		/* where a key of a port goes */
};

struct spec_name {
	const char *name;
	int value;
};

enum spec_form { SPEC_VALUE, SPEC_AT, SPEC_FLAG };	/* key=VALUE, key@N, key */
/* Without a prefix: all ports, or port 1 alone, since it is an address. */
enum spec_scope { SPEC_OF_DEVICE, SPEC_OF_PORTS, SPEC_OF_PORT1 };

struct spec_key {
	const char *name;
	enum spec_form form;
	enum spec_scope scope;
	bool list;			/* may be given again, and adds */
	int (*set)(struct spec_build *b, const struct spec_key *k, struct spec_tok v);
	size_t off, size;		/* in spec_device, or in spec_port */
	uint64_t min, max;
	const struct spec_name *names;
	/*
	 * For --help and the manual page. group: NULL as in the row before; arg: NULL from names;
	 * fallback: NULL when a key that is not there does nothing.
	 */
	const char *group, *arg, *help, *fallback;
};

extern const struct spec_key spec_keys[];	/* ends with a NULL name */

/* Tokens. spec_split cuts `rest` at the first `sep` outside (); false when nothing is left. */
bool spec_split(struct spec_tok *rest, char sep, struct spec_tok *item);
bool spec_cut(struct spec_tok t, char sep, struct spec_tok *head, struct spec_tok *tail);
bool spec_is(struct spec_tok t, const char *word);	/* the case of letters does not matter */
struct spec_tok spec_skip(struct spec_tok t, size_t n);
/* -1: "found", what stands there, and what is allowed instead (a printf format). */
int spec_bad(struct spec_error *err, struct spec_tok t, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Values: 0, or -1 for the caller to report. */
int spec_number(struct spec_tok t, uint64_t min, uint64_t max, uint64_t *out);
int spec_decimal(struct spec_tok t, double *out);	/* digits, at most one point */
int spec_time(struct spec_tok t, bool bare_is_ns, uint64_t *ns);
int spec_dist(struct spec_build *b, struct spec_tok v, struct dist *d);

/* Names; `prefix` (IBV_WC_ and so on) may be there or not. -1: none of them. */
int spec_lookup(const struct spec_name *tab, const char *prefix, struct spec_tok t);
const char *spec_names(const struct spec_name *tab, char *buf, size_t size);
extern const struct spec_name spec_wc_names[], spec_event_names[], spec_errno_names[],
	spec_call_names[];

/* The setters of the fault keys (spec_fault.c). */
int spec_set_chance(struct spec_build *b, const struct spec_key *k, struct spec_tok v);
int spec_set_flip(struct spec_build *b, const struct spec_key *k, struct spec_tok v);
int spec_set_err(struct spec_build *b, const struct spec_key *k, struct spec_tok v);
int spec_set_fail(struct spec_build *b, const struct spec_key *k, struct spec_tok v);
int spec_set_event(struct spec_build *b, const struct spec_key *k, struct spec_tok v);
int spec_set_stall(struct spec_build *b, const struct spec_key *k, struct spec_tok v);

#endif
