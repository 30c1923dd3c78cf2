/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The objects that programs hold; each starts with its public part. */
#ifndef SOFTVERBS_OBJ_H
#define SOFTVERBS_OBJ_H

#include <infiniband/verbs.h>

#include "dev.h"
#include "mem.h"

#define SV_OBJECTS 65536	/* QPs, CQs, SRQs of a process, each */

struct sv_ctx {
	struct verbs_context v;
	struct sv_dev *dev;
	struct sv_ctx_sh *sh;
	uint64_t off;
	int async_w, refs;
	struct sv_lock lock;
};

struct sv_pd {
	struct ibv_pd ibv;
	struct sv_pd *parent;		/* of a parent domain */
	uint32_t id;
	int refs;
};

struct sv_mr {
	struct ibv_mr ibv;
	struct sv_mr_sh *sh;
};

struct sv_chan {
	struct ibv_comp_channel ibv;
	int wfd;
	uint32_t gen;
	struct sv_lock lock;
};

struct sv_ah {
	struct ibv_ah ibv;
	struct ibv_ah_attr attr;
};

struct sv_srq {
	struct ibv_srq ibv;
	struct sv_srq_sh *sh;
	uint64_t off;
	uint32_t max_sge, events;	/* async events handed out */
	int refs;
	struct sv_lock lock;
};

static inline bool sv_ours(const struct ibv_context *c)
{
	return sv_ndevs && sv_ours_dev(c->device);
}

static inline struct sv_ctx *sv_ctx(struct ibv_context *c)
{
	return (struct sv_ctx *)(void *)((uint8_t *)c - offsetof(struct verbs_context, context));
}

static inline struct sv_pd *sv_pd(struct ibv_pd *pd)
{
	return (struct sv_pd *)pd;
}

/*
 * Guards the tables of QPs, CQs and SRQs: an event is handed out, or its object is gone from the
 * table, so that destroying waits for every event that was handed out.
 */
extern struct sv_lock sv_tables;

#endif
