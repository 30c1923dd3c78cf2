/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When a work request takes effect, and when it completes. */
#include "data.h"
#include "fault.h"
#include "work.h"

static struct trace_wr described(const struct sv_qp *qp, const struct sv_wqe *w)
{
	return (struct trace_wr){ .dev = qp->dev->ibv.name, .qpn = qp->sh->qpn, .n = w->n,
				  .wr_id = w->wr_id, .opcode = w->opcode, .len = w->len };
}

static uint64_t draw(struct sv_qp *qp, struct sv_wqe *w, const struct dist *d, const char *way)
{
	struct trace_wr t = described(qp, w);
	uint64_t ns;

	if (!d->n)
		return 0;
	ns = dist_draw(d, &qp->dev->rng, w->n - 1);
	trace_delay(qp->dev->trace, &t, way, ns);
	return ns;
}

/* The wire is one for the device: a message starts when the one before has gone. */
static uint64_t serialise(struct sv_dev *d, uint64_t now, uint64_t len)
{
	uint64_t start = d->busy_until > now ? d->busy_until : now;

	d->busy_until = start + (uint64_t)((double)len * 8e9 / (double)d->spec->bw);
	return d->busy_until - now;
}

static bool round_trip(const struct sv_wqe *w)
{
	return w->opcode == IBV_WR_RDMA_READ || w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* async=: due a little later, completions in batches of random length, each QP for itself. */
static void scramble(struct sv_qp *qp, struct sv_wqe *w, uint64_t now)
{
	struct sv_sq *sq = &qp->sq;
	const struct sv_wqe *before = sv_wqe(qp, sq->prod - 2);
	uint64_t last = sq->prod - 1 != sq->done ? before->cdue : 0;

	w->due += dist_random(&qp->dev->rng) % 10000;
	if (sq->batch && last >= w->due) {
		sq->batch--;
		w->cdue = last;
		return;
	}
	sq->batch = (uint32_t)(dist_random(&qp->dev->rng) % 8);
	w->cdue = (w->due > last ? w->due : last) + dist_random(&qp->dev->rng) % 50000;
	(void)now;
}

void sv_delay_draw(struct sv_qp *qp, struct sv_wqe *w)
{
	struct sv_dev *d = qp->dev;
	struct sv_sq *sq = &qp->sq;
	uint64_t now = sv_now(), delay, back, start = now;

	w->posted = d->delay.n || d->out.n || d->back.n || d->spec->bw ? now : 0;
	/* No more READs and atomics outstanding than max_rd_atomic: the next waits for one. */
	if (round_trip(w) && qp->attr.max_rd_atomic) {
		uint64_t free_at = sq->rd_done[sq->nrd % qp->attr.max_rd_atomic % SV_RD_MAX];

		start = free_at > now ? free_at : now;
	}
	sv_lock(&d->lock);
	delay = draw(qp, w, &d->delay, "both") + draw(qp, w, &d->out, "out");
	back = draw(qp, w, &d->back, "back");
	if (d->spec->bw)
		delay += serialise(d, now, w->len);
	w->due = start + delay;
	w->cdue = w->due + back;
	/* What comes back is there when the request completes. */
	if (round_trip(w))
		w->due = w->cdue;
	if (d->spec->async)
		scramble(qp, w, now);
	sv_unlock(&d->lock);
	if (d->spec->complete_post)
		w->cdue = now;
	if (round_trip(w) && qp->attr.max_rd_atomic)
		sq->rd_done[sq->nrd++ % qp->attr.max_rd_atomic % SV_RD_MAX] = w->due;
}

void sv_delay_effect(struct sv_qp *qp, struct sv_wqe *w)
{
	struct trace_wr t = described(qp, w);

	if (w->posted && qp->dev->trace)
		trace_effect(qp->dev->trace, &t, sv_now(), w->posted, w->due);
}
