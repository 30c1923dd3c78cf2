/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Strangers on a server's port, judged by the driver's own function: each is logged in one line
 * and dropped, and the real client gets through. Loopback.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* The judge is private to the driver. */
#include "../../common/bench_agree.c"
#include "deadline.h"

static const struct bench_program program = {
	.options = { .name = "rdma_lat", .mask = FOR_PAIR | FOR_LAT | FOR_CLOCK,
		     .argument = "HOST" },
};

struct world {
	struct listener l;
	struct bench server, client;
	struct error err, client_err;
	struct candidate ports[2];
	struct control peer; /* what the server accepted */
	struct capture cap;
	char said[65536];
};

static void fill_end(struct bench *b, struct error *err, struct candidate *port, int argc,
		     char **argv)
{
	error_init(err, "rdma_lat");
	b->program = &program;
	b->err = err;
	b->deadline = DEADLINE_NEVER;
	b->peer_cpu = -1;
	b->cpu.cpu = -1;
	if (options_parse(&program.options, argc, argv, &b->set, err))
		fail_msg("%s", err->text);
	*port = (struct candidate){ .device = "rxe0", .port = 1, .link = LINK_ETHERNET, .mtu = 1024,
				    .gid_count = 1, .pkeys = { 0xffff }, .pkey_count = 1 };
	port->gids[0] = (struct gid_entry){ .type = GID_TYPE_ROCE_V2 };
	gid_parse("::ffff:10.77.0.1", &port->gids[0].gid);
	b->devices.list = (struct candidate_list){ port, 1 };
	control_init(&b->control);
}

static int setup(void **state)
{
	char *client[] = { (char *)(uintptr_t)"x", (char *)(uintptr_t)"host", NULL };
	char *server[] = { (char *)(uintptr_t)"x", (char *)(uintptr_t)"-t", (char *)(uintptr_t)"7",
			   NULL };
	struct control_where where = { .bind = "127.0.0.1" };
	struct world *w = calloc(1, sizeof(*w));

	fill_end(&w->client, &w->client_err, &w->ports[0], 2, client);
	fill_end(&w->server, &w->err, &w->ports[1], 3, server);
	w->server.server = true;
	w->client.set.tx_depth = 7; /* agrees with the server */
	w->client.remote_ports = w->server.devices.list;
	listener_init(&w->l);
	control_init(&w->peer);
	stop_signal = 0;
	capture_begin(&w->cap);
	assert_int_equal(listener_open(&w->l, &where, &w->err), 0);
	capture_end(&w->cap, w->said, sizeof(w->said));
	assert_int_equal(strncmp(w->said, "rdma_lat: listening on 127.0.0.1:", 33), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	listener_close(&w->l);
	listener_close(&w->l);
	control_close(&w->peer);
	candidates_free(&w->server.remote_ports);
	stop_signal = 0;
	free(w);
	return 0;
}

static int connect_to(struct world *w)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(getsockname(w->l.fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, len), 0);
	return fd;
}

static int stranger(struct world *w, const void *bytes, size_t len)
{
	int fd = connect_to(w);

	assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
	return fd;
}

static void send_message(int fd, json_t *m)
{
	size_t len;
	uint8_t *f = frame_build(m, &len);

	assert_int_equal(send(fd, f, len, MSG_NOSIGNAL), len);
	free(f);
	json_decref(m);
}

/* Sends its plan without waiting for the hello, which is not due before. */
static int real_client(struct world *w)
{
	int fd = connect_to(w);

	send_message(fd, hello(&w->client));
	send_message(fd, plan_message(&w->client));
	return fd;
}

/* The server at work for @ms, or until it has its peer. */
static int serve_for(struct world *w, unsigned int ms)
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
static json_t *next_message(int fd, struct control *c)
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

static void expect_accepted(int fd)
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

/* One stranger, then the client: a line on stderr, and the client is served. */
static void outlive(void **state, const void *bytes, size_t len, const char *why)
{
	struct world *w;
	int fd, client;

	teardown(state);
	setup(state);
	w = *state;
	fd = stranger(w, bytes, len);
	assert_int_equal(serve_for(w, 50), -1);
	assert_error(&w->err, EXIT_TIMED_OUT, "no client came within --timeout");
	assert_contains(w->said, why);
	assert_contains(w->said, "rdma_lat: dropped 127.0.0.1:");
	assert_int_equal(count_lines(w->said), 1);
	assert_int_equal(w->l.stranger_count, 0);
	client = real_client(w);
	assert_int_equal(serve_for(w, 20000), 0);
	assert_string_equal(w->said, "");
	expect_accepted(client);
	close(fd);
}

