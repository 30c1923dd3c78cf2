/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The extended CQ: start_poll holds the poller's lock until end_poll, as in the man page. */
#include <errno.h>
#include <time.h>

#include "cq.h"
#include "fault.h"

static struct sv_cq *of(struct ibv_cq_ex *ex)
{
	return (struct sv_cq *)(void *)ex;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct sv_cq *cq = of(ex);

	if (!sv_cq_take(cq, &cq->cur))
		return ENOENT;
	ex->wr_id = cq->cur.wr_id;
	ex->status = cq->cur.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct sv_cq *cq = of(ex);
	int ret = sv_fail_ctx(ex->context, SPEC_CALL_poll_cq);

	if (ret)
		return ret;
	if (attr && attr->comp_mask)
		return EINVAL;
	sv_lock(&cq->lock);
	ret = next_poll(ex);
	if (ret) {
		sv_unlock(&cq->lock);
		if (cq->sh->overrun)
			return EIO;
		sv_cq_idle(cq);
	} else {
		__atomic_store_n(&cq->empty, 0, __ATOMIC_RELAXED);
	}
	return ret;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	sv_unlock(&of(ex)->lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.status;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.imm;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.sl;
}

static uint8_t read_path_bits(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.path_bits;
}

/* Ticks of the device clock: ns of CLOCK_MONOTONIC, hca_core_clock is 1000000 kHz. */
static uint64_t read_ts(struct ibv_cq_ex *ex)
{
	return of(ex)->cur.ts;
}

static uint64_t read_wallclock(struct ibv_cq_ex *ex)
{
	struct timespec real, mono;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	return of(ex)->cur.ts + (uint64_t)((real.tv_sec - mono.tv_sec) * 1000000000 +
					   real.tv_nsec - mono.tv_nsec);
}

void sv_cq_ex_ops(struct sv_cq *cq)
{
	struct ibv_cq_ex *ex = &cq->ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	if (cq->wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (cq->wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (cq->wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (cq->wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_src_qp;
	if (cq->wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_slid;
	if (cq->wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_sl;
	if (cq->wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_path_bits;
	if (cq->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_ts;
	if (cq->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = read_wallclock;
}
