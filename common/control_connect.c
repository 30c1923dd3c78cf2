/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The client's way to its server: every address of the host, until one answers. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "deadline.h"

#define RETRY_NS (50 * NS_PER_MS)

/* "HOST", "[ADDR]", "HOST:PORT" or "[ADDR]:PORT"; a bare IPv6 address has more colons. */
static void split_host(const struct control_where *w, char host[256], char port[8])
{
	const char *h = w->host, *colon;
	size_t len = strlen(h);

	snprintf(port, 8, "%u", w->port);
	if (*h == '[' && strchr(h, ']')) {
		len = (size_t)(strchr(h, ']') - h) - 1;
		h++;
		if (h[len + 1] == ':')
			snprintf(port, 8, "%.7s", h + len + 2);
	} else if ((colon = strchr(h, ':')) && !strchr(colon + 1, ':')) {
		len = (size_t)(colon - h);
		snprintf(port, 8, "%.7s", colon + 1);
	}
	snprintf(host, 256, "%.*s", (int)len, h);
}

static int family_of(const struct control_where *w)
{
	return w->ipv4 == w->ipv6 ? AF_UNSPEC : w->ipv4 ? AF_INET : AF_INET6;
}

static int resolve(const struct control_where *w, struct addrinfo **res, struct error *err)
{
	struct addrinfo hints = { .ai_family = family_of(w), .ai_socktype = SOCK_STREAM };
	char host[256], port[8];
	int rc;

	split_host(w, host, port);
	rc = getaddrinfo(host, port, &hints, res);
	if (rc)
		return error_set(err, rc == EAI_SYSTEM || rc == EAI_AGAIN ? EXIT_FAILED : EXIT_MISUSE,
				 rc == EAI_SYSTEM ? errno : 0, "host %s%s: %s", w->host,
				 w->ipv4 ? " (IPv4 only)" : w->ipv6 ? " (IPv6 only)" : "",
				 gai_strerror(rc));
	return 0;
}

static int bind_source(int fd, int family, const struct control_where *w)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICHOST };
	struct addrinfo *res;
	int rc;

	if (!w->bind)
		return 0;
	if (getaddrinfo(w->bind, NULL, &hints, &res))
		return -EADDRNOTAVAIL;
	rc = bind(fd, res->ai_addr, res->ai_addrlen) ? -errno : 0;
	freeaddrinfo(res);
	return rc;
}

static int finish_connect(int fd, uint64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0;

	while (!stop_signal) {
		int n = poll(&p, 1, deadline_poll_ms(deadline, 100));

		if (n > 0) {
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
			return -err;
		}
		if (n == 0 && deadline_passed(deadline))
			return -ETIMEDOUT;
	}
	return -EINTR;
}

/* A connected socket or -errno. */
static int try_address(const struct addrinfo *a, const struct control_where *w, uint64_t deadline)
{
	int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
	int rc;

	if (fd < 0)
		return -errno;
	rc = bind_source(fd, a->ai_family, w);
	if (!rc && connect(fd, a->ai_addr, a->ai_addrlen))
		rc = errno == EINPROGRESS ? finish_connect(fd, deadline) : -errno;
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}

/* Errors that time does not mend. */
static bool hopeless(int rc)
{
	return rc == -EADDRNOTAVAIL || rc == -EACCES || rc == -EPERM || rc == -EAFNOSUPPORT ||
	       rc == -EINVAL;
}

static int gave_up(const struct control_where *w, int rc, bool in_time, struct error *err)
{
	if (rc == -EINTR && stop_signal)
		return error_set(err, EXIT_PEER, 0, "ended by signal %d before a server answered",
				 (int)stop_signal);
	if (in_time)
		return error_set(err, rc == -EADDRNOTAVAIL ? EXIT_MISUSE : EXIT_FAILED, -rc,
				 "connecting to %s port %u%s%s", w->host, w->port,
				 w->bind ? " from " : "", w->bind ? w->bind : "");
	return error_set(err, EXIT_TIMED_OUT, -rc, "no server at %s port %u within --connect-timeout",
			 w->host, w->port);
}

int control_connect(struct control *c, const struct control_where *w, uint64_t deadline,
		    struct error *err)
{
	struct addrinfo *res;
	bool told = false;
	int rc = -ETIMEDOUT;

	if (resolve(w, &res, err))
		return -1;
	for (;;) {
		struct timespec pause = { .tv_nsec = RETRY_NS };

		for (struct addrinfo *a = res; a; a = a->ai_next) {
			rc = try_address(a, w, deadline);
			if (rc >= 0)
				break;
		}
		if (rc >= 0 || hopeless(rc) || stop_signal || deadline_passed(deadline))
			break;
		if (!told)
			error_note(err, "waiting for a server at %s port %u (%s)", w->host, w->port,
				   strerror(-rc));
		told = true;
		nanosleep(&pause, NULL);
	}
	freeaddrinfo(res);
	if (rc < 0)
		return gave_up(w, stop_signal ? -EINTR : rc, hopeless(rc), err);
	control_adopt(c, rc);
	return 0;
}
