/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control connection: frames over one TCP connection, every read and write with a deadline.
 * Messages are JSON objects with a "type".
 */
#ifndef COMMON_CONTROL_H
#define COMMON_CONTROL_H

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define CONTROL_ADDR_MAX 80

struct control {
	int fd;             /* -1 when closed */
	bool draining;      /* the run is over: a signal no longer ends a wait, only its deadline */
	uint32_t max;       /* longest text that is taken from the other end */
	uint8_t *in;        /* bytes that came and are not consumed yet */
	size_t in_len, in_cap;
	char peer[CONTROL_ADDR_MAX]; /* "10.0.0.1:18515" or "[fe80::1%eth0]:18515" */
	json_t *hello; /* what the other end said first, while it is a stranger; or NULL */
};

/* Where to listen or to connect. */
struct control_where {
	const char *host, *bind; /* may be NULL */
	uint16_t port;
	bool ipv4, ipv6;
};

void control_init(struct control *c);
void control_close(struct control *c);
/* Takes over a connected socket: non-blocking, no delay, keepalive. */
void control_adopt(struct control *c, int fd);

/*
 * Connects, trying every address of the host again and again until @deadline; says once on
 * stderr that it waits. Code EXIT_TIMED_OUT when the deadline passed.
 */
int control_connect(struct control *c, const struct control_where *where, uint64_t deadline,
		    struct error *err);

/* Sends and releases @msg. EXIT_PEER when the other end is gone, EXIT_TIMED_OUT. */
int control_send(struct control *c, json_t *msg, uint64_t deadline, struct error *err);

/*
 * Waits for a message of @type, which the caller releases. An abort or refusal from the peer
 * becomes the error with the peer's stage and text.
 */
json_t *control_recv(struct control *c, const char *type, uint64_t deadline, struct error *err);

/*
 * Takes one message if one is there, of any type but abort. 1: in @msg; 0: not yet; -1: abort,
 * end of file or no frame, in @err. Never blocks.
 */
int control_try_recv(struct control *c, json_t **msg, struct error *err);

/* What follows a frame that announces it: bytes as they are. 0 or -1. */
int control_send_bytes(struct control *c, const void *p, size_t len, uint64_t deadline,
		       struct error *err);
int control_recv_bytes(struct control *c, void *p, size_t len, uint64_t deadline,
		       struct error *err);
/* 64-bit values, big-endian on the way; each piece of them has @ns. */
int control_send_values(struct control *c, const uint64_t *v, uint64_t n, uint64_t ns,
			struct error *err);
int control_recv_values(struct control *c, uint64_t *v, uint64_t n, uint64_t ns,
			struct error *err);

/* Tells the peer about the failure in @err; within a second, or not at all. */
void control_abort(struct control *c, const struct error *err);

/* A message: json_pack with "type" in front. NULL text members are not allowed. */
json_t *control_message(const char *type);

/* "ADDR:PORT" of a socket address. */
void control_addr_text(const struct sockaddr *sa, socklen_t len, char out[CONTROL_ADDR_MAX]);

#endif
