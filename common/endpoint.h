/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One end's verbs objects: PD, MR, CQ, QPs; their addresses; the way to RTS. Every function
 * leaves a state that endpoint_close() takes apart in reverse order.
 */
#ifndef COMMON_ENDPOINT_H
#define COMMON_ENDPOINT_H

#include <infiniband/verbs.h>
#include <jansson.h>
#include <stdbool.h>

#include "candidate.h"
#include "error.h"
#include "memory.h"

#define ENDPOINT_QPS_MAX 16384

enum post_kind { POST_SEND, POST_WR };

/* What a program wants. */
struct endpoint_wish {
	enum ibv_qp_type type;
	unsigned int qps;
	unsigned int tx_depth;  /* work requests in each send queue */
	unsigned int rx_depth;  /* receives in each receive queue, or in the SRQ; 0: none */
	bool srq;
	bool events;            /* CQs with a completion channel */
	bool stamped;           /* completions with the device's time, where answers are seen */
	bool mr_per_qp;
	bool load;              /* the last QP carries a load, on a CQ of its own */
	uint64_t inline_size;   /* bytes to ask for */
	bool inline_explicit;   /* the user asked for this size */
	uint64_t post;          /* enum post_kind, or OPTION_AUTO */
	uint64_t wr_ops;        /* IBV_QP_EX_WITH_... of the ibv_wr_* calls that are used */
	size_t send_area, recv_area; /* bytes of a QP */
	int access;             /* IBV_ACCESS_... of the memory regions */
	const struct memory_allocator *allocator;
	const struct ibv_device_attr *limits; /* of the device, or NULL: not looked at */
};

/* The CQs of a group of QPs; one group unless a CQ would be too large. */
struct endpoint_cqs {
	struct ibv_cq *send, *recv; /* the same one where nothing is received */
	struct ibv_cq_ex *stamped;  /* recv, if its completions have the device's time; or NULL */
	int unreaped;               /* sends posted and not completed, kept by the ping-pong */
};

struct endpoint {
	struct ibv_context *ctx; /* borrowed */
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel; /* of all CQs, or NULL; non-blocking */
	struct endpoint_cqs *cqs;
	unsigned int cqs_count, qps_per_cqs;
	bool load;               /* the last QP carries a load */
	uint64_t begun;          /* ns, when the first QP was about to be made */
	const char *told;        /* what a person was told that takes long, or NULL */
	struct ibv_srq *srq;
	struct buffer buffer;
	struct ibv_mr **mrs;     /* one, or one a QP */
	unsigned int mr_count;
	struct ibv_qp **qps;
	struct ibv_ah **ahs;     /* UD: one a QP */
	uint32_t *psns;
	unsigned int qp_count, ah_count;
	uint32_t qkey;           /* UD: of the path */
	uint32_t inline_asked, inline_granted;
	enum post_kind post;
	size_t send_area, recv_area; /* bytes of a QP, whole pages */
	int access;
	int in_order; /* WRITE data in order: 1 promised, 0 not promised, -1 unknown */
};

/* Addresses as exchanged. All QPs of an end share the port; their receive areas follow in steps. */
struct endpoint_address {
	uint16_t lid;
	bool has_gid;
	struct gid_entry gid;
	uint64_t vaddr;  /* of the receive area of the first QP */
	uint64_t stride; /* from there to the next QP's */
	uint32_t *qpns, *psns, *rkeys; /* malloc'ed, one a QP */
	unsigned int qp_count;
};

int endpoint_open_memory(struct endpoint *e, struct ibv_context *ctx,
			 const struct endpoint_wish *wish, struct error *err);
int endpoint_open_qps(struct endpoint *e, const struct endpoint_wish *wish, struct error *err);
/* Any half-open state is fine. The first destroy that fails is told. 0 or -1. */
int endpoint_close(struct endpoint *e, struct error *err);

/* First byte of the areas of QP @i; its memory region. */
char *endpoint_send_area(const struct endpoint *e, unsigned int i);
char *endpoint_recv_area(const struct endpoint *e, unsigned int i);
struct ibv_mr *endpoint_mr(const struct endpoint *e, unsigned int i);
struct endpoint_cqs *endpoint_cqs_of(const struct endpoint *e, unsigned int i);

int endpoint_address_fill(struct endpoint_address *a, const struct endpoint *e,
			  const struct candidate *port, const struct gid_entry *gid);
void endpoint_address_free(struct endpoint_address *a);
json_t *endpoint_address_to_json(const struct endpoint_address *a);
/* 0, -EINVAL, -ENOMEM. @qps: how many are due. */
int endpoint_address_from_json(json_t *v, unsigned int qps, struct endpoint_address *a);
/* "LID 0x000b, QPN 0x320406, PSN 0xeb1f3e, RKey 0x01f60032, VAddr 0x6000000000014001[, GID ...]" */
void endpoint_address_text(const struct endpoint_address *a, unsigned int qp, char *out,
			   size_t cap);

#endif
