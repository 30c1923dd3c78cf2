/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What comes to the port of world.h, and the server at work on it. */
#ifndef TESTS_STRANGERS_H
#define TESTS_STRANGERS_H

#include "world.h"

static inline int connect_to(struct world *w)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(getsockname(w->l.fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, len), 0);
	return fd;
}

static inline int stranger(struct world *w, const void *bytes, size_t len)
{
	int fd = connect_to(w);

	assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
	return fd;
}

static inline void send_message(int fd, json_t *m)
{
	size_t len;
	uint8_t *f = frame_build(m, &len);

	assert_int_equal(send(fd, f, len, MSG_NOSIGNAL), len);
	free(f);
	json_decref(m);
}

/* Sends its plan without waiting for the hello, which is not due before. */
static inline int real_client(struct world *w)
{
	int fd = connect_to(w);

	send_message(fd, hello(&w->client));
	send_message(fd, plan_message(&w->client));
	return fd;
}

/* The server at work for @ms, or until it has its peer. */
static inline int serve_for(struct world *w, unsigned int ms)
{
	int rc;

	error_init(&w->err, "rdma_lat");
	w->err.stage = "listen";
	capture_begin(&w->cap);
	rc = listener_accept(&w->l, judge, &w->server, deadline_in(ms * NS_PER_MS), &w->peer,
			     &w->err);
	capture_end(&w->cap, w->said, sizeof(w->said));
	return rc;
}

/* The next message that comes on a socket within a second; NULL at its end. */
static inline json_t *next_message(int fd, struct control *c)
{
	struct error err;
	json_t *m = NULL;
	int got;

	error_init(&err, "x");
	if (c->fd < 0)
		control_adopt(c, fd);
	for (int i = 0; i < 1000; i++) {
		got = control_try_recv(c, &m, &err);
		if (got)
			break;
		usleep(1000);
	}
	return m;
}

static inline void expect_accepted(int fd)
{
	struct control c;
	json_t *m;

	control_init(&c);
	m = next_message(fd, &c);
	assert_string_equal(json_string_value(json_object_get(m, "type")), "hello");
	json_decref(m);
	m = next_message(fd, &c);
	assert_string_equal(json_string_value(json_object_get(m, "type")), "accept");
	json_decref(m);
	control_close(&c);
}

#endif
