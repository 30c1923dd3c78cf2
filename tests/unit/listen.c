/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Strangers on a server's port: each is logged in one line and dropped, and the real client gets
 * through.
 */
#include "strangers.h"

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

/* A plan that makes no sense is a stranger's; one that differs ends the server too. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(test_garbage),
		WITH_WORLD(test_hello),
		WITH_WORLD(test_protocol_told),
		WITH_WORLD(test_plans),
	};

	return cmocka_run_group_tests_name("listen", tests, NULL, NULL);
}