static void test_garbage(void **state)
{
	static const char http[] = "GET / HTTP/1.0\r\nHost: \033[31m\r\n\r\n";
	uint8_t noise[4096];
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
	outlive(state, noise, sizeof(noise), "no frame of this protocol");
	outlive(state, http, sizeof(http) - 1, "no frame of this protocol");
	outlive(state, "VPF1\xff\xff\xff\xffxxxx", 12, "a frame that is too long");
	outlive(state, "VPF1\0\1\0\1", 8, "a frame that is too long");
	outlive(state, "VPF1\0\0\0\2[]", 10, "a frame without a JSON object");
	outlive(state, "VPF1\0\0\0\2{}", 10, "a frame without a type");
	outlive(state, "VPF1\0\0\0\x0f{\"type\":\"plan\"}", 23, "sent no hello first");
}

static void outlive_message(void **state, json_t *m, const char *why)
{
	size_t len;
	uint8_t *f = frame_build(m, &len);

	outlive(state, f, len, why);
	free(f);
	json_decref(m);
}

/* The hello of the client in *state, with one key changed (NULL: gone). */
static json_t *changed_hello(void **state, const char *key, json_t *v)
{
	json_t *m = hello(&((struct world *)*state)->client);

	if (v)
		json_object_set_new(m, key, v);
	else
		json_object_del(m, key);
	return m;
}

static void test_hello(void **state)
{
	outlive_message(state, changed_hello(state, "protocol", json_integer(PROTOCOL + 1)),
			"protocol 1 (release " VERBSPERF_VERSION ") on the server and 2 (release "
			VERBSPERF_VERSION ") on the client");
	outlive_message(state, changed_hello(state, "protocol", json_integer(1ll << 40)),
			"and 1099511627776 (");
	outlive_message(state, changed_hello(state, "protocol", json_string("1")),
			"a hello without protocol");
	outlive_message(state, changed_hello(state, "protocol", json_real(1.0)),
			"a hello without protocol");
	outlive_message(state, changed_hello(state, "release", NULL), "a hello without protocol");
	outlive_message(state, changed_hello(state, "program", json_string("send_\033[1m")),
			"the server runs rdma_lat, the client send_?[1m");
}

/* A client of tomorrow is told both numbers. */
static void test_protocol_told(void **state)
{
	struct world *w = *state;
	int fd = connect_to(w);
	char got[1024] = "";

	send_message(fd, changed_hello(state, "protocol", json_integer(7)));
	assert_int_equal(serve_for(w, 50), -1);
	assert_true(recv(fd, got, sizeof(got) - 1, 0) > FRAME_HEADER);
	assert_contains(got + FRAME_HEADER, "\"code\":2");
	assert_contains(got + FRAME_HEADER, "protocol 1 (");
	assert_contains(got + FRAME_HEADER, "and 7 (");
	close(fd);
}

/* A plan that makes no sense is a stranger's; one that differs is a client's and ends the server. */
static void test_plans(void **state)
{
	struct world *w = *state;
	json_t *m;
	int fd = connect_to(w);

	send_message(fd, hello(&w->client));
	m = plan_message(&w->client);
	json_object_set_new(json_object_get(m, "options"), "sl", json_integer(99));
	send_message(fd, m);
	assert_int_equal(serve_for(w, 50), -1);
	assert_contains(w->said, "a plan with a bad value for sl");
	close(fd);

	fd = connect_to(w);
	send_message(fd, hello(&w->client));
	m = plan_message(&w->client);
	json_object_set_new(json_object_get(m, "client"), "device", json_string("mlx5_9"));
	send_message(fd, m);
	assert_int_equal(serve_for(w, 50), -1);
	assert_contains(w->said, "a plan for devices that are not there");
	close(fd);
	assert_int_equal(w->server.set.tx_depth, 7);

	w->client.set.tx_depth = 8;
	fd = real_client(w);
	assert_int_equal(serve_for(w, 20000), -1);
	assert_error(&w->err, EXIT_MISUSE, "the options differ: tx-depth: client 8, server 7");
	close(fd);
}

