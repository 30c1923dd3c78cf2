/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fault.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data.h"
#include "event.h"
#include "work.h"

int sv_fail_slow(struct sv_dev *d, enum spec_call call)
{
	static const char *const names[] = {
#define NAME(name) #name,
		SPEC_CALLS(NAME)
#undef NAME
	};
	const struct spec_faults *f = &d->spec->fault;
	uint64_t k = __atomic_add_fetch(&d->ncall[call], 1, __ATOMIC_RELAXED);
	uint64_t all = __atomic_add_fetch(&d->ncall[SPEC_CALL_any], 1, __ATOMIC_RELAXED);

	for (int i = 0; i < f->nfail; i++) {
		const struct spec_fail *p = &f->fail[i];

		if (!(p->call == call && p->k == k) && !(p->call == SPEC_CALL_any && p->k == all))
			continue;
		trace_call(d->trace, d->ibv.name, names[call], p->call == call ? k : all, p->err);
		return p->err;
	}
	return 0;
}

void sv_fault_note(struct sv_qp *qp, struct sv_wqe *w, const char *kind, const char *arg)
{
	struct trace_wr t = { .dev = qp->dev->ibv.name, .qpn = qp->sh->qpn, .n = w->n,
			      .wr_id = w->wr_id, .opcode = w->opcode, .len = w->len };

	trace_fault(qp->dev->trace, &t, kind, arg);
}

static void stall(struct sv_qp *qp, struct sv_wqe *w, uint64_t ns)
{
	uint64_t until = sv_now() + ns;
	char arg[32];

	snprintf(arg, sizeof(arg), "%llu", (unsigned long long)ns);
	sv_fault_note(qp, w, "stall", arg);
	/* As when the scheduler took the CPU away: no work of ours goes on meanwhile. */
	while (sv_now() < until)
		usleep((useconds_t)((until - sv_now()) / 1000 + 1));
}

static void raise_event(struct sv_qp *qp, const struct spec_event *e)
{
	struct sv_qp_sh *sh = qp->sh;

	trace_event(qp->dev->trace, qp->dev->ibv.name, e->port, e->type);
	switch (e->type) {
	case IBV_EVENT_CQ_ERR:
		sv_event_raise(sv_self, sh->ctx, e->type, SV_OF_CQ,
			       sv_cq(qp->ex.qp_base.send_cq)->sh->idx,
			       sv_cq(qp->ex.qp_base.send_cq)->sh->gen);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		if (qp->ex.qp_base.srq) {
			struct sv_srq *srq = (struct sv_srq *)(void *)qp->ex.qp_base.srq;

			sv_event_raise(sv_self, sh->ctx, e->type, SV_OF_SRQ, srq->sh->idx,
				       srq->sh->gen);
		}
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		sv_event_raise(sv_self, sh->ctx, e->type, SV_OF_QP, sh->idx, sh->qpn);
		break;
	default:
		sv_event_raise(sv_self, sh->ctx, e->type, SV_OF_PORT, e->port, 0);
	}
}

void sv_fault_posted(struct sv_qp *qp, struct sv_wqe *w)
{
	const struct spec_faults *f = &qp->dev->spec->fault;

	for (int i = 0; i < f->nevent; i++)
		if (!f->event[i].timed && f->event[i].n == w->n)
			raise_event(qp, &f->event[i]);
	for (int i = 0; i < f->nstall; i++)
		if (f->stall[i].n == w->n)
			stall(qp, w, f->stall[i].ns);
	if (f->die && f->die == w->n) {
		sv_fault_note(qp, w, "die", "SIGKILL");
		trace_flush_all();
		kill(getpid(), SIGKILL);
	}
	if (f->hang && f->hang == w->n) {
		sv_fault_note(qp, w, "hang", "SIGSTOP");
		trace_flush_all();
		kill(getpid(), SIGSTOP);
	}
}

int sv_fault_status(struct sv_qp *qp, struct sv_wqe *w)
{
	const struct spec_faults *f = &qp->dev->spec->fault;

	for (int i = 0; i < f->nerr; i++)
		if (f->err[i].n == w->n) {
			char arg[16];

			snprintf(arg, sizeof(arg), "%d", (int)f->err[i].status);
			sv_fault_note(qp, w, "err", arg);
			return (int)f->err[i].status;
		}
	return -1;
}

