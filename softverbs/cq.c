/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Life of a CQ, its arming, and the extended form with its readers. */
#include "cq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "fault.h"
#include "work.h"

struct sv_cq *sv_cqs[SV_OBJECTS];
static uint32_t generation, next_idx;

int sv_poll_cq(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	if (sv_fail_ctx(ibcq->context, SPEC_CALL_poll_cq))
		return -1;
	return sv_cq_poll(sv_cq(ibcq), n, wc);
}

/* Under the producers' lock: a completion comes before, and is polled, or after, and wakes. */
int sv_req_notify_cq(struct ibv_cq *ibcq, int solicited)
{
	struct sv_cq_sh *sh = sv_cq(ibcq)->sh;
	uint32_t want = solicited ? SV_ARMED_SOLICITED : SV_ARMED;
	int ret = sv_fail_ctx(ibcq->context, SPEC_CALL_req_notify_cq);

	if (ret)
		return ret;
	sv_work_precise();
	sv_lock(&sh->lock);
	if (sh->armed < want)	/* both asked for: the wider one stands */
		sh->armed = want;
	sv_unlock(&sh->lock);
	return 0;
}

static int cq_enter(struct sv_cq *cq)
{
	int ret = ENOMEM;

	sv_lock(&sv_tables);
	for (uint32_t n = 0; n < SV_OBJECTS; n++) {
		uint32_t i = next_idx++ % SV_OBJECTS;

		if (sv_cqs[i])
			continue;
		cq->sh->idx = i;
		cq->sh->gen = ++generation;
		sv_cqs[i] = cq;
		ret = 0;
		break;
	}
	sv_unlock(&sv_tables);
	return ret;
}

static uint32_t ring_size(uint32_t cqe)
{
	uint32_t n = 1;

	while (n < cqe)
		n *= 2;
	return n;
}

static int cq_alloc(struct sv_cq *cq, uint32_t cqe)
{
	uint32_t n = ring_size(cqe);
	uint64_t ring = sv_arena_alloc((uint64_t)n * sizeof(struct sv_cqe));

	cq->off = sv_object_alloc(SV_KIND_CQ, sizeof(*cq->sh));
	if (!ring || !cq->off)
		return ENOMEM;
	cq->sh = sv_at(sv_self, cq->off);
	memset((uint8_t *)cq->sh + sizeof(cq->sh->lock), 0, sizeof(*cq->sh) - sizeof(cq->sh->lock));
	cq->sh->cap = cqe;
	cq->sh->ring = ring;
	cq->sh->mask = cq->mask = n - 1;
	cq->sh->chan_fd = cq->sh->cpu = -1;
	cq->ring = sv_at(sv_self, ring);
	/* A reused object starts at 0 again; stale sequence numbers must not fit. */
	for (uint32_t i = 0; i < n; i++)
		cq->ring[i].seq = i - cq->mask;
	return cq_enter(cq);
}

static void cq_leave(struct sv_cq *cq)
{
	sv_lock(&sv_tables);
	if (sv_cqs[cq->sh->idx] == cq)
		sv_cqs[cq->sh->idx] = NULL;
	sv_unlock(&sv_tables);
}

static void cq_free(struct sv_cq *cq)
{
	if (cq->sh) {
		cq_leave(cq);
		sv_arena_free(cq->sh->ring, ((uint64_t)cq->mask + 1) * sizeof(struct sv_cqe));
	}
	if (cq->off)
		sv_object_free(SV_KIND_CQ, cq->off);
	free(cq);
}

static struct sv_cq *cq_make(struct ibv_context *c, uint32_t cqe, void *cq_context,
			     struct ibv_comp_channel *ch, uint32_t vector)
{
	struct sv_cq *cq;
	int ret = EINVAL;

	if (!cqe || cqe > sv_ctx(c)->dev->spec->max_cqe ||
	    vector >= (uint32_t)c->num_comp_vectors) {
		errno = EINVAL;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	ret = cq ? cq_alloc(cq, cqe) : ENOMEM;
	if (ret) {
		if (cq)
			cq_free(cq);
		errno = ret;
		return NULL;
	}
	cq->ex.context = c;
	cq->ex.channel = ch;
	cq->ex.cq_context = cq_context;
	cq->ex.cqe = (int)cqe;
	cq->ex.handle = cq->sh->idx;
	pthread_mutex_init(&cq->ex.mutex, NULL);
	pthread_cond_init(&cq->ex.cond, NULL);
	cq->sh->ctx = sv_ctx(c)->off;
	__atomic_add_fetch(&sv_ctx(c)->refs, 1, __ATOMIC_RELAXED);
	if (ch) {
		cq->sh->chan_fd = ((struct sv_chan *)(void *)ch)->wfd;
		cq->sh->chan_gen = ((struct sv_chan *)(void *)ch)->gen;
		__atomic_add_fetch(&ch->refcnt, 1, __ATOMIC_RELAXED);
	}
	return cq;
}

struct ibv_cq *sv_create_cq(struct ibv_context *c, int cqe, void *cq_context,
			    struct ibv_comp_channel *ch, int vector)
{
	struct sv_cq *cq;

