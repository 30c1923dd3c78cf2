/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "deadline.h"
#include "frame.h"
#include "json_text.h"

#define SLICE_MS 100      /* how often a wait looks at stop_signal */
#define READ_CHUNK 65536

void control_init(struct control *c)
{
	memset(c, 0, sizeof(*c));
	c->fd = -1;
	c->max = FRAME_STRANGER_MAX;
}

void control_close(struct control *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->in);
	json_decref(c->hello);
	control_init(c);
}

void control_addr_text(const struct sockaddr *sa, socklen_t len, char out[CONTROL_ADDR_MAX])
{
	char host[INET6_ADDRSTRLEN + 20], port[8];

	if (getnameinfo(sa, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV)) {
		snprintf(out, CONTROL_ADDR_MAX, "?");
		return;
	}
	/* An IPv4 client of a dual-stack socket is shown as it calls itself. */
	if (!strncmp(host, "::ffff:", 7) && strchr(host, '.'))
		snprintf(out, CONTROL_ADDR_MAX, "%s:%s", host + 7, port);
	else
		snprintf(out, CONTROL_ADDR_MAX, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
			 port);
}

static void set_option(int fd, int level, int name, int value)
{
	/* A kernel without one of these still has our own deadlines. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

void control_adopt(struct control *c, int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	c->fd = fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	/* A host that died without a word is noticed after about 4 s. */
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 4000);
	if (!getpeername(fd, (struct sockaddr *)&ss, &len))
		control_addr_text((struct sockaddr *)&ss, len, c->peer);
}

static int lost(struct control *c, int errnum, struct error *err)
{
	if (errnum)
		return error_set(err, EXIT_PEER, errnum, "peer %s lost at stage %s", c->peer,
				 err->stage);
	return error_set(err, EXIT_PEER, 0, "peer %s lost at stage %s: it closed the connection",
			 c->peer, err->stage);
}

/* Waits for @events; 0, or -1 when the deadline passed or a signal asked to end. */
static int wait_ready(struct control *c, short events, uint64_t deadline, struct error *err)
{
	struct pollfd p = { .fd = c->fd, .events = events };

	for (;;) {
		int n = poll(&p, 1, deadline_poll_ms(deadline, SLICE_MS));

		if (n > 0)
			return 0;
		if (stop_signal && !c->draining)
			return error_set(err, EXIT_PEER, 0, "ended by signal %d at stage %s",
					 (int)stop_signal, err->stage);
		if (n < 0 && errno != EINTR)
			return error_set(err, EXIT_FAILED, errno, "poll on the control connection");
		if (n == 0 && deadline_passed(deadline))
			return error_set(err, EXIT_TIMED_OUT, 0,
					 "timed out at stage %s: peer %s did not %s in time",
					 err->stage, c->peer,
					 events == POLLIN ? "answer" : "take what was sent");
	}
}

int control_send_bytes(struct control *c, const void *from, size_t len, uint64_t deadline,
		       struct error *err)
{
	const uint8_t *p = from;

	while (len) {
		ssize_t n = send(c->fd, p, len, MSG_NOSIGNAL);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			if (wait_ready(c, POLLOUT, deadline, err))
				return -1;
		} else if (errno != EINTR) {
			return lost(c, errno, err);
		}
	}
	return 0;
}

int control_send(struct control *c, json_t *msg, uint64_t deadline, struct error *err)
{
	size_t len = 0;
	uint8_t *frame = frame_build(msg, &len);
	int rc;

	json_decref(msg);
	if (!frame)
		return error_set(err, EXIT_FAILED, ENOMEM, "building a control message");
	rc = control_send_bytes(c, frame, len, deadline, err);
	free(frame);
	return rc;
}

/* What the peer said of its failure, cut and cleaned: it goes to a terminal. */
static void take_abort(json_t *msg, struct error *err)
{
	const char *stage = json_string_value(json_object_get(msg, "stage"));
	const char *text = json_string_value(json_object_get(msg, "text"));
	json_int_t code = json_integer_value(json_object_get(msg, "code"));
	json_int_t err_no = json_integer_value(json_object_get(msg, "errno"));
	char clean_stage[16], clean[ERROR_TEXT_MAX - 64];
	enum exit_code ours = EXIT_PEER;

	if (!stage)
		stage = "?";
	if (!text)
		text = "no reason given";
	error_sanitise(clean_stage, sizeof(clean_stage), stage, strlen(stage));
	error_sanitise(clean, sizeof(clean), text, strlen(text));
	/* Misuse and corrupt data are a fact of both ends; anything else is the peer's failure. */
	if (code == EXIT_MISUSE || code == EXIT_DATA)
		ours = (enum exit_code)code;
	error_set_peer(err, ours, err_no > 0 && err_no < 4096 ? (int)err_no : 0, clean_stage, clean);
}

