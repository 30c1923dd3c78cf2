/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What follows from the settings, on both ends alike: depths, windows, slots. Pure. */
#include "stream_parts.h"

#include <string.h>

#include "memory.h"

#define PAGE 4096
/* --verify keeps every message in flight apart: at most so many bytes a lane and direction. */
#define VERIFY_BYTES (64ull << 20)

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t stream_stride(uint64_t size)
{
	return (size + SLOT_ALIGN - 1) & ~(uint64_t)(SLOT_ALIGN - 1);
}

static uint64_t largest_size(const struct settings *s)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < s->sizes.count; i++)
		v = most(v, s->sizes.v[i]);
	return v;
}

/* Windows and receives; data and credits meet in one receive queue when both ends send. */
static void plan_credits(struct stream_plan *p, const struct settings *s, uint64_t at_most)
{
	uint64_t rx = s->rx_depth == OPTION_AUTO ? 512 : s->rx_depth;

	rx = least(rx, p->srq ? at_most * p->qps : at_most);
	p->window = (unsigned int)(p->srq ? most(rx / p->qps, 1) : rx);
	p->receives = (unsigned int)(p->srq ? most(rx, p->qps) : rx);
	p->recv_list = (unsigned int)least(s->recv_post_list, p->window);
	p->credit_each = (unsigned int)most(most(p->window / 4, p->recv_list), 1);
	p->list = (unsigned int)least(p->list, p->window);
	if (p->both_ways)
		p->receives *= 2;
}

void stream_plan(struct stream_plan *p, const struct settings *s, const struct op *op)
{
	uint64_t largest = largest_size(s);
	uint64_t at_most = s->verify ? most(VERIFY_BYTES / stream_stride(largest + UD_GRH_BYTES), 2) :
				       UINT32_MAX;

	memset(p, 0, sizeof(*p));
	p->op = op;
	p->ud = s->transport == TRANSPORT_UD;
	p->lossy = transport_loses((enum transport)s->transport);
	p->verify = s->verify;
	p->srq = s->srq && op->receives;
	p->both_ways = s->bidirectional;
	p->qps = (unsigned int)s->qps;
	p->depth = (unsigned int)least(s->tx_depth, at_most);
	p->list = (unsigned int)least(s->post_list, p->depth);
	p->largest = largest;
	p->buffer = s->buffer;
	if (op->receives)
		plan_credits(p, s, at_most);
	p->cq_mod = (unsigned int)least(op_cq_mod(s), most(p->depth / 2, 1));
	p->signal_lists = p->list + p->cq_mod - 1 > p->depth;
}

uint64_t stream_slots(const struct stream_plan *p, uint64_t size)
{
	uint64_t stride = stream_stride(size);
	uint64_t bytes = p->buffer == OPTION_AUTO ? PAGE : p->buffer;
	uint64_t slots = most(bytes / stride, 1);

	return p->verify ? most(slots, most(p->depth, p->window)) : slots;
}

/* Where receives lie. With --verify one each, in steps of the largest, whatever size is on. */
void stream_recv_walk(const struct stream_plan *p, uint64_t size, uint64_t *slots, uint64_t *stride)
{
	unsigned int grh = p->ud ? UD_GRH_BYTES : 0;

	*stride = stream_stride((p->verify ? p->largest : size) + grh);
	*slots = 1;
	if (p->op->access || !p->op->receives)
		return;
	if (p->verify)
		*slots = p->srq ? (p->receives + p->qps - 1) / p->qps : p->receives;
	else
		*slots = most((p->buffer == OPTION_AUTO ? PAGE : p->buffer) / *stride, 1);
}

void stream_areas(const struct settings *s, const struct op *op, size_t *send, size_t *recv)
{
	struct stream_plan p;

	stream_plan(&p, s, op);
	*send = *recv = 0;
	for (unsigned int i = 0; i < s->sizes.count; i++) {
		uint64_t size = s->sizes.v[i], slots, stride;
		uint64_t walk = stream_slots(&p, size) * stream_stride(size);

		stream_recv_walk(&p, size, &slots, &stride);
		*send = most(*send, walk);
		*recv = most(*recv, most(op->access ? walk : 0, slots * stride));
	}
	*send += SLOT_ALIGN; /* for the READ behind the WRITEs */
	if (op->receives) /* a receive of one size's walk must hold the largest */
		*recv += stream_stride(p.largest + UD_GRH_BYTES);
}

static bool confirmed_by_read(const struct settings *s, const struct op *op)
{
	return op->opcode == IBV_WR_RDMA_WRITE && s->transport == TRANSPORT_RC;
}

void stream_wish(struct endpoint_wish *w, const struct settings *s, const struct op *op)
{
	struct stream_plan p;

	stream_plan(&p, s, op);
	stream_areas(s, op, &w->send_area, &w->recv_area);
	w->tx_depth = p.depth + STREAM_SPARE_WRS;
	w->rx_depth = p.receives;
	if (op->receives)
		w->wr_ops |= IBV_QP_EX_WITH_SEND_WITH_IMM;
	if (!confirmed_by_read(s, op))
		return;
	w->wr_ops |= IBV_QP_EX_WITH_RDMA_READ;
	w->access |= IBV_ACCESS_REMOTE_READ;
}

uint64_t stream_memory(const struct settings *s, const struct op *op)
{
	size_t send, recv;

	stream_areas(s, op, &send, &recv);
	return s->qps * (page_align(send) + page_align(recv));
}
