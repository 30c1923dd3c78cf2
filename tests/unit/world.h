/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A server that listens on loopback under the driver's own judge, and a client for it. */
#ifndef TESTS_WORLD_H
#define TESTS_WORLD_H

#include <arpa/inet.h>
#include <sys/socket.h>

/* The judge is private to the driver. */
#include "../../common/bench_agree.c"
#include "deadline.h"
#include "unit.h"

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

static inline void fill_end(struct bench *b, struct error *err, struct candidate *port, int argc,
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

static inline int setup(void **state)
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

static inline int teardown(void **state)
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

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
