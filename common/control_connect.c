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
#include "units.h"

#define RETRY_NS (50 * NS_PER_MS)

/* getaddrinfo() would take 99999 and cut it to 16 bits. */
static int take_port(const char *text, uint16_t *port)
{
	uint64_t v;

	if (units_parse_u64(text, &v) || v == 0 || v > UINT16_MAX)
		return -EINVAL;
	*port = (uint16_t)v;
	return 0;
}

/* "HOST", "[ADDR]", "HOST:PORT" or "[ADDR]:PORT"; a bare IPv6 address has more colons. */
static int split_host(const struct control_where *w, char host[256], uint16_t *port)
{
	const char *h = w->host, *end = strchr(h, ']'), *colon = strchr(h, ':');
	size_t len = strlen(h);

	*port = w->port;
	if (*h == '[' && end) {
		len = (size_t)(end - ++h);
		colon = end + 1;
	} else if (colon && !strchr(colon + 1, ':')) {
		len = (size_t)(colon - h);
	} else {
		colon = h + len;
	}
	snprintf(host, 256, "%.*s", (int)len, h);
	if (!*colon)
		return 0;
	return *colon == ':' ? take_port(colon + 1, port) : -EINVAL;
}

static int family_of(const struct control_where *w)
{
	return w->ipv4 == w->ipv6 ? AF_UNSPEC : w->ipv4 ? AF_INET : AF_INET6;
}

static int resolve(const struct control_where *w, struct addrinfo **res, struct error *err)
{
	struct addrinfo hints = { .ai_family = family_of(w), .ai_socktype = SOCK_STREAM };
	char host[256], service[8];
	uint16_t port;
	int rc;

	if (split_host(w, host, &port))
		return error_set(err, EXIT_MISUSE, 0, "host %s: no port from 1 to 65535 after it",
				 w->host);
	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(host, service, &hints, res);
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

/* "HOST port N", as it was tried. */
static const char *place(const struct control_where *w, char out[300])
{
	char host[256];
	uint16_t port;

	split_host(w, host, &port);
	snprintf(out, 300, "%s port %u", host, port);
	return out;
}

static int gave_up(const struct control_where *w, int rc, bool in_time, struct error *err)
{
	char buf[300];

	if (rc == -EINTR && stop_signal)
		return error_set(err, EXIT_PEER, 0, "ended by signal %d before a server answered",
				 (int)stop_signal);
	if (in_time)
		return error_set(err, rc == -EADDRNOTAVAIL ? EXIT_MISUSE : EXIT_FAILED, -rc,
				 "connecting to %s%s%s", place(w, buf), w->bind ? " from " : "",
				 w->bind ? w->bind : "");
	return error_set(err, EXIT_TIMED_OUT, -rc, "no server at %s within --connect-timeout",
			 place(w, buf));
}

int control_connect(struct control *c, const struct control_where *w, uint64_t deadline,
		    struct error *err)
{
	struct addrinfo *res;
	bool told = false;
	int rc = -ETIMEDOUT;
	char buf[300];

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
			error_note(err, "waiting for a server at %s (%s)", place(w, buf),
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
