/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "listen.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "deadline.h"
#include "frame.h"

#define STRANGER_NS (5 * NS_PER_S)
#define SLICE_MS 100

void listener_init(struct listener *l)
{
	memset(l, 0, sizeof(*l));
	l->fd = -1;
}

void listener_close(struct listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	for (int i = 0; i < l->stranger_count; i++)
		control_close(&l->strangers[i].control);
	listener_init(l);
}

static int listen_on(const struct addrinfo *a, bool only_v6)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
	int on = 1, v6 = only_v6;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6, sizeof(v6));
	if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 256)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

static int open_family(const struct control_where *w, int family, struct error *err, int *rc)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE };
	struct addrinfo *res;
	char port[8];
	int gai;

	snprintf(port, sizeof(port), "%u", w->port);
	gai = getaddrinfo(w->bind, port, &hints, &res);
	if (gai && w->bind)
		return error_set(err, EXIT_MISUSE, 0, "--bind %s: %s", w->bind, gai_strerror(gai));
	*rc = gai ? -EAFNOSUPPORT : listen_on(res, w->ipv6 && !w->ipv4);
	if (!gai)
		freeaddrinfo(res);
	return 0;
}

int listener_open(struct listener *l, const struct control_where *w, struct error *err)
{
	/* One dual-stack socket serves both; where there is no IPv6, IPv4 alone. */
	int first = w->ipv4 ? AF_INET : w->bind && !w->ipv6 ? AF_UNSPEC : AF_INET6;
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int rc;

	if (open_family(w, first, err, &rc))
		return -1;
	if ((rc == -EAFNOSUPPORT || rc == -EADDRNOTAVAIL) && !w->bind && w->ipv4 == w->ipv6 &&
	    open_family(w, AF_INET, err, &rc))
		return -1;
	if (rc < 0)
		return error_set(err, rc == -EADDRINUSE || rc == -EADDRNOTAVAIL || rc == -EACCES ?
					      EXIT_MISUSE : EXIT_FAILED, -rc,
				 "listening on %s port %u%s", w->bind ? w->bind : "any address",
				 w->port, rc == -EADDRINUSE ? " (another server? -p 0 takes a free one)"
							    : "");
	l->fd = rc;
	getsockname(rc, (struct sockaddr *)&ss, &len);
	control_addr_text((struct sockaddr *)&ss, len, l->address);
	error_note(err, "listening on %s", l->address);
	return 0;
}

static void drop(struct listener *l, int i, const struct error *why, const struct error *err)
{
	struct stranger *s = &l->strangers[i];

	if (why)
		error_note(err, "dropped %s: %s", s->control.peer, why->text);
	control_close(&s->control);
	*s = l->strangers[--l->stranger_count];
}

/* Silent connections must not keep a client out. */
static void drop_oldest(struct listener *l, const struct error *err)
{
	struct error why;
	int oldest = 0;

	for (int i = 1; i < l->stranger_count; i++)
		if (l->strangers[i].deadline < l->strangers[oldest].deadline)
			oldest = i;
	error_init(&why, err->program);
	error_set(&why, EXIT_PEER, 0, "too many connections at once");
	drop(l, oldest, &why, err);
}

static void admit(struct listener *l, const struct error *err)
{
	int fd;

	while ((fd = accept(l->fd, NULL, NULL)) >= 0) {
		struct stranger *s;

		if (l->stranger_count == STRANGERS_MAX)
			drop_oldest(l, err);
		s = &l->strangers[l->stranger_count++];
		memset(s, 0, sizeof(*s));
		control_init(&s->control);
		control_adopt(&s->control, fd);
		s->deadline = deadline_in(STRANGER_NS);
	}
	/* Out of descriptors the connection stays in the queue, and poll() would not sleep. */
	if ((errno == EMFILE || errno == ENFILE) && l->stranger_count)
		drop_oldest(l, err);
}

/* Takes what one stranger sent. */
static enum stranger_verdict hear(struct stranger *s, stranger_handler handler, void *arg,
				  struct error *why)
{
	enum stranger_verdict verdict = STRANGER_WAIT;
	json_t *msg;

	while (verdict == STRANGER_WAIT) {
		int got = control_try_recv(&s->control, &msg, why);

		if (got < 0)
			return STRANGER_DROP;
		if (got == 0 && deadline_passed(s->deadline)) {
			error_set(why, EXIT_PEER, 0, "nothing that makes sense within 5 s");
			return STRANGER_DROP;
		}
		if (got == 0)
			return STRANGER_WAIT;
		verdict = handler(arg, &s->control, s->step++, msg, why);
		json_decref(msg);
	}
	return verdict;
}

static void send_others_away(struct listener *l, const struct error *err)
{
	struct error busy;

	error_init(&busy, err->program);
	busy.stage = "hello";
	error_set(&busy, EXIT_PEER, 0, "the server is busy with another client");
	while (l->stranger_count) {
		control_abort(&l->strangers[0].control, &busy);
		drop(l, 0, &busy, err);
	}
}

/* Hears everyone once. 1: @peer is there, 0: go on, -1: refused. */
static int hear_all(struct listener *l, stranger_handler handler, void *arg, struct control *peer,
		    struct error *err)
{
	for (int i = l->stranger_count - 1; i >= 0; i--) {
		struct error why;
		enum stranger_verdict v;

		error_init(&why, err->program);
		why.stage = "hello";
		v = hear(&l->strangers[i], handler, arg, &why);
		if (v == STRANGER_ACCEPT) {
			*peer = l->strangers[i].control;
			control_init(&l->strangers[i].control);
			drop(l, i, NULL, err);
			send_others_away(l, err);
			return 1;
		}
		if (v == STRANGER_REFUSE) {
			err->stage = why.stage;
			error_set(err, why.code, why.err, "%s", why.text);
			drop(l, i, NULL, err);
			return -1;
		}
		if (v == STRANGER_DROP)
			drop(l, i, &why, err);
	}
	return 0;
}

static int poll_all(struct listener *l, uint64_t deadline, const struct error *err)
{
	struct pollfd p[1 + STRANGERS_MAX];
	int n = 1;

	p[0] = (struct pollfd){ .fd = l->fd, .events = POLLIN };
	for (int i = 0; i < l->stranger_count; i++)
		p[n++] = (struct pollfd){ .fd = l->strangers[i].control.fd, .events = POLLIN };
	if (poll(p, (nfds_t)n, deadline_poll_ms(deadline, SLICE_MS)) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[0].revents)
		admit(l, err);
	return 0;
}

int listener_accept(struct listener *l, stranger_handler handler, void *arg, uint64_t deadline,
		    struct control *peer, struct error *err)
{
	for (;;) {
		int rc = poll_all(l, deadline, err);

		if (rc < 0)
			return error_set(err, EXIT_FAILED, -rc, "waiting for a client");
		if (stop_signal)
			return error_set(err, EXIT_PEER, 0, "ended by signal %d while listening",
					 (int)stop_signal);
		rc = hear_all(l, handler, arg, peer, err);
		if (rc)
			return rc < 0 ? -1 : 0;
		if (deadline_passed(deadline))
			return error_set(err, EXIT_TIMED_OUT, 0, "no client came within --timeout");
	}
}
