/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Posting work, and waiting for what comes of it; every wait is bounded. */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "pair.h"

double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

void wr_fill(struct pair *p, const struct wr *w, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	uint64_t remote = (uintptr_t)p->b.buf + w->remote;
	uint32_t rkey = w->rkey ? w->rkey : p->b.mr->rkey;

	*sge = (struct ibv_sge){ .addr = (uintptr_t)p->a.buf + w->off, .length = w->len,
				 .lkey = w->lkey ? w->lkey : p->a.mr->lkey };
	*wr = (struct ibv_send_wr){ .wr_id = w->id, .sg_list = sge, .num_sge = 1,
				    .opcode = w->op, .send_flags = w->flags, .imm_data = w->imm };
	if (w->op == IBV_WR_ATOMIC_CMP_AND_SWP || w->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = remote;
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.compare_add = w->compare;
		wr->wr.atomic.swap = w->swap;
	} else if (p->o.type == IBV_QPT_UD) {
		wr->wr.ud.ah = p->a.ah;
		wr->wr.ud.remote_qpn = p->b.qp->qp_num;
		wr->wr.ud.remote_qkey = QKEY;
	} else {
		wr->wr.rdma.remote_addr = remote;
		wr->wr.rdma.rkey = rkey;
	}
}

int post(struct pair *p, const struct wr *w)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	wr_fill(p, w, &wr, &sge);
	return ibv_post_send(p->a.qp, &wr, &bad);
}

int post_recv(struct end *e, uint64_t id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)e->buf + off, .length = len,
			       .lkey = e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(e->qp, &wr, &bad);
}

int wait_wc(struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
	double end = now_ms() + ms;

	memset(wc, 0, sizeof(*wc));
	do {
		int n = ibv_poll_cq(cq, 1, wc);

		if (n > 0)
			return (int)wc->status;
		if (n < 0)
			return TIMED_OUT;
		sched_yield();
	} while (now_ms() < end);
	return TIMED_OUT;
}

int wait_status(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	return wait_wc(cq, &wc, WAIT_MS);
}

bool check_wc(struct conf *c, struct ibv_cq *cq, int status, uint64_t wr_id, const char *clause,
	      const char *name)
{
	struct ibv_wc wc;
	int got = wait_wc(cq, &wc, WAIT_MS);

	if (check(c, got == status && wc.wr_id == wr_id, clause, "%s", name))
		return true;
	note("got status %d, wr_id %llu, wanted %d, %llu", got, (unsigned long long)wc.wr_id,
	     status, (unsigned long long)wr_id);
	return false;
}

bool quiet(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	return wait_wc(cq, &wc, QUIET_MS) == TIMED_OUT;
}

int do_wr(struct pair *p, const struct wr *w)
{
	int rc = post(p, w);

	return rc ? -1000 - rc : wait_status(p->a.scq);
}

int wait_state(struct ibv_qp *qp, enum ibv_qp_state want)
{
	double end = now_ms() + WAIT_MS;
	int state;

	while ((state = qp_state(qp)) != (int)want && now_ms() < end)
		sched_yield();
	return state;
}