	errno = sv_fail_ctx(c, SPEC_CALL_create_cq);
	if (errno)
		return NULL;
	if (cqe < 1 || vector < 0) {
		errno = EINVAL;
		return NULL;
	}
	cq = cq_make(c, (uint32_t)cqe, cq_context, ch, (uint32_t)vector);
	return cq ? ibv_cq_ex_to_cq(&cq->ex) : NULL;
}

struct ibv_cq_ex *sv_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *a)
{
	const uint64_t known = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	struct sv_cq *cq;

	errno = sv_fail_ctx(c, SPEC_CALL_create_cq_ex);
	if (errno)
		return NULL;
	if (a->wc_flags & ~known || a->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS |
							       IBV_CQ_INIT_ATTR_MASK_PD)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	cq = cq_make(c, a->cqe, a->cq_context, a->channel, a->comp_vector);
	if (!cq)
		return NULL;
	cq->wc_flags = a->wc_flags;
	cq->sh->want_ts = !!(a->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS);
	if (a->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
		cq->sh->ignore_overrun = !!(a->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
	sv_cq_ex_ops(cq);
	return &cq->ex;
}

int sv_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct sv_cq *cq = sv_cq(ibcq);
	uint32_t n = ring_size(cqe > 0 ? (uint32_t)cqe : 1), old = cq->mask + 1;
	uint64_t ring, old_ring = cq->sh->ring;
	int ret = sv_fail_ctx(ibcq->context, SPEC_CALL_resize_cq);

	if (ret)
		return ret;
	if (cqe < 1 || (uint32_t)cqe > sv_ctx(ibcq->context)->dev->spec->max_cqe)
		return EINVAL;
	ring = sv_arena_alloc((uint64_t)n * sizeof(struct sv_cqe));
	if (!ring)
		return ENOMEM;
	sv_lock(&cq->lock);
	sv_lock(&cq->sh->lock);
	if (cq->sh->prod - cq->cons > (uint32_t)cqe) {
		ret = EINVAL;	/* more is unpolled than would fit */
	} else {
		sv_cq_move(cq, ring, n - 1);
		cq->sh->cap = (uint32_t)cqe;
		ibcq->cqe = cqe;
	}
	sv_unlock(&cq->sh->lock);
	sv_unlock(&cq->lock);
	if (ret)
		sv_arena_free(ring, (uint64_t)n * sizeof(struct sv_cqe));
	else
		sv_arena_free(old_ring, (uint64_t)old * sizeof(struct sv_cqe));
	return ret;
}

int sv_destroy_cq(struct ibv_cq *ibcq)
{
	struct sv_cq *cq = sv_cq(ibcq);
	struct sv_ctx *c = sv_ctx(ibcq->context);
	int ret = sv_fail_ctx(ibcq->context, SPEC_CALL_destroy_cq);

	if (ret)
		return ret;
	if (__atomic_load_n(&cq->refs, __ATOMIC_ACQUIRE))
		return EBUSY;
	if (ibcq->channel) {
		sv_lock(&cq->sh->lock);
		cq->sh->chan_fd = -1;
		sv_unlock(&cq->sh->lock);
		sv_chan_drop(cq);
		__atomic_sub_fetch(&ibcq->channel->refcnt, 1, __ATOMIC_RELAXED);
	}
	sv_event_drop(c, SV_OF_CQ, cq->sh->idx, cq->sh->gen);
	cq_leave(cq);
	pthread_mutex_lock(&ibcq->mutex);
	while (ibcq->comp_events_completed != cq->comp_events ||
	       ibcq->async_events_completed != cq->async_events)
		pthread_cond_wait(&ibcq->cond, &ibcq->mutex);
	pthread_mutex_unlock(&ibcq->mutex);
	pthread_mutex_destroy(&ibcq->mutex);
	pthread_cond_destroy(&ibcq->cond);
	cq_free(cq);
	__atomic_sub_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	return 0;
}
