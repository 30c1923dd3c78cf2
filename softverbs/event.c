/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "event.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fault.h"

void sv_event_raise(struct sv_peer *p, uint64_t ctx, enum ibv_event_type type, enum sv_element of,
		    uint32_t id, uint32_t gen)
{
	struct sv_ctx_sh *c = sv_at(p, ctx);
	struct sv_event e = { .type = type, .of = of, .id = id, .gen = gen };

	sv_peer_kick(p, c->async_fd, c->gen, &e, sizeof(e));
}

/* False: the object has gone meanwhile. Under sv_tables. */
static bool fill(const struct sv_event *e, struct ibv_async_event *out)
{
	out->event_type = e->type;
	if (e->of == SV_OF_PORT) {
		out->element.port_num = (int)e->id;
		return true;
	}
	if (e->id >= SV_OBJECTS)
		return false;
	if (e->of == SV_OF_QP && sv_qps[e->id] && sv_qps[e->id]->ex.qp_base.qp_num == e->gen) {
		out->element.qp = &sv_qps[e->id]->ex.qp_base;
		__atomic_add_fetch(&sv_qps[e->id]->async_events, 1, __ATOMIC_RELAXED);
	} else if (e->of == SV_OF_CQ && sv_cqs[e->id] && sv_cqs[e->id]->sh->gen == e->gen) {
		out->element.cq = ibv_cq_ex_to_cq(&sv_cqs[e->id]->ex);
		__atomic_add_fetch(&sv_cqs[e->id]->async_events, 1, __ATOMIC_RELAXED);
	} else if (e->of == SV_OF_SRQ && sv_srqs[e->id] && sv_srqs[e->id]->sh->gen == e->gen) {
		out->element.srq = &sv_srqs[e->id]->ibv;
		__atomic_add_fetch(&sv_srqs[e->id]->events, 1, __ATOMIC_RELAXED);
	} else {
		return false;
	}
	return true;
}

int sv_get_async_event(struct ibv_context *c, struct ibv_async_event *event)
{
	struct sv_event e;
	bool there;

	errno = sv_fail_ctx(c, SPEC_CALL_get_async_event);
	if (errno)
		return -1;
	do {
		if (read(c->async_fd, &e, sizeof(e)) != sizeof(e))
			return -1;
		sv_lock(&sv_tables);
		there = fill(&e, event);
		sv_unlock(&sv_tables);
	} while (!there);
	return 0;
}

static void ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void sv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		ack(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		ack(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		ack(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	default:
		break;
	}
}

void sv_event_drop(struct sv_ctx *c, enum sv_element of, uint32_t id, uint32_t gen)
{
	struct ibv_context *ibc = &c->v.context;
	struct sv_event e;
	int flags, bytes = 0;

	sv_lock(&c->lock);
	if (ioctl(ibc->async_fd, FIONREAD, &bytes) || !bytes) {
		sv_unlock(&c->lock);
		return;
	}
	flags = fcntl(ibc->async_fd, F_GETFL);
	fcntl(ibc->async_fd, F_SETFL, flags | O_NONBLOCK);
	for (int n = bytes / (int)sizeof(e); n; n--) {
		if (read(ibc->async_fd, &e, sizeof(e)) != sizeof(e))
			break;
		if (e.of == (uint32_t)of && e.id == id && e.gen == gen)
			continue;
		if (write(c->async_w, &e, sizeof(e)) != sizeof(e))
			break;
	}
	fcntl(ibc->async_fd, F_SETFL, flags);
	sv_unlock(&c->lock);
}
