/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring of completions. Producers (any process) hold sh->lock; the poller holds cq->lock and
 * shares nothing with them but the sequence number in each CQE and its consumer index. A CQE and
 * its number are one cache line, so a completion costs one transfer between cores.
 */
#include <sched.h>
#include <string.h>

#include "event.h"
#include "qp.h"
#include "work.h"

#define YIELD_POLLS 64

static struct sv_cqe *ring_of(struct sv_peer *p, const struct sv_cq_sh *cq, uint32_t i)
{
	return (struct sv_cqe *)sv_at(p, cq->ring) + (i & cq->mask);
}

/* A producer that died between the two stores has delivered its CQE. */
static void repair(struct sv_peer *p, struct sv_cq_sh *cq)
{
	while (ring_of(p, cq, cq->prod)->seq == cq->prod + 1)
		cq->prod++;
}

static bool full(struct sv_cq_sh *cq)
{
	if (cq->prod - cq->cons_seen < cq->cap)
		return false;
	cq->cons_seen = __atomic_load_n(&cq->cons, __ATOMIC_ACQUIRE);
	return cq->prod - cq->cons_seen >= cq->cap;
}

static uint64_t timestamp(void)
{
	return sv_now();
}

static void overrun(struct sv_peer *p, struct sv_cq_sh *cq)
{
	bool first = !cq->overrun;

	cq->overrun = 1;
	sv_unlock(&cq->lock);
	if (first)
		sv_event_raise(p, cq->ctx, IBV_EVENT_CQ_ERR, SV_OF_CQ, cq->idx, cq->gen);
}

struct sv_cqe *sv_cq_begin(struct sv_peer *p, struct sv_cq_sh *cq)
{
	struct sv_cqe *e;

	if (sv_lock(&cq->lock))
		repair(p, cq);
	if (full(cq) && !cq->ignore_overrun) {
		overrun(p, cq);
		return NULL;
	}
	e = ring_of(p, cq, cq->prod);
	memset((uint8_t *)e + sizeof(e->seq), 0, sizeof(*e) - sizeof(e->seq));
	return e;
}

void sv_cq_end(struct sv_peer *p, struct sv_cq_sh *cq, struct sv_cqe *e)
{
	struct sv_chan_msg msg = { cq->idx, cq->gen };
	int fd = cq->chan_fd;
	uint32_t gen = cq->chan_gen;
	bool wake = cq->armed == SV_ARMED || (cq->armed && (e->solicited || e->status));

	if (cq->want_ts)
		e->ts = timestamp();
	__atomic_store_n(&e->seq, cq->prod + 1, __ATOMIC_RELEASE);
	cq->prod++;
	if (p != sv_self)
		cq->cpu = sched_getcpu();
	if (wake) {
		cq->armed = SV_DISARMED;
		__atomic_add_fetch(&cq->unread, 1, __ATOMIC_RELAXED);
	}
	sv_unlock(&cq->lock);
	if (wake && fd >= 0)
		sv_peer_kick(p, fd, gen, &msg, sizeof(msg));
}

void sv_cq_warm(struct sv_peer *p, struct sv_cq_sh *cq)
{
	if (sv_lock(&cq->lock))
		repair(p, cq);
	if (!full(cq))
		ring_of(p, cq, cq->prod)->ts = 0;
	sv_unlock(&cq->lock);
}

static void credit(const struct sv_cqe *e)
{
	struct sv_qp *qp = NULL;

	if (e->qp_idx < SV_OBJECTS)
		qp = __atomic_load_n(&sv_qps[e->qp_idx], __ATOMIC_ACQUIRE);
	if (!qp || qp->ex.qp_base.qp_num != e->qpn)
		return;
	if (e->is_send)
		__atomic_store_n(&qp->sq.tail, e->slot + 1, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&qp->rq_done, e->slot + 1, __ATOMIC_RELEASE);
}

/* The next one, in the ring; NULL: none. It is the producers' again after passed(). */
static const struct sv_cqe *peek(const struct sv_cq *cq)
{
	const struct sv_cqe *e = &cq->ring[cq->cons & cq->mask];

	return __atomic_load_n(&e->seq, __ATOMIC_ACQUIRE) == cq->cons + 1 ? e : NULL;
}

