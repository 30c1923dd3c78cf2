/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Planted faults, as the SPEC of the device asks. */
#ifndef SOFTVERBS_FAULT_H
#define SOFTVERBS_FAULT_H

#include "qp.h"

/* Counts a call of this verb; the errno it has to fail with, 0: go on. */
int sv_fail_slow(struct sv_dev *d, enum spec_call call);

static inline int sv_fail(struct sv_dev *d, enum spec_call call)
{
	return __builtin_expect(!d->spec->fault.nfail, 1) ? 0 : sv_fail_slow(d, call);
}

static inline int sv_fail_ctx(struct ibv_context *c, enum spec_call call)
{
	return sv_fail(sv_ctx(c)->dev, call);
}

/* What happens to a work request when it is posted: events, stalls, death. */
void sv_fault_posted(struct sv_qp *qp, struct sv_wqe *w);
/* The status that is planted for this work request, or -1. */
int sv_fault_status(struct sv_qp *qp, struct sv_wqe *w);

enum { SV_LOSE = 1, SV_TWICE = 2, SV_CORRUPT = 4, SV_RNR = 8, SV_FLIP = 16 };

/* What happens to this message on its way; for SV_FLIP the offset of the byte. */
unsigned int sv_fault_message(struct sv_qp *qp, struct sv_wqe *w, uint64_t *offset);
/* Corrupt or flipped payload: the gathered pieces now show a changed copy. 0 or a wc status. */
struct sv_job;
int sv_fault_payload(struct sv_job *j);
/* The same of what a READ or an atomic has brought. */
void sv_fault_answer(struct sv_job *j);
void sv_fault_note(struct sv_qp *qp, struct sv_wqe *w, const char *kind, const char *arg);
void sv_fault_opened(struct sv_ctx *c);
/* Delays of this work request: sets due and cdue. */
void sv_delay_draw(struct sv_qp *qp, struct sv_wqe *w);
/* It has taken effect now: the trace says how late. */
void sv_delay_effect(struct sv_qp *qp, struct sv_wqe *w);

#endif
