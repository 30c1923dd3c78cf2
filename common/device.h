/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA devices: which there are, what their ports say, and the one that is used. */
#ifndef COMMON_DEVICE_H
#define COMMON_DEVICE_H

#include "candidate.h"
#include "error.h"

/* What the user narrowed; NULL or OPTION_AUTO where not. */
struct device_wish {
	const char *name;
	uint64_t port, gid_index;
	const char *sys_root; /* "" for the real /sys */
};

/* Every usable port with its open device. */
struct device_set {
	struct candidate_list list;
	struct ibv_context *contexts[CANDIDATES_MAX]; /* of list.v[i]; ports of a device share one */
};

/* What is reported about the chosen device. */
struct device_facts {
	char name[DEVICE_NAME_MAX];
	char firmware[64];
	const char *software; /* NULL, "softverbs", "rxe" or "siw" */
	int numa_node;        /* -1 when unknown */
	struct ibv_device_attr attr;
};

/*
 * Opens what fits the wish and is active. EXIT_MISUSE when the user named something that is not
 * there, EXIT_FAILED when this machine has nothing to offer; the text names cause and cure.
 */
int device_open_all(struct device_set *set, const struct device_wish *wish, struct error *err);
/* Closes every device but the one of candidate @keep (-1: all); a failure is in @err. */
void device_close_others(struct device_set *set, int keep, struct error *err);

int device_read_facts(struct ibv_context *ctx, const char *sys_root, struct device_facts *facts,
		      struct error *err);

uint16_t mtu_bytes(enum ibv_mtu mtu);
/* 0 when @bytes is no path MTU. */
enum ibv_mtu mtu_from_bytes(uint64_t bytes);

/*
 * GID table of an Ethernet port that cannot be used (empty, or all zero): true, with the reason.
 * Pure.
 */
bool device_gids_unusable(const struct candidate *c, char *why, size_t cap);

#endif
