/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The way to a server: forms of an address, waiting for it, what is hopeless, a reset. Loopback. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "control.h"
#include "deadline.h"

struct server {
	int fd;
	uint16_t port;
};

static void server_bind(struct server *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	s->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
	s->port = ntohs(a.sin_port);
}

static int setup(void **state)
{
	struct server *s = calloc(1, sizeof(*s));

	server_bind(s);
	stop_signal = 0;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct server *s = *state;

	stop_signal = 0;
	close(s->fd);
	free(s);
	return 0;
}

/* What a connect to @where says on stderr; the code is in @err. */
static int try_connect(struct control *c, const struct control_where *where, uint64_t ns,
		       struct error *err, char said[512])
{
	struct capture cap;
	int rc;

	control_init(c);
	error_init(err, "prog");
	err->stage = "connect";
	capture_begin(&cap);
	rc = control_connect(c, where, deadline_in(ns), err);
	capture_end(&cap, said, 512);
	return rc;
}

static void test_forms(void **state)
{
	struct server *s = *state;
	char with_port[64], said[512];
	struct control_where rows[] = {
		{ .host = "127.0.0.1", .port = s->port },
		{ .host = "127.0.0.1", .port = s->port, .ipv4 = true },
		{ .host = "[127.0.0.1]", .port = s->port },
		{ .host = "127.0.0.1", .port = s->port, .bind = "127.0.0.1" },
		{ .host = with_port, .port = 1 },
	};
	struct error err;

	assert_int_equal(listen(s->fd, 8), 0);
	snprintf(with_port, sizeof(with_port), "127.0.0.1:%u", s->port);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct control c;

		if (try_connect(&c, &rows[i], 10 * NS_PER_S, &err, said))
			fail_msg("row %zu: %s", i, err.text);
		assert_string_equal(said, "");
		assert_string_equal(c.peer, with_port);
		control_close(&c);
	}
}

/* Bound and not yet listening: refused, until the server listens. */
static void *listen_later(void *arg)
{
	const struct timespec pause = { .tv_nsec = 150 * 1000000 };
	struct server *s = arg;

	nanosleep(&pause, NULL);
	listen(s->fd, 8);
	return NULL;
}

static void test_server_later(void **state)
{
	struct server *s = *state;
	struct control_where w = { .host = "127.0.0.1", .port = s->port };
	struct control c;
	struct error err;
	char said[512], want[128];
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, listen_later, s), 0);
	assert_int_equal(try_connect(&c, &w, 20 * NS_PER_S, &err, said), 0);
	pthread_join(t, NULL);
	snprintf(want, sizeof(want),
		 "prog: waiting for a server at 127.0.0.1 port %u (Connection refused)\n", s->port);
	assert_string_equal(said, want);
	control_close(&c);
}

/* The port that was tried is named, also where it came with the host. */
static void test_no_server(void **state)
{
	struct server *s = *state;
	char with_port[64], said[512], want[128];
	struct control_where rows[] = {
		{ .host = "127.0.0.1", .port = s->port },
		{ .host = with_port, .port = 1 },
	};
	struct control c;
	struct error err;

	snprintf(with_port, sizeof(with_port), "127.0.0.1:%u", s->port);
	snprintf(want, sizeof(want), "no server at 127.0.0.1 port %u within --connect-timeout",
		 s->port);
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(try_connect(&c, &rows[i], 120 * NS_PER_MS, &err, said), -1);
		assert_error(&err, EXIT_TIMED_OUT, want);
		assert_int_equal(count_lines(said), 1);
		assert_int_equal(c.fd, -1);
	}
}

