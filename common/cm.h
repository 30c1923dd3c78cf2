/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The QPs' way to each other by rdma_cm: which device an address belongs to, what the subnet says
 * of the path, and the connections. The QPs are the endpoint's own and get the same attributes as
 * without rdma_cm; rdma_cm gives the LIDs and GIDs and holds the connections. Every wait has a
 * deadline, and ends with a signal or with the control connection.
 */
#ifndef COMMON_CM_H
#define COMMON_CM_H

#include <rdma/rdma_cma.h>

#include "candidate.h"
#include "control.h"
#include "endpoint.h"

#define CM_TOKEN 16

/* Where the client's requests go; the token tells them from a stranger's. */
struct cm_offer {
	uint16_t port;
	uint8_t token[CM_TOKEN];
};

struct cm {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener; /* of the server */
	struct rdma_cm_id **ids;     /* by QP; NULL where none is there yet */
	unsigned int id_count, up, down; /* connections in all, established, disconnected */
	struct cm_offer offer;
	bool ud;
	bool peer_is_done;           /* the peer's end of all connections is up */
};

/* What a wait looks at beside rdma_cm's events. */
struct cm_watch {
	struct control *control; /* or NULL */
	uint64_t deadline;
};

/* The addresses of the two ends, as IPv4 or IPv6. */
struct cm_addresses {
	struct sockaddr_storage local, peer;
	char local_text[CONTROL_ADDR_MAX], peer_text[CONTROL_ADDR_MAX]; /* without port */
	char hint[256];                     /* what to use where these are of no use, or "" */
};

/* A path record: of the subnet's manager, or made up by the kernel (RoCE). Host byte order. */
struct cm_record {
	uint8_t sl;
	uint16_t mtu; /* bytes */
	uint16_t slid, dlid, pkey;
};

/* What an address resolves to. */
struct cm_route {
	char device[DEVICE_NAME_MAX];
	uint8_t port;
	union ibv_gid sgid, dgid;
	struct cm_record record;
};

/* What cm_connect() is to do. */
struct cm_job {
	struct endpoint *endpoint;
	const struct endpoint_path *path;
	const struct endpoint_address *remote;
	const struct cm_addresses *addresses;
	bool server;
	bool gid_fixed; /* the user named the GID index */
	uint64_t idle_ns; /* how long nothing may come; all of it takes longer with more QPs */
};

/* EXIT_MISUSE where there is no rdma_cm. */
int cm_open(struct cm *cm, bool ud, struct error *err);
/* Any half-open state is fine. */
void cm_close(struct cm *cm);

/* Of the control connection, but for the hint; EXIT_MISUSE when it goes over the loopback. */
int cm_addresses(struct cm_addresses *a, int fd, struct error *err);

/* Client: what the two addresses resolve to. EXIT_MISUSE when they are on no RDMA device. */
int cm_resolve(struct cm *cm, const struct cm_addresses *a, const struct cm_watch *w,
	       struct cm_route *route, struct error *err);

/* Server: listens on the local address for @qps requests; fills cm->offer. */
int cm_listen(struct cm *cm, const struct cm_addresses *a, unsigned int qps, struct error *err);
/* Device and port that the listener's address belongs to. */
const char *cm_listens_on(const struct cm *cm, uint8_t *port);

/* All QPs to RTS and connected, on both ends: then each knows it of the other. */
int cm_connect(struct cm *cm, const struct cm_job *job, const struct cm_watch *w,
	       struct error *err);
/* After a good run: the client disconnects, the server waits for it; a second at most. */
void cm_disconnect(struct cm *cm, bool server);

json_t *cm_offer_to_json(const struct cm_offer *o);
int cm_offer_from_json(json_t *v, struct cm_offer *o);   /* 0 or -EINVAL */
json_t *cm_record_to_json(const struct cm_record *r);
int cm_record_from_json(json_t *v, struct cm_record *r); /* 0 or -EINVAL */

#endif
