/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion channels: a pipe, whose write end peers open through /proc/PID/fd. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cq.h"
#include "fault.h"

struct ibv_comp_channel *sv_create_comp_channel(struct ibv_context *c)
{
	static uint32_t generation;
	struct sv_chan *ch;
	int fds[2];

	errno = sv_fail_ctx(c, SPEC_CALL_create_comp_channel);
	if (errno)
		return NULL;
	ch = calloc(1, sizeof(*ch));
	if (!ch || pipe2(fds, O_CLOEXEC)) {
		free(ch);
		return NULL;
	}
	/* Only the writers must never wait; how to read is the program's choice. */
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	ch->ibv.context = c;
	ch->ibv.fd = fds[0];
	ch->wfd = fds[1];
	ch->gen = __atomic_add_fetch(&generation, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sv_ctx(c)->refs, 1, __ATOMIC_RELAXED);
	return &ch->ibv;
}

int sv_destroy_comp_channel(struct ibv_comp_channel *ibch)
{
	struct sv_chan *ch = (struct sv_chan *)(void *)ibch;
	int ret = sv_fail_ctx(ibch->context, SPEC_CALL_destroy_comp_channel);

	if (ret)
		return ret;
	if (ibch->refcnt)
		return EBUSY;
	close(ibch->fd);
	close(ch->wfd);
	__atomic_sub_fetch(&sv_ctx(ibch->context)->refs, 1, __ATOMIC_RELAXED);
	free(ch);
	return 0;
}

/* NULL: the CQ has gone meanwhile. */
static struct sv_cq *hand_out(const struct sv_chan_msg *m)
{
	struct sv_cq *cq;

	sv_lock(&sv_tables);
	cq = m->idx < SV_OBJECTS ? sv_cqs[m->idx] : NULL;
	if (cq && cq->sh->gen != m->gen)
		cq = NULL;
	if (cq) {
		__atomic_sub_fetch(&cq->sh->unread, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&cq->comp_events, 1, __ATOMIC_RELAXED);
	}
	sv_unlock(&sv_tables);
	return cq;
}

int sv_get_cq_event(struct ibv_comp_channel *ibch, struct ibv_cq **out, void **cq_context)
{
	struct sv_cq *cq;
	struct sv_chan_msg m;

	errno = sv_fail_ctx(ibch->context, SPEC_CALL_get_cq_event);
	if (errno)
		return -1;
	do {
		if (read(ibch->fd, &m, sizeof(m)) != sizeof(m))
			return -1;
		cq = hand_out(&m);
	} while (!cq);
	*out = ibv_cq_ex_to_cq(&cq->ex);
	*cq_context = cq->ex.cq_context;
	return 0;
}

void sv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += n;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* Events of a CQ that goes are taken out, so that nobody is woken for nothing. */
void sv_chan_drop(struct sv_cq *cq)
{
	struct sv_chan *ch = (struct sv_chan *)(void *)cq->ex.channel;
	int flags, bytes = 0;
	struct sv_chan_msg m;

	sv_lock(&ch->lock);
	if (!cq->sh->unread || ioctl(ch->ibv.fd, FIONREAD, &bytes) || !bytes) {
		sv_unlock(&ch->lock);
		return;
	}
	flags = fcntl(ch->ibv.fd, F_GETFL);
	fcntl(ch->ibv.fd, F_SETFL, flags | O_NONBLOCK);
	for (int n = bytes / (int)sizeof(m); n; n--) {
		if (read(ch->ibv.fd, &m, sizeof(m)) != sizeof(m))
			break;
		if (m.idx == cq->sh->idx && m.gen == cq->sh->gen)
			continue;
		if (write(ch->wfd, &m, sizeof(m)) != sizeof(m))
			break;
	}
	fcntl(ch->ibv.fd, F_SETFL, flags);
	sv_unlock(&ch->lock);
}
