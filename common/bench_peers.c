/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "bench_peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct bench_peer take_out(const struct bench *b)
{
	struct bench_peer p = {
		.host = b->host,
		.control = b->control,
		.remote_ports = b->remote_ports,
		.choice = b->pair.server,
		.remote = b->remote,
		.remote_facts = b->remote_facts,
		.cpu = b->peer_cpu,
		.received = b->received,
	};

	memcpy(p.boot_id, b->peer_boot_id, sizeof(p.boot_id));
	return p;
}

static void put_in(struct bench *b, const struct bench_peer *p)
{
	b->host = p->host;
	b->control = p->control;
	b->remote_ports = p->remote_ports;
	b->pair.server = p->choice;
	b->remote = p->remote;
	b->remote_facts = p->remote_facts;
	b->peer_cpu = p->cpu;
	b->received = p->received;
	memcpy(b->peer_boot_id, p->boot_id, sizeof(p->boot_id));
}

int bench_each_peer(struct bench *b, int (*step)(struct bench *b, void *arg), void *arg)
{
	struct bench_peer first;
	int rc = step(b, arg);

	if (rc || !b->other_count)
		return rc;
	first = take_out(b);
	for (b->turn = 1; !rc && b->turn <= b->other_count; b->turn++) {
		struct bench_peer *other = &b->others[b->turn - 1];

		put_in(b, other);
		rc = step(b, arg);
		*other = take_out(b);
	}
	b->turn = 0;
	put_in(b, &first);
	return rc;
}

/* "a,b,c": a is the first peer's. */
int bench_peers_open(struct bench *b)
{
	unsigned int most = 0;
	char *rest;

	if (b->server)
		return 0;
	b->host = rest = b->hosts = strdup(b->set.host);
	for (const char *c = b->set.host; *c; c++)
		most += *c == ',';
	if (most > WAIT_OTHERS_MAX)
		return error_set(b->err, EXIT_MISUSE, 0, "%u hosts; at most %u can be named", most + 1,
				 WAIT_OTHERS_MAX + 1);
	b->others = calloc(most + 1, sizeof(*b->others));
	b->other_controls = calloc(most + 1, sizeof(*b->other_controls));
	if (!rest || !b->others || !b->other_controls)
		return error_set(b->err, EXIT_FAILED, ENOMEM, "%u hosts", most + 1);
	strsep(&rest, ",");
	for (char *host; (host = strsep(&rest, ","));) {
		struct bench_peer *p = &b->others[b->other_count];

		*p = (struct bench_peer){ .host = host, .cpu = -1 };
		control_init(&p->control);
		b->other_controls[b->other_count++] = &p->control;
		if (!*host)
			return error_set(b->err, EXIT_MISUSE, 0, "%s: a host is empty", b->set.host);
	}
	return 0;
}

void bench_peers_close(struct bench *b)
{
	for (unsigned int i = 0; i < b->other_count; i++) {
		struct bench_peer *p = &b->others[i];

		control_close(&p->control);
		candidates_free(&p->remote_ports);
		endpoint_address_free(&p->remote);
		json_decref(p->remote_facts);
	}
	free(b->others);
	free(b->other_controls);
	free(b->hosts);
}

struct report_receiver *bench_receivers(const struct bench *b, unsigned int *count)
{
	struct report_receiver *r;

	*count = 0;
	if (b->server || !bench_mcast(b) || !b->host)
		return NULL;
	r = calloc(b->other_count + 1, sizeof(*r));
	if (!r)
		return NULL;
	r[0] = (struct report_receiver){ b->host, b->received };
	for (unsigned int i = 0; i < b->other_count; i++)
		r[i + 1] = (struct report_receiver){ b->others[i].host, b->others[i].received };
	*count = b->other_count + 1;
	return r;
}