static void test_hopeless(void **state)
{
	struct server *s = *state;
	static const struct {
		struct control_where w;
		enum exit_code code;
		const char *why;
	} rows[] = {
		{ { .host = "::1", .ipv4 = true }, EXIT_MISUSE, "host ::1 (IPv4 only): " },
		{ { .host = "127.0.0.1", .ipv6 = true },
		  EXIT_MISUSE,
		  "host 127.0.0.1 (IPv6 only): " },
		{ { .host = "127.0.0.1:99999" }, EXIT_MISUSE, "host 127.0.0.1:99999: " },
		{ { .host = "127.0.0.1:" }, EXIT_MISUSE, "host 127.0.0.1:: " },
		{ { .host = "[::1]x" }, EXIT_MISUSE, "host [::1]x: " },
		{ { .host = "127.0.0.1", .bind = "192.0.2.1" }, EXIT_MISUSE, " from 192.0.2.1: " },
		{ { .host = "127.0.0.1", .bind = "nonsense" }, EXIT_MISUSE, " from nonsense: " },
		{ { .host = "127.0.0.1", .bind = "::1" }, EXIT_MISUSE, " from ::1: " },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct control_where w = rows[i].w;
		uint64_t start = now_ns();
		struct control c;
		struct error err;
		char said[512];

		w.port = s->port;
		assert_int_equal(try_connect(&c, &w, 30 * NS_PER_S, &err, said), -1);
		assert_error(&err, rows[i].code, rows[i].why);
		assert_true(now_ns() - start < 15 * NS_PER_S);
	}
}

static void test_signal(void **state)
{
	struct server *s = *state;
	struct control_where w = { .host = "127.0.0.1", .port = s->port };
	struct control c;
	struct error err;
	char said[512];

	stop_signal = SIGINT;
	assert_int_equal(try_connect(&c, &w, 30 * NS_PER_S, &err, said), -1);
	assert_error(&err, EXIT_PEER, "ended by signal 2 before a server answered");
}

/* A host that reset the connection. */
static void test_reset(void **state)
{
	struct server *s = *state;
	struct control_where w = { .host = "127.0.0.1", .port = s->port };
	struct linger now = { .l_onoff = 1, .l_linger = 0 };
	struct control c;
	struct error err;
	char said[512];
	int fd;

	assert_int_equal(listen(s->fd, 8), 0);
	assert_int_equal(try_connect(&c, &w, 10 * NS_PER_S, &err, said), 0);
	fd = accept(s->fd, NULL, NULL);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
	assert_null(control_recv(&c, "hello", deadline_in(20 * NS_PER_S), &err));
	assert_error(&err, EXIT_PEER, "lost at stage connect: Connection reset by peer");
	assert_int_equal(err.err, ECONNRESET);
	control_close(&c);
}

static void test_addr_text(void **state)
{
	static const struct {
		const char *addr, *want;
	} rows[] = {
		{ "::1", "[::1]:18515" },
		{ "::", "[::]:18515" },
		{ "2001:db8::17", "[2001:db8::17]:18515" },
		{ "::ffff:10.0.0.1", "10.0.0.1:18515" },
	};
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(7) };
	char out[CONTROL_ADDR_MAX];

	(void)state;
	inet_pton(AF_INET, "10.1.2.3", &v4.sin_addr);
	control_addr_text((struct sockaddr *)&v4, sizeof(v4), out);
	assert_string_equal(out, "10.1.2.3:7");
	control_addr_text((struct sockaddr *)&v4, 1, out);
	assert_string_equal(out, "?");
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(18515) };

		assert_int_equal(inet_pton(AF_INET6, rows[i].addr, &v6.sin6_addr), 1);
		control_addr_text((struct sockaddr *)&v6, sizeof(v6), out);
		assert_string_equal(out, rows[i].want);
	}
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(test_forms),    WITH_SERVER(test_server_later),
		WITH_SERVER(test_no_server), WITH_SERVER(test_hopeless),
		WITH_SERVER(test_signal),   WITH_SERVER(test_reset),
		cmocka_unit_test(test_addr_text),
	};

	return cmocka_run_group_tests_name("connect", tests, NULL, NULL);
}
