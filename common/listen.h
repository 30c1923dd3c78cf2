/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The server's side of the control connection. Whoever connects is a stranger until its plan is
 * accepted: it has 5 s and frames of at most 64 KiB, several wait at once, and what is no client
 * of ours is logged in one line and dropped.
 */
#ifndef COMMON_LISTEN_H
#define COMMON_LISTEN_H

#include "control.h"

#define STRANGERS_MAX 256 /* when one more comes, the oldest is dropped */

struct stranger {
	struct control control;
	uint64_t deadline;
	int step; /* of the handler: number of messages it has taken */
};

struct listener {
	int fd; /* -1: closed. One dual-stack socket serves both families */
	char address[CONTROL_ADDR_MAX];
	struct stranger strangers[STRANGERS_MAX];
	int stranger_count;
};

enum stranger_verdict {
	STRANGER_WAIT,   /* a message was taken, another one is due */
	STRANGER_ACCEPT, /* this is the peer */
	STRANGER_DROP,   /* logged with the text of the error, and dropped */
	STRANGER_REFUSE, /* a client of ours whose plan cannot be: the server ends too */
};

/* Judges message number @step of a stranger; answers it itself. The error says why not. */
typedef enum stranger_verdict (*stranger_handler)(void *arg, struct control *c, int step,
						   json_t *msg, struct error *err);

void listener_init(struct listener *l);
void listener_close(struct listener *l);

/* Listens, then says "listening on ADDR:PORT" on stderr. */
int listener_open(struct listener *l, const struct control_where *where, struct error *err);

/*
 * Serves strangers until the handler accepts one, which moves to @peer; the others are told that
 * the server is busy. -1: refused, ended by a signal (EXIT_PEER) or @deadline (EXIT_TIMED_OUT).
 */
int listener_accept(struct listener *l, stranger_handler handler, void *arg, uint64_t deadline,
		    struct control *peer, struct error *err);

#endif