static bool hit(struct sv_dev *d, const struct spec_chances *c, uint64_t n)
{
	bool yes = false;

	for (int i = 0; i < c->n; i++) {
		const struct spec_chance *p = &c->at[i];

		if (p->count) {
			yes |= n >= p->first && n - p->first < p->count;
		} else {
			sv_lock(&d->lock);
			yes |= dist_unit(&d->rng) < p->p;
			sv_unlock(&d->lock);
		}
	}
	return yes;
}

/* A message that is sent again (after RNR or loss) counts as a new one. */
unsigned int sv_fault_message(struct sv_qp *qp, struct sv_wqe *w, uint64_t *offset)
{
	const struct spec_faults *f = &qp->dev->spec->fault;
	uint64_t n = __atomic_add_fetch(&qp->dev->nmsg, 1, __ATOMIC_RELAXED);
	unsigned int what = 0;

	if (hit(qp->dev, &f->drop, n))
		what |= SV_LOSE;
	if (hit(qp->dev, &f->dup, n))
		what |= SV_TWICE;
	if (hit(qp->dev, &f->corrupt, n))
		what |= SV_CORRUPT;
	if (hit(qp->dev, &f->rnr, n))
		what |= SV_RNR;
	for (int i = 0; i < f->nflip; i++)
		if (f->flip[i].n == n) {
			what |= SV_FLIP;
			*offset = f->flip[i].offset;
		}
	/* A bad ICRC: the packet is dropped, and on RC sent again (IBTA 7.8.1). */
	if (what & SV_CORRUPT)
		what |= SV_LOSE;
	if (what & SV_LOSE)
		sv_fault_note(qp, w, what & SV_CORRUPT ? "corrupt" : "drop", "-");
	if (what & SV_TWICE)
		sv_fault_note(qp, w, "dup", "-");
	if (what & SV_RNR)
		sv_fault_note(qp, w, "rnr", "-");
	return what;
}

/* READ and atomics: what they carry comes from the responder. */
static bool brings_back(const struct sv_wqe *w)
{
	return w->opcode >= IBV_WR_RDMA_READ;
}

static void note_flip(const struct sv_job *j)
{
	char arg[32];

	snprintf(arg, sizeof(arg), "%llu", (unsigned long long)j->flip);
	sv_fault_note(j->qp, j->w, "flip", arg);
}

/* flip=: what no checksum saw. The message goes out from a changed copy. */
int sv_fault_payload(struct sv_job *j)
{
	static __thread uint8_t *copy;
	struct sv_seg to = { .len = j->w->len };

	if (!(j->fault & SV_FLIP) || j->flip >= j->w->len || brings_back(j->w))
		return 0;
	free(copy);
	copy = malloc(j->w->len);
	to.p = copy;
	if (!copy || sv_copy(&to, 1, j->seg, j->nseg))
		return IBV_WC_LOC_PROT_ERR;
	copy[j->flip] ^= 1;
	j->seg[0] = to;
	j->nseg = 1;
	note_flip(j);
	return 0;
}

/* The same of an answer: where it has been put, before its completion. */
void sv_fault_answer(struct sv_job *j)
{
	uint64_t at = j->flip, len = j->w->opcode == IBV_WR_RDMA_READ ? j->w->len : 8;
	struct sv_seg byte, copy = { .len = 1 };
	const struct sv_seg *seg = j->seg;
	uint8_t v;

	if (!(j->fault & SV_FLIP) || at >= len || !brings_back(j->w))
		return;
	for (; at >= seg->len; seg++)
		at -= seg->len;
	byte = (struct sv_seg){ seg->p ? seg->p + at : NULL, seg->va + at, 1, seg->pid };
	copy.p = &v;
	if (sv_copy(&copy, 1, &byte, 1))
		return;
	v ^= 1;
	if (!sv_copy(&byte, 1, &copy, 1))
		note_flip(j);
}