/* Half a frame, then silence: after 5 s (made to have passed here) it goes, not before. */
static void test_silence(void **state)
{
	struct world *w = *state;
	int half = stranger(w, "VPF1\0\0\0\x20{\"ty", 12), mute = connect_to(w), client;
	uint64_t now = now_ns();

	assert_int_equal(serve_for(w, 50), -1);
	assert_int_equal(w->l.stranger_count, 2);
	assert_string_equal(w->said, "");
	for (int i = 0; i < 2; i++) {
		uint64_t left = w->l.strangers[i].deadline - now;

		assert_true(left >= 4 * NS_PER_S && left <= 35 * NS_PER_S);
		w->l.strangers[i].deadline = now - 1;
	}
	assert_int_equal(serve_for(w, 50), -1);
	assert_int_equal(w->l.stranger_count, 0);
	assert_int_equal(count_lines(w->said), 2);
	assert_contains(w->said, "nothing that makes sense within 5 s");
	client = real_client(w);
	assert_int_equal(serve_for(w, 20000), 0);
	expect_accepted(client);
	close(half);
	close(mute);
}

static void test_gone(void **state)
{
	struct world *w = *state;

	close(connect_to(w));
	close(stranger(w, "VPF", 3));
	assert_int_equal(serve_for(w, 50), -1);
	assert_int_equal(w->l.stranger_count, 0);
	assert_int_equal(count_lines(w->said), 2);
	assert_contains(w->said, "it closed the connection");
}

/* Resident memory of this process in KiB. */
static long resident(void)
{
	long pages = 0, ignored;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%ld %ld", &ignored, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

#define CROWD 200

/* Silent, half, garbled and huge ones in turn. */
static void crowd(struct world *w, int *fds)
{
	static const struct {
		const char *bytes;
		size_t len;
	} kinds[] = { { "", 0 }, { "VPF1\0\0\xff\xff{", 9 }, { "SSH-2.0-x\r\n", 11 },
		      { "VPF1\xff\xff\xff\xff", 8 } };

	for (int i = 0; i < CROWD; i++)
		fds[i] = stranger(w, kinds[i % 4].bytes, kinds[i % 4].len);
}

static void test_crowd(void **state)
{
	struct world *w = *state;
	long before = 0, after;
	int fds[CROWD], client;

	for (int round = 0; round < 6; round++) {
		uint64_t start = now_ns();

		crowd(w, fds);
		client = real_client(w);
		assert_int_equal(serve_for(w, 60000), 0);
		assert_true(now_ns() - start < 30 * NS_PER_S);
		expect_accepted(client);
		assert_int_equal(w->l.stranger_count, 0);
		assert_int_equal(count_lines(w->said), CROWD);
		for (int i = 0; i < CROWD; i++)
			close(fds[i]);
		control_close(&w->peer);
		after = resident();
		if (round == 1)
			before = after;
	}
#ifndef __SANITIZE_ADDRESS__
	assert_true(after - before < 4096);
#else
	(void)before;
#endif
}

/* More silent ones than are kept: the oldest makes room. */
static void test_more_than_kept(void **state)
{
	struct world *w = *state;
	int fds[STRANGERS_MAX + 20], client, n = 0;

	while (n < STRANGERS_MAX + 20) {
		for (int i = 0; i < 46; i++)
			fds[n++] = connect_to(w);
		assert_int_equal(serve_for(w, 10), -1);
	}
	assert_int_equal(w->l.stranger_count, STRANGERS_MAX);
	client = real_client(w);
	assert_int_equal(serve_for(w, 20000), 0);
	expect_accepted(client);
	while (n)
		close(fds[--n]);
}

/* Whoever waited while another was taken hears why it has to go. */
static void test_others_told(void **state)
{
	struct world *w = *state;
	int mute = connect_to(w), client;
	char got[512] = "";

	assert_int_equal(serve_for(w, 20), -1);
	client = real_client(w);
	assert_int_equal(serve_for(w, 20000), 0);
	expect_accepted(client);
	assert_true(recv(mute, got, sizeof(got) - 1, 0) > FRAME_HEADER);
	assert_contains(got + FRAME_HEADER, "the server is busy with another client");
	assert_int_equal(recv(mute, got, 1, 0), 0);
	close(mute);
}

static void test_signal(void **state)
{
	struct world *w = *state;

	stop_signal = SIGTERM;
	assert_int_equal(serve_for(w, 20000), -1);
	assert_error(&w->err, EXIT_PEER, "ended by signal 15 while listening");
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(test_garbage),    WITH_WORLD(test_hello),
		WITH_WORLD(test_protocol_told), WITH_WORLD(test_plans),
		WITH_WORLD(test_silence),    WITH_WORLD(test_gone),
		WITH_WORLD(test_crowd),	     WITH_WORLD(test_more_than_kept),
		WITH_WORLD(test_others_told), WITH_WORLD(test_signal),
	};

	return cmocka_run_group_tests_name("listen", tests, NULL, NULL);
}