/* One whole frame out of the bytes that came: 1, 0 not yet, -1. */
static int take_frame(struct control *c, json_t **msg, struct error *err)
{
	int64_t len = frame_text_length(c->in, c->in_len, c->max);
	size_t whole;

	if (len == -EAGAIN)
		return 0;
	if (len < 0)
		return error_set(err, EXIT_PEER, 0, "%s sent %s at stage %s", c->peer,
				 len == -EPROTO ? "something that is no frame of this protocol" :
						  "a frame that is too long",
				 err->stage);
	whole = FRAME_HEADER + (size_t)len;
	if (c->in_len < whole)
		return 0;
	*msg = frame_parse(c->in + FRAME_HEADER, (size_t)len);
	memmove(c->in, c->in + whole, c->in_len - whole);
	c->in_len -= whole;
	if (!*msg)
		return error_set(err, EXIT_PEER, 0, "%s sent a frame without a JSON object at stage %s",
				 c->peer, err->stage);
	return 1;
}

static int grow(struct control *c, struct error *err)
{
	size_t room = c->in_cap - c->in_len;
	size_t cap = c->in_cap ? c->in_cap * 2 : 4096;
	uint8_t *in;

	if (room >= 2048)
		return 0;
	in = realloc(c->in, cap);
	if (!in)
		return error_set(err, EXIT_FAILED, ENOMEM, "reading from %s", c->peer);
	c->in = in;
	c->in_cap = cap;
	return 0;
}

int control_try_recv(struct control *c, json_t **msg, struct error *err)
{
	for (;;) {
		int got = c->in_len ? take_frame(c, msg, err) : 0;
		const char *type;
		ssize_t n;

		if (got > 0) {
			type = json_string_value(json_object_get(*msg, "type"));
			if (type && strcmp(type, "abort"))
				return 1;
			if (type)
				take_abort(*msg, err);
			else
				error_set(err, EXIT_PEER, 0, "%s sent a frame without a type",
					  c->peer);
			json_decref(*msg);
			*msg = NULL;
			return -1;
		}
		if (got < 0 || grow(c, err))
			return -1;
		n = recv(c->fd, c->in + c->in_len, c->in_cap - c->in_len, 0);
		if (n == 0)
			return lost(c, 0, err);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : lost(c, errno, err);
		c->in_len += (size_t)n;
	}
}

json_t *control_recv(struct control *c, const char *type, uint64_t deadline, struct error *err)
{
	const char *other;
	json_t *msg = NULL;
	char clean[32];

	for (;;) {
		int got = control_try_recv(c, &msg, err);

		if (got < 0)
			return NULL;
		if (got == 0 && wait_ready(c, POLLIN, deadline, err))
			return NULL;
		if (got == 0)
			continue;
		other = json_string_value(json_object_get(msg, "type"));
		/* A wish to end that came when the run was over already. */
		if (strcmp(other, "interrupt"))
			break;
		json_decref(msg);
	}
	if (strcmp(other, type)) {
		error_sanitise(clean, sizeof(clean), other, strlen(other));
		error_set(err, EXIT_PEER, EPROTO, "peer %s sent %s where %s was due", c->peer,
			  clean, type);
		json_decref(msg);
		return NULL;
	}
	return msg;
}

json_t *control_message(const char *type)
{
	return json_pack("{s:s}", "type", type);
}

void control_abort(struct control *c, const struct error *err)
{
	struct error ignored;
	json_t *msg;

	if (c->fd < 0)
		return;
	error_init(&ignored, err->program);
	msg = json_pack("{s:s,s:s,s:i,s:i,s:o}", "type", "abort", "stage", err->failed_stage,
			"errno", err->err, "code", (int)err->code, "text", json_text(err->text));
	if (msg)
		control_send(c, msg, deadline_in(NS_PER_S), &ignored);
}

int control_recv_bytes(struct control *c, void *to, size_t len, uint64_t deadline,
		       struct error *err)
{
	size_t early = c->in_len < len ? c->in_len : len;
	uint8_t *p = to;

	if (early) {
		memcpy(p, c->in, early);
		memmove(c->in, c->in + early, c->in_len - early);
		c->in_len -= early;
	}
	for (p += early, len -= early; len;) {
		ssize_t n = recv(c->fd, p, len, 0);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (n == 0) {
			return lost(c, 0, err);
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			if (wait_ready(c, POLLIN, deadline, err))
				return -1;
		} else if (errno != EINTR) {
			return lost(c, errno, err);
		}
	}
	return 0;
}
