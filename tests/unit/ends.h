/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A control connection over a socket pair, whose other end the test plays. */
#ifndef TESTS_ENDS_H
#define TESTS_ENDS_H

#include <sys/socket.h>

#include "control.h"
#include "deadline.h"
#include "frame.h"
#include "unit.h"

struct ends {
	struct control c;
	struct error err;
	int peer;
};

static inline int setup(void **state)
{
	struct ends *e = calloc(1, sizeof(*e));
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	error_init(&e->err, "prog");
	e->err.stage = "plan";
	control_init(&e->c);
	control_adopt(&e->c, fds[0]);
	strcpy(e->c.peer, "host-b:1");
	e->peer = fds[1];
	stop_signal = 0;
	*state = e;
	return 0;
}

static inline int teardown(void **state)
{
	struct ends *e = *state;

	stop_signal = 0;
	control_close(&e->c);
	control_close(&e->c);
	if (e->peer >= 0)
		close(e->peer);
	error_free(&e->err);
	free(e);
	return 0;
}

static inline uint8_t *frame_of(const char *text, size_t *len)
{
	size_t n = strlen(text);
	uint8_t *f = malloc(FRAME_HEADER + n);

	memcpy(f, FRAME_MAGIC, 4);
	for (int i = 0; i < 4; i++)
		f[4 + i] = (uint8_t)(n >> (24 - 8 * i));
	memcpy(f + FRAME_HEADER, text, n);
	*len = FRAME_HEADER + n;
	return f;
}

static inline void peer_sends(struct ends *e, const void *p, size_t len)
{
	assert_int_equal(send(e->peer, p, len, MSG_NOSIGNAL), len);
}

static inline void peer_says(struct ends *e, const char *text)
{
	size_t len;
	uint8_t *f = frame_of(text, &len);

	peer_sends(e, f, len);
	free(f);
}

static inline void hang_up(struct ends *e)
{
	close(e->peer);
	e->peer = -1;
}

static inline void expect_type(json_t *m, const char *type)
{
	assert_non_null(m);
	assert_string_equal(json_string_value(json_object_get(m, "type")), type);
	json_decref(m);
}

static inline uint64_t soon(void)
{
	return deadline_in(20 * NS_PER_MS);
}

static inline uint64_t ample(void)
{
	return deadline_in(20 * NS_PER_S);
}

#define WITH_ENDS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
