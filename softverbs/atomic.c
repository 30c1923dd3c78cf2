/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FETCH_ADD and CMP_SWAP. On shared pages they are instructions of the CPU and atomic with all
 * that programs do; on others they are atomic among themselves, by a lock of the responder.
 */
#include <sys/uio.h>

#include "data.h"

static uint64_t result(const struct sv_wqe *w, uint64_t old)
{
	if (w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return old + w->compare;
	return old == w->compare ? w->swap : old;
}

static uint64_t in_place(uint64_t *at, const struct sv_wqe *w)
{
	uint64_t old = w->compare;

	if (w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return __atomic_fetch_add(at, w->compare, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(at, &old, w->swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

int sv_atomic(struct sv_peer *p, const struct sv_seg *at, const struct sv_wqe *w, uint64_t *old)
{
	uint64_t now;
	struct iovec here = { old, 8 }, there = { (void *)(uintptr_t)at->va, 8 };
	int ret = IBV_WC_REM_OP_ERR;

	if (at->p) {
		*old = in_place((uint64_t *)(void *)at->p, w);
		return IBV_WC_SUCCESS;
	}
	sv_lock(&p->arena->atomics);
	if (process_vm_readv(p->pid, &here, 1, &there, 1, 0) == 8) {
		now = result(w, *old);
		here.iov_base = &now;
		if (process_vm_writev(p->pid, &here, 1, &there, 1, 0) == 8)
			ret = IBV_WC_SUCCESS;
	}
	sv_unlock(&p->arena->atomics);
	return ret;
}