static void passed(struct sv_cq *cq, const struct sv_cqe *e)
{
	credit(e);
	cq->cons++;
	__atomic_store_n(&cq->sh->cons, cq->cons, __ATOMIC_RELEASE);
}

bool sv_cq_take(struct sv_cq *cq, struct sv_cqe *to)
{
	const struct sv_cqe *e = peek(cq);

	if (!e)
		return false;
	*to = *e;
	passed(cq, e);
	return true;
}

/*
 * Nothing there: do what is due. A peer that shares this core is let run; yielding always would
 * cost a time slice for each other busy process on a machine under load.
 */
void sv_cq_idle(struct sv_cq *cq)
{
	uint32_t n = __atomic_load_n(&cq->empty, __ATOMIC_RELAXED) + 1;

	if (__atomic_load_n(&sv_work_count, __ATOMIC_RELAXED))
		sv_work_run(false);
	__atomic_store_n(&cq->empty, n, __ATOMIC_RELAXED);
	if (n % YIELD_POLLS == 0 &&
	    __atomic_load_n(&cq->sh->cpu, __ATOMIC_RELAXED) == sched_getcpu())
		sched_yield();
}

static void to_wc(struct ibv_wc *wc, const struct sv_cqe *e)
{
	wc->wr_id = e->wr_id;
	wc->status = e->status;
	wc->opcode = e->opcode;
	wc->vendor_err = e->status;
	wc->byte_len = e->byte_len;
	wc->imm_data = e->imm;
	wc->qp_num = e->qpn;
	wc->src_qp = e->src_qp;
	wc->wc_flags = e->flags;
	wc->pkey_index = e->pkey_index;
	wc->slid = e->slid;
	wc->sl = e->sl;
	wc->dlid_path_bits = e->path_bits;
}

int sv_cq_poll(struct sv_cq *cq, int n, struct ibv_wc *wc)
{
	const struct sv_cqe *e;
	int got = 0;

	sv_lock(&cq->lock);
	while (got < n && (e = peek(cq)) != NULL) {
		to_wc(&wc[got++], e);
		passed(cq, e);
	}
	sv_unlock(&cq->lock);
	if (got)
		__atomic_store_n(&cq->empty, 0, __ATOMIC_RELAXED);
	else if (cq->sh->overrun)
		return -1;	/* what came before the overrun has been polled */
	else
		sv_cq_idle(cq);
	return got;
}

void sv_cq_purge(struct sv_cq *cq, uint32_t qpn)
{
	struct sv_cq_sh *sh = cq->sh;
	uint32_t to;

	sv_lock(&cq->lock);
	if (sv_lock(&sh->lock))
		repair(sv_self, sh);
	to = cq->cons;
	for (uint32_t i = cq->cons; i != sh->prod; i++) {
		struct sv_cqe *e = &cq->ring[i & cq->mask];

		if (e->qpn == qpn)
			continue;
		if (to != i) {
			cq->ring[to & cq->mask] = *e;
			cq->ring[to & cq->mask].seq = to + 1;
		}
		to++;
	}
	/* Places that are free again must not look filled. */
	for (uint32_t i = to; i != sh->prod; i++)
		cq->ring[i & cq->mask].seq = i - cq->mask;
	sh->prod = to;
	sv_unlock(&sh->lock);
	sv_unlock(&cq->lock);
}

/* Moves what is unpolled into a ring of another size. Callers hold cq->lock and sh->lock. */
void sv_cq_move(struct sv_cq *cq, uint64_t ring, uint32_t mask)
{
	struct sv_cqe *to = sv_at(sv_self, ring);

	for (uint32_t i = cq->sh->prod; i != cq->cons + mask + 1; i++)
		to[i & mask].seq = i - mask;
	for (uint32_t i = cq->cons; i != cq->sh->prod; i++)
		to[i & mask] = cq->ring[i & cq->mask];
	cq->ring = to;
	cq->mask = mask;
	cq->sh->ring = ring;
	cq->sh->mask = mask;
}
