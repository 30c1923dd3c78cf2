/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef SOFTVERBS_CQ_H
#define SOFTVERBS_CQ_H

#include "obj.h"

struct sv_cq {
	struct ibv_cq_ex ex;
	struct sv_cq_sh *sh;
	uint64_t off;
	struct sv_cqe *ring;		/* and mask, cons: under lock, the pollers' own */
	uint32_t mask, cons;
	struct sv_lock lock;
	uint32_t empty;			/* polls in a row that found nothing */
	int refs;
	uint32_t comp_events, async_events;	/* handed out */
	struct sv_cqe cur;		/* of start_poll, next_poll */
	uint64_t wc_flags;
};

static inline struct sv_cq *sv_cq(struct ibv_cq *cq)
{
	return (struct sv_cq *)(void *)cq;
}

extern struct sv_cq *sv_cqs[SV_OBJECTS];

/*
 * The next place in the CQ of that process, zeroed, the producers' lock held until sv_cq_end. NULL:
 * overrun, and the CQ is now in error. Filled in place: a CQE put together elsewhere would be
 * loaded in words that were just stored in pieces, which stalls.
 */
struct sv_cqe *sv_cq_begin(struct sv_peer *p, struct sv_cq_sh *cq);
/* Shows it to the poller, and wakes who waits. */
void sv_cq_end(struct sv_peer *p, struct sv_cq_sh *cq, struct sv_cqe *e);
/* Touches what the next completion will write; nothing changes. */
void sv_cq_warm(struct sv_peer *p, struct sv_cq_sh *cq);
/* Removes what this QP left; its SQ and RQ are empty then. */
void sv_cq_purge(struct sv_cq *cq, uint32_t qpn);
int sv_cq_poll(struct sv_cq *cq, int n, struct ibv_wc *wc);
void sv_cq_move(struct sv_cq *cq, uint64_t ring, uint32_t mask);

int sv_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int sv_req_notify_cq(struct ibv_cq *cq, int solicited);
struct ibv_cq_ex *sv_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *attr);
void sv_cq_ex_ops(struct sv_cq *cq);
/* The next completion, or false; frees the WQE it stands for. Callers hold cq->lock. */
bool sv_cq_take(struct sv_cq *cq, struct sv_cqe *e);
void sv_cq_idle(struct sv_cq *cq);

struct ibv_cq *sv_create_cq(struct ibv_context *c, int cqe, void *cq_context,
			    struct ibv_comp_channel *ch, int vector);
int sv_resize_cq(struct ibv_cq *cq, int cqe);
int sv_destroy_cq(struct ibv_cq *cq);

/* channel.c */
struct ibv_comp_channel *sv_create_comp_channel(struct ibv_context *c);
int sv_destroy_comp_channel(struct ibv_comp_channel *ch);
int sv_get_cq_event(struct ibv_comp_channel *ch, struct ibv_cq **cq, void **cq_context);
void sv_ack_cq_events(struct ibv_cq *cq, unsigned int n);
void sv_chan_drop(struct sv_cq *cq);

#endif
