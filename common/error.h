/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One failure, kept: printed as one line on stderr, sent to the peer and written to the JSON.
 * A function that can fail takes a struct error, records what went wrong and returns -1.
 */
#ifndef COMMON_ERROR_H
#define COMMON_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes of every program. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,     /* a local call failed */
	EXIT_MISUSE = 2,     /* bad options, or a refused plan */
	EXIT_EXPECT = 3,     /* an --expect was not met */
	EXIT_PEER = 4,       /* the peer was lost or aborted */
	EXIT_DATA = 5,       /* data lost or corrupt */
	EXIT_TIMED_OUT = 6,  /* a deadline of this end ran out */
	EXIT_SKIPPED = 77,   /* a test that cannot run here */
};

#define ERROR_TEXT_MAX 1024
#define ERROR_WARNINGS_MAX 32

struct error {
	const char *program; /* prefix of each line */
	const char *stage;   /* what the driver is doing: device, listen, connect, hello, plan, ... */
	enum exit_code code; /* EXIT_OK while nothing failed */
	int err;             /* errno of the failing call, 0 where there is none */
	bool from_peer;      /* the text came from the other end */
	char failed_stage[16];
	char text[ERROR_TEXT_MAX];
	char *warnings[ERROR_WARNINGS_MAX];
	int warning_count;
};

void error_init(struct error *e, const char *program);
void error_free(struct error *e);

/*
 * Records a failure and returns -1. The first one stands: later ones are its consequences.
 * @err: errno value, whose text is appended after a colon, or 0.
 */
int error_set(struct error *e, enum exit_code code, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for a failure that the peer reported; @stage is the peer's. */
int error_set_peer(struct error *e, enum exit_code code, int err, const char *stage,
		   const char *text);

static inline bool error_is_set(const struct error *e)
{
	return e->code != EXIT_OK;
}

/* Prints "PROGRAM: warning: TEXT" and keeps TEXT for the JSON; the same text only once. */
void error_warn(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints "PROGRAM: TEXT" on stderr, without keeping it. */
void error_note(const struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints the failure as one line (a list of option differences has one line each). */
void error_print(const struct error *e);

/*
 * Copies printable ASCII of untrusted text; anything else becomes '?'. @out holds @cap bytes.
 * What a stranger or a peer sent must not reach a terminal as it came.
 */
void error_sanitise(char *out, size_t cap, const char *text, size_t len);

#endif
