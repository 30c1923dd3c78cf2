/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What each end could use, as sent in hello, and the one function that picks a pair from both
 * ends' lists. Pure but for JSON.
 */
#ifndef COMMON_CANDIDATE_H
#define COMMON_CANDIDATE_H

#include <jansson.h>

#include "gid.h"

#define CANDIDATE_GIDS_MAX 64
#define CANDIDATE_PKEYS_MAX 128
#define CANDIDATES_MAX 32
#define DEVICE_NAME_MAX 64

enum candidate_link { LINK_IB, LINK_ETHERNET, LINK_IWARP }; /* Ethernet: RoCE */

/* One port of one device. */
struct candidate {
	char device[DEVICE_NAME_MAX];
	uint8_t port;
	enum candidate_link link;
	uint16_t lid;
	uint8_t lmc;
	uint16_t mtu;        /* active, bytes */
	bool grh;            /* a GRH is needed: port flag, or a GID was asked for */
	uint64_t prefix;     /* InfiniBand: subnet prefix of GID 0 */
	int max_dest_rd_atomic, max_rd_atomic; /* as responder, as initiator, of a QP */
	struct gid_entry gids[CANDIDATE_GIDS_MAX];
	int gid_count;
	uint16_t pkeys[CANDIDATE_PKEYS_MAX]; /* by index; 0 is an empty place */
	int pkey_count;
};

struct candidate_list {
	struct candidate *v; /* malloc'ed */
	int count;
};

/* One end's part of the pair. */
struct candidate_choice {
	int candidate;  /* index in the list */
	int gid;        /* index in candidate.gids, -1: no GRH */
	int pkey_index; /* index in the port's P_Key table */
};

struct candidate_pair {
	struct candidate_choice client, server;
	bool routed; /* RoCE v2 between two subnets */
};

const char *candidate_link_name(enum candidate_link link);

void candidates_free(struct candidate_list *l);

/*
 * Picks the pair: same link layer; InfiniBand: same subnet prefix, both LIDs there; RoCE: the best
 * pair of GIDs; iWARP: never, see candidate_pick_route(). P_Keys: @pkey by its low 15 bits, or any if
 * it is OPTION_AUTO; at least one of the two a full member. Among equals the earlier ones. 0, or
 * -ENOENT with the reason in @why.
 */
int candidate_pick(const struct candidate_list *client, const struct candidate_list *server,
		   uint64_t pkey, struct candidate_pair *pair, char *why, size_t cap);

/* What rdma_cm finds between two addresses. */
struct candidate_route {
	const char *device; /* the client's */
	uint8_t port;
	union ibv_gid sgid, dgid;
	uint16_t pkey;
	const char *from, *to; /* the addresses, for messages */
};

/*
 * The pair that @r leads to; @pkey, if any, has to be the route's. iWARP has no P_Keys, and its GIDs
 * are MAC addresses, which a router hides: any iWARP port of the server then. 0, or -ENOENT with the
 * reason.
 */
int candidate_pick_route(const struct candidate_list *client, const struct candidate_list *server,
			 const struct candidate_route *r, uint64_t pkey,
			 struct candidate_pair *pair, char *why, size_t cap);

/* IP addresses that lead to RoCE ports: "10.0.0.1 (mlx5_0), ...", or "". */
void candidates_addresses(const struct candidate_list *l, char *out, size_t cap);

/* A pair that the other end picked: 0 when the two can talk; sets pair->routed. -EINVAL. */
int candidate_check(const struct candidate_list *client, const struct candidate_list *server,
		    struct candidate_pair *pair);

/* Indexes of two P_Keys that may talk, or -1. */
int candidate_match_pkeys(const struct candidate *a, const struct candidate *b, uint64_t pkey,
			  int *index_a, int *index_b);

json_t *candidates_to_json(const struct candidate_list *l);
/* Checks all of it: 0, -EINVAL, -ENOMEM. */
int candidates_from_json(json_t *a, struct candidate_list *l);

json_t *candidate_choice_to_json(const struct candidate_list *l, const struct candidate_choice *c);
/* Finds the choice in our own list: 0 or -EINVAL. */
int candidate_choice_from_json(json_t *v, const struct candidate_list *l,
			       struct candidate_choice *c);

#endif
