/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "fault.h"
#include "pd.h"

struct sv_srq *sv_srqs[SV_OBJECTS];
static uint32_t generation, next_idx;

static struct sv_srq *of(struct ibv_srq *srq)
{
	return (struct sv_srq *)(void *)srq;
}

static int srq_enter(struct sv_srq *srq)
{
	int ret = ENOMEM;

	sv_lock(&sv_tables);
	for (uint32_t n = 0; n < SV_OBJECTS && ret; n++) {
		uint32_t i = next_idx++ % SV_OBJECTS;

		if (sv_srqs[i])
			continue;
		srq->sh->idx = i;
		srq->sh->gen = ++generation;
		sv_srqs[i] = srq;
		ret = 0;
	}
	sv_unlock(&sv_tables);
	return ret;
}

static int srq_alloc(struct sv_srq *srq, struct ibv_pd *pd, const struct ibv_srq_attr *a)
{
	struct sv_srq_sh *sh;
	int ret;

	srq->off = sv_object_alloc(SV_KIND_SRQ, sizeof(*sh));
	if (!srq->off)
		return ENOMEM;
	sh = srq->sh = sv_at(sv_self, srq->off);
	memset((uint8_t *)sh + sizeof(sh->lock), 0, sizeof(*sh) - sizeof(sh->lock));
	sh->pd = sv_pd(pd)->id;
	sh->ctx = sv_ctx(pd->context)->off;
	srq->max_sge = a->max_sge ? a->max_sge : 1;
	ret = sv_rq_alloc(&sh->rq, a->max_wr, srq->max_sge);
	return ret ? ret : srq_enter(srq);
}

static void srq_leave(struct sv_srq *srq)
{
	sv_lock(&sv_tables);
	if (sv_srqs[srq->sh->idx] == srq)
		sv_srqs[srq->sh->idx] = NULL;
	sv_unlock(&sv_tables);
}

static void srq_free(struct sv_srq *srq)
{
	if (srq->sh) {
		srq_leave(srq);
		sv_rq_free(&srq->sh->rq);
		sv_object_free(SV_KIND_SRQ, srq->off);
	}
	free(srq);
}

struct ibv_srq *sv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
	const struct spec_device *s = sv_ctx(pd->context)->dev->spec;
	struct sv_srq *srq;

	errno = sv_fail_ctx(pd->context, SPEC_CALL_create_srq);
	if (errno)
		return NULL;
	if (!a->attr.max_wr || a->attr.max_wr > s->max_qp_wr || a->attr.max_sge > SV_MAX_SGE) {
		errno = EINVAL;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	errno = srq_alloc(srq, pd, &a->attr);
	if (errno) {
		int err = errno;

		srq_free(srq);
		errno = err;
		return NULL;
	}
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = a->srq_context;
	srq->ibv.pd = pd;
	srq->ibv.handle = srq->sh->idx;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	a->attr.max_sge = srq->max_sge;
	a->attr.srq_limit = 0;
	__atomic_add_fetch(&sv_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sv_ctx(pd->context)->refs, 1, __ATOMIC_RELAXED);
	return &srq->ibv;
}

/* Arming with a limit above what is posted raises the event with the next receive taken. */
int sv_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *a, int mask)
{
	struct sv_srq_sh *sh = of(ibsrq)->sh;
	int ret = sv_fail_ctx(ibsrq->context, SPEC_CALL_modify_srq);

	if (ret)
		return ret;
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if (mask & IBV_SRQ_MAX_WR)
		return EOPNOTSUPP;	/* no IBV_DEVICE_SRQ_RESIZE */
	if ((mask & IBV_SRQ_LIMIT) && a->srq_limit > sh->rq.cap)
		return EINVAL;
	sv_lock(&sh->lock);
	if (mask & IBV_SRQ_LIMIT)
		sh->limit = a->srq_limit;
	sv_unlock(&sh->lock);
	return 0;
}

int sv_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *a)
{
	struct sv_srq_sh *sh = of(ibsrq)->sh;
	int ret = sv_fail_ctx(ibsrq->context, SPEC_CALL_query_srq);

	if (ret)
		return ret;
	a->max_wr = sh->rq.cap;
	a->max_sge = of(ibsrq)->max_sge;
	sv_lock(&sh->lock);
	a->srq_limit = sh->limit;
	sv_unlock(&sh->lock);
	return 0;
}

int sv_get_srq_num(struct ibv_srq *ibsrq, uint32_t *num)
{
	*num = of(ibsrq)->sh->idx;
	return 0;
}

int sv_destroy_srq(struct ibv_srq *ibsrq)
{
	struct sv_srq *srq = of(ibsrq);
	struct sv_ctx *c = sv_ctx(ibsrq->context);
	int ret = sv_fail_ctx(ibsrq->context, SPEC_CALL_destroy_srq);

	if (ret)
		return ret;
	if (__atomic_load_n(&srq->refs, __ATOMIC_ACQUIRE))
		return EBUSY;
	sv_event_drop(c, SV_OF_SRQ, srq->sh->idx, srq->sh->gen);
	srq_leave(srq);
	pthread_mutex_lock(&ibsrq->mutex);
	while (ibsrq->events_completed != srq->events)
		pthread_cond_wait(&ibsrq->cond, &ibsrq->mutex);
	pthread_mutex_unlock(&ibsrq->mutex);
	pthread_mutex_destroy(&ibsrq->mutex);
	pthread_cond_destroy(&ibsrq->cond);
	__atomic_sub_fetch(&sv_pd(ibsrq->pd)->refs, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	srq_free(srq);
	return 0;
}
