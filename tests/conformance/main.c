/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* conform [-d DEV] [-i PORT] [-g GID_INDEX] [--only SUBJECT] [--peer-dev DEV] [--list]: TAP. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"
#include "peer.h"

enum { PASSED, FAILED, MISUSE, SKIPPED = 77 };
enum { LIMIT_SECONDS = 240 };

static const struct subject {
	const char *name;
	void (*run)(struct conf *c);
} subjects[] = {
#define SUBJECT_ROW(name) { #name, run_##name },
	SUBJECTS(SUBJECT_ROW) { NULL, NULL },
};

static const char usage[] =
	"usage: conform [-d DEV] [-i PORT] [-g GID_INDEX] [--only SUBJECT] [--peer-dev DEV]\n"
	"Checks a verbs device against the specification; TAP on stdout.\n"
	"  -d DEV         the device; default: the first\n"
	"  -i PORT        its port; default: 1\n"
	"  -g GID_INDEX   address by this GID; default: LID, on RoCE the first routable GID\n"
	"  --only SUBJECT one subject of --list\n"
	"  --peer-dev DEV the device of the second process, in the subject process\n"
	"Exit status: 0 all passed, 1 a check failed, 2 misuse, 77 no device.\n";

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i] && !ctx; i++)
		if (!name || !strcmp(name, ibv_get_device_name(list[i])))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

static const char *kind_of(struct conf *c)
{
	const char *name = ibv_get_device_name(c->ctx->device);

	if (strstr(c->dev.fw_ver, "softverbs"))
		return "softverbs";
	if (!strncmp(name, "rxe", 3))
		return "rxe";
	return !strncmp(name, "siw", 3) ? "siw" : "hardware";
}

/* A link-local GID works inside one device, but the IPv4 one is what people use. */
static int default_gid(struct conf *c)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	union ibv_gid gid;

	for (int i = 0; i < c->port.gid_tbl_len && i < 16; i++)
		if (!ibv_query_gid(c->ctx, c->port_num, i, &gid) && !memcmp(gid.raw, mapped, 12))
			return i;
	return 0;
}

static int open_port(struct conf *c, const char *name)
{
	c->ctx = open_named(name);
	if (!c->ctx) {
		printf("1..0 # SKIP no device %s\n", name ? name : "");
		return SKIPPED;
	}
	c->pd = ibv_alloc_pd(c->ctx);
	if (!c->pd || ibv_query_device(c->ctx, &c->dev) ||
	    ibv_query_port(c->ctx, c->port_num, &c->port)) {
		printf("Bail out! cannot ask the device: %s\n", strerror(errno));
		return FAILED;
	}
	c->kind = kind_of(c);
	if (c->port.state != IBV_PORT_ACTIVE) {
		printf("1..0 # SKIP port %d is not active\n", c->port_num);
		return SKIPPED;
	}
	c->grh = c->gid_index >= 0 || c->port.link_layer == IBV_LINK_LAYER_ETHERNET ||
		 c->port.flags & IBV_QPF_GRH_REQUIRED;
	if (c->gid_index < 0)
		c->gid_index = c->grh ? default_gid(c) : 0;
	if (ibv_query_gid(c->ctx, c->port_num, c->gid_index, &c->gid) && c->grh) {
		printf("Bail out! no GID with index %d\n", c->gid_index);
		return FAILED;
	}
	return PASSED;
}

static int run(struct conf *c, const char *only)
{
	int ran = 0;

	printf("# device %s (%s), port %d, link %s, GID index %d %s\n",
	       ibv_get_device_name(c->ctx->device), c->kind, c->port_num,
	       c->port.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand",
	       c->gid_index, c->grh ? "(used)" : "(not used)");
	for (const struct subject *s = subjects; s->name; s++) {
		if (only && strcmp(only, s->name))
			continue;
		ran++;
		c->subject = s->name;
		s->run(c);
	}
	if (!ran) {
		fprintf(stderr, "conform: no subject %s; --list shows them\n", only);
		return MISUSE;
	}
	printf("1..%d\n# %d passed, %d failed, %d differ, %d skipped\n", c->n,
	       c->n - c->failed - c->differs - c->skipped, c->failed, c->differs, c->skipped);
	return c->failed ? FAILED : PASSED;
}

static int list(void)
{
	for (const struct subject *s = subjects; s->name; s++)
		puts(s->name);
	return PASSED;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "only", required_argument, NULL, 'o' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ "peer", required_argument, NULL, 'P' },
		{ "peer-dev", required_argument, NULL, 'D' },
		{ NULL, 0, NULL, 0 },
	};
	struct conf c = { .port_num = 1, .gid_index = -1 };
	const char *device = NULL, *only = NULL;
	int o, rc, peer = -1;

	while ((o = getopt_long(argc, argv, "d:i:g:h", options, NULL)) != -1) {
		if (o == 'd')
			device = optarg;
		else if (o == 'i')
			c.port_num = (uint8_t)atoi(optarg);
		else if (o == 'g')
			c.gid_index = atoi(optarg);
		else if (o == 'D')
			c.peer_dev = optarg;
		else if (o == 'o')
			only = optarg;
		else if (o == 'P')	/* not for people: the other process of process.c */
			peer = atoi(optarg);
		else if (o == 'l')
			return list();
		else
			return fputs(usage, o == 'h' ? stdout : stderr), o == 'h' ? PASSED : MISUSE;
	}
	/* Waits are bounded each; this bounds a call that never returns. */
	alarm(LIMIT_SECONDS);
	rc = open_port(&c, device);
	if (rc == PASSED)
		rc = peer >= 0 ? peer_serve(&c, peer) : run(&c, only);
	if (c.pd && ibv_dealloc_pd(c.pd))
		note("at the end ibv_dealloc_pd says %s: a subject left something open",
		     strerror(errno));
	if (c.ctx)
		ibv_close_device(c.ctx);
	return rc;
}
