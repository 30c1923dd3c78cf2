/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the first request of a connection is the first to touch, touched before: our own memory
 * when it is registered, the rest at RTS, when the peer's QP is usually there. A mapping that is populated is not enough. In a virtual machine whose
 * host keeps shadow page tables, the first access of a process to each page costs microseconds
 * more, though the guest sees no fault; so each page is read, code too. Best effort.
 */
#include "data.h"
#include "pd.h"

#define PAGE 4096u
#define WARM_MRS 64
#define WARM_BYTES (16u << 20)
#define TOUCH_PAGES 256u	/* of one process in all */
#define TOUCH_EACH 64u		/* of one registration, from its begin */

static void touch(const void *at, uint64_t bytes)
{
	for (uint64_t off = 0; off < bytes; off += PAGE)
		(void)*((const volatile uint8_t *)at + off);
}

struct budget {
	uint64_t bytes, pages;
};

static void warm_piece(struct sv_peer *p, const struct sv_piece *pc, struct budget *left)
{
	uint64_t at = (uint64_t)pc->pool & ~(uint64_t)(PAGE - 1), pages;
	uint64_t len = pc->end - pc->start + ((uint64_t)pc->pool & (PAGE - 1));

	len = len < left->bytes ? len : left->bytes;
	if (pc->pool < 0 || at > p->pool_size || len > p->pool_size - at)
		return;
	left->bytes -= len;
	/* Without MADV_POPULATE_WRITE (before Linux 5.14) it is only slower. */
	madvise(p->pool + at, len, MADV_POPULATE_WRITE);
	pages = (len + PAGE - 1) / PAGE;
	pages = pages < TOUCH_EACH ? pages : TOUCH_EACH;
	pages = pages < left->pages ? pages : left->pages;
	left->pages -= pages;
	touch(p->pool + at, pages * PAGE);
}

static void warm_mr(struct sv_peer *p, const struct sv_mr_sh *mr, struct budget *left)
{
	for (uint32_t k = 0; k < mr->npieces && k < SV_PIECES; k++)
		warm_piece(p, &mr->piece[k], left);
}

void sv_warm_own(const struct sv_mr_sh *mr)
{
	struct budget left = { TOUCH_EACH * PAGE, TOUCH_EACH };

	if (sv_self->pool)
		warm_mr(sv_self, mr, &left);
}

/* The registered memory of another process, as far as it is small; once. */
static void warm_peer(struct sv_peer *p)
{
	struct budget left = { WARM_BYTES, TOUCH_PAGES };

	if (p == sv_self || !p->pool || __atomic_exchange_n(&p->warm, true, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < WARM_MRS; i++)
		if (__atomic_load_n(&p->arena->mr[i].key, __ATOMIC_ACQUIRE))
			warm_mr(p, &p->arena->mr[i], &left);
}

/* From the first to the last of the functions that a request and its completion run. */
static void warm_code(void)
{
	static bool done;
	const uintptr_t path[] = {
		(uintptr_t)sv_post_send, (uintptr_t)sv_sq_run, (uintptr_t)sv_exec,
		(uintptr_t)sv_conn_lock, (uintptr_t)sv_respond, (uintptr_t)sv_mr_segs,
		(uintptr_t)sv_copy, (uintptr_t)sv_atomic, (uintptr_t)sv_recv_done,
		(uintptr_t)sv_cq_begin, (uintptr_t)sv_cq_end, (uintptr_t)sv_poll_cq,
		(uintptr_t)sv_cq_idle,
	};
	uintptr_t low = path[0], high = path[0];

	if (__atomic_exchange_n(&done, true, __ATOMIC_RELAXED))
		return;
	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		low = path[i] < low ? path[i] : low;
		high = path[i] > high ? path[i] : high;
	}
	touch((const void *)low, high - low + 1);
}

/* Locks are taken and let go, since what is only read would be faulted in again for writing. */
static void warm_queues(struct sv_peer *p, struct sv_qp_sh *d)
{
	const struct spec_port *port;

	sv_lock(&d->lock);
	port = sv_port_of(p, d);	/* none before its QP was at INIT */
	if (port)
		touch(port, sizeof(*port));
	if (!d->srq)
		touch(sv_at(p, d->rq.ring + (uint64_t)(d->rq.cons & d->rq.mask) * d->rq.stride), 1);
	sv_unlock(&d->lock);
	sv_cq_warm(p, sv_at(p, d->recv_cq));
}

void sv_conn_warm(struct sv_qp *qp)
{
	warm_code();
	touch(qp->sq.ring, qp->sq.stride);
	sv_cq_warm(sv_self, sv_cq(qp->ex.qp_base.send_cq)->sh);
	if (qp->ex.qp_base.qp_type == IBV_QPT_UD || (!qp->dest && !sv_conn_find(qp)))
		return;
	warm_queues(qp->peer, qp->dest);
	warm_peer(qp->peer);
}
