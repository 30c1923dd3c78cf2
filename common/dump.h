/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The dump file of --dump: the stamps of both ends, lossless, with all that is known of the run.
 * doc/dump.md fixes the format, byte by byte.
 */
#ifndef COMMON_DUMP_H
#define COMMON_DUMP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "units.h"

#define DUMP_VERSION	1
#define DUMP_MAGIC	"verbsperf dump "
#define DUMP_HEADER_MAX (16u << 20)
#define DUMP_SERIES_MAX 16384u

/* What is kept of each lap, in this order in the file. Counter units of that end, never halved. */
enum dump_column {
	DUMP_POST,   /* just before the post; a client has one more, the end of its last lap */
	DUMP_SEEN,   /* --detail: the peer's message was seen */
	DUMP_GAP,    /* --detail: longest time between two polls of the lap */
	DUMP_DEVICE, /* --hw-timestamps: completion by the device's clock, in its own units */
	DUMP_CPU,    /* CPU of the lap; with DUMP_CPU_LOST when the thread was switched out in it */
	DUMP_COLUMNS
};

#define DUMP_CPU_LOST (1ull << 32)
#define DUMP_LOST     (1ull << 63) /* in post: the lap's answer never came, it gives no sample */

enum dump_role { DUMP_CLIENT, DUMP_SERVER };

/* One end's laps of one size in one run. */
struct dump_series {
	enum dump_role role;
	enum latency_kind kind;
	uint64_t size, run;		 /* bytes; 1 for the first run */
	bool ends_seen;			 /* samples end at seen (--gap), not at the next post */
	uint64_t lost;			 /* laps with DUMP_LOST; the writer counts them */
	uint64_t laps, warmup;		 /* all of them; so many of the first are warm-up */
	uint64_t count[DUMP_COLUMNS];	 /* values, 0: no such column; at most laps + 1 */
	const uint64_t *v[DUMP_COLUMNS]; /* the writer's; not touched by a reader */
	uint64_t place[DUMP_COLUMNS];	 /* the reader's: byte in the file */
};

/*
 * Writes a temporary file beside @path, syncs and renames it; on failure nothing is left behind.
 * @facts: object with program, version, protocol, time, settings, client and server (each with
 * host, device, firmware, kernel, clock{source, hz, ...}); not changed.
 */
int dump_write(const char *path, json_t *facts, const struct dump_series *series,
	       unsigned int count, struct error *err);

struct dump {
	int fd;	    /* the caller's */
	char *name; /* for messages */
	json_t *header;
	struct dump_series *series;
	unsigned int count;
};

/* Do these first bytes of a file say that it is a dump? */
bool dump_recognise(const void *bytes, size_t n);
/*
 * Reads and checks all of a regular file: header, lengths, checksum. 0, or -1 with EXIT_MISUSE and
 * one line in @err. dump_close() does not close fd; fine on a zeroed struct.
 */
int dump_open(struct dump *d, int fd, const char *name, struct error *err);
void dump_close(struct dump *d);
/* Values [first, first + n) of a column; -1 with EXIT_FAILED, also where the file has shrunk. */
int dump_read(const struct dump *d, const struct dump_series *s, enum dump_column column,
	      uint64_t first, size_t n, uint64_t *out, struct error *err);
/* Of that end's counter; NAN when the header has none. */
double dump_hz(const struct dump *d, enum dump_role role);

const char *dump_column_name(enum dump_column column);
const char *dump_role_name(enum dump_role role);
/* The checksum so far, and n words more; it starts with DUMP_SEED. */
#define DUMP_SEED 0xcbf29ce484222325ull
uint64_t dump_checksum(uint64_t sum, const uint64_t *words, size_t n);

#endif
