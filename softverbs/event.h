/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Async events: messages in a pipe whose read end is the context's async_fd. */
#ifndef SOFTVERBS_EVENT_H
#define SOFTVERBS_EVENT_H

#include "obj.h"

enum sv_element { SV_OF_PORT, SV_OF_QP, SV_OF_CQ, SV_OF_SRQ };

struct sv_event {
	uint32_t type;			/* enum ibv_event_type */
	uint32_t of;			/* enum sv_element */
	uint32_t id;			/* port, or index of the object */
	uint32_t gen;			/* of the object: QPN, generation */
};

/* ctx: offset of the sv_ctx_sh in the arena of p. */
void sv_event_raise(struct sv_peer *p, uint64_t ctx, enum ibv_event_type type, enum sv_element of,
		    uint32_t id, uint32_t gen);
int sv_get_async_event(struct ibv_context *c, struct ibv_async_event *event);
void sv_ack_async_event(struct ibv_async_event *event);
/* Takes events of a destroyed object back out of the pipe, and waits until the rest is acked. */
void sv_event_drop(struct sv_ctx *c, enum sv_element of, uint32_t id, uint32_t gen);

#endif
