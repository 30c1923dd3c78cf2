/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "lane.h"

#include "post_ops.h"

static int post_send(struct lane *l, uint64_t id)
{
	struct ibv_send_wr *bad;

	l->wr.wr_id = id;
	return ibv_post_send(l->qp, &l->wr, &bad);
}

static inline __attribute__((always_inline)) int post_one(struct lane *l, uint64_t id,
							  enum op_kind op, bool ud, bool in_line)
{
	ibv_wr_start(l->qpx);
	l->qpx->wr_id = id;
	l->qpx->wr_flags = l->wr.send_flags;
	post_wr(l, op, ud, in_line);
	return ibv_wr_complete(l->qpx);
}

#define POST_ONE(name, op, ud, in_line)                                                             \
	static int name(struct lane *l, uint64_t id)                                                \
	{                                                                                           \
		return post_one(l, id, op, ud, in_line);                                            \
	}

POST_ONE(post_write, OP_WRITE, false, false)
POST_ONE(post_write_inline, OP_WRITE, false, true)
POST_ONE(post_write_imm, OP_WRITE_IMM, false, false)
POST_ONE(post_write_imm_inline, OP_WRITE_IMM, false, true)
POST_ONE(post_a_send, OP_SEND, false, false)
POST_ONE(post_a_send_inline, OP_SEND, false, true)
POST_ONE(post_send_imm, OP_SEND_IMM, false, false)
POST_ONE(post_send_imm_inline, OP_SEND_IMM, false, true)
POST_ONE(post_ud_send, OP_SEND, true, false)
POST_ONE(post_ud_send_inline, OP_SEND, true, true)
POST_ONE(post_ud_send_imm, OP_SEND_IMM, true, false)
POST_ONE(post_ud_send_imm_inline, OP_SEND_IMM, true, true)
POST_ONE(post_read, OP_READ, false, false)
POST_ONE(post_fetch_add, OP_FETCH_ADD, false, false)
POST_ONE(post_cmp_swap, OP_CMP_SWAP, false, false)

/* By operation, UD or not, inline or not. */
static const lane_post posts[OP_KINDS][2][2] = {
	[OP_WRITE] = { { post_write, post_write_inline } },
	[OP_WRITE_IMM] = { { post_write_imm, post_write_imm_inline } },
	[OP_SEND] = { { post_a_send, post_a_send_inline }, { post_ud_send, post_ud_send_inline } },
	[OP_SEND_IMM] = { { post_send_imm, post_send_imm_inline },
			  { post_ud_send_imm, post_ud_send_imm_inline } },
	[OP_READ] = { { post_read } },
	[OP_FETCH_ADD] = { { post_fetch_add } },
	[OP_CMP_SWAP] = { { post_cmp_swap } },
};

static void fill_remote(struct lane *l, const struct endpoint *e,
			const struct endpoint_address *remote, const struct lane_plan *plan)
{
	unsigned int i = l->index;
	uint64_t addr = remote->vaddr + i * remote->stride;

	if (plan->transport == TRANSPORT_UD) {
		l->wr.wr.ud.ah = e->ahs[i];
		l->wr.wr.ud.remote_qpn = remote->qpns[i];
		l->wr.wr.ud.remote_qkey = e->qkey;
	} else if (op_get(plan->op)->access == IBV_ACCESS_REMOTE_ATOMIC) {
		l->wr.wr.atomic.remote_addr = addr;
		l->wr.wr.atomic.rkey = remote->rkeys[i];
		l->wr.wr.atomic.compare_add = plan->op == OP_FETCH_ADD;
		l->wr.wr.atomic.swap = 1;
	} else {
		l->wr.wr.rdma.remote_addr = addr;
		l->wr.wr.rdma.rkey = remote->rkeys[i];
	}
}

static void fill_recv(struct lane *l, const struct endpoint *e, const struct lane_plan *plan)
{
	uint32_t grh = plan->transport == TRANSPORT_UD ? UD_GRH_BYTES : 0;
	/* A receive of the SRQ may serve any QP; a WRITE's data goes to the area of its own. */
	unsigned int i = e->srq ? 0 : l->index;
	char *area = endpoint_recv_area(e, i);

	l->recv = op_get(plan->op)->access ? endpoint_recv_area(e, l->index) : area + grh;
	l->srq = e->srq;
	l->recv_sge = (struct ibv_sge){
		(uintptr_t)area, (uint32_t)plan->recv_size + grh, endpoint_mr(e, i)->lkey
	};
	l->recv_wr = (struct ibv_recv_wr){
		.wr_id = l->index, .sg_list = &l->recv_sge, .num_sge = 1,
	};
}

static void fill_send(struct lane *l, const struct endpoint *e, const struct lane_plan *plan)
{
	const struct op *op = op_get(plan->op);
	bool in_line = !op->fetches && plan->size <= plan->most_inline;
	bool ud = plan->transport == TRANSPORT_UD;

	l->send = endpoint_send_area(e, l->index);
	l->sge = (struct ibv_sge){
		(uintptr_t)l->send, (uint32_t)plan->size, endpoint_mr(e, l->index)->lkey
	};
	l->wr = (struct ibv_send_wr){
		.sg_list = &l->sge,
		.num_sge = 1,
		.opcode = op->opcode,
		.send_flags = IBV_SEND_SIGNALED | (in_line ? IBV_SEND_INLINE : 0),
	};
	l->qpx = e->post == POST_WR ? ibv_qp_to_qp_ex(l->qp) : NULL;
	l->post = e->post == POST_WR ? posts[plan->op][ud][in_line] : post_send;
}

void lane_fill(struct lane *l, unsigned int index, const struct endpoint *e,
	       const struct endpoint_address *remote, const struct lane_plan *plan)
{
	*l = (struct lane){
		.next = l->next,
		.index = index,
		.qp = e->qps[index],
		.cqs = endpoint_cqs_of(e, index),
		.consumed = l->consumed,
	};
	fill_send(l, e, plan);
	fill_recv(l, e, plan);
	fill_remote(l, e, remote, plan);
}

void lanes_fill(struct lane *lanes, unsigned int count, const struct endpoint *e,
		const struct endpoint_address *remote, const struct lane_plan *plan)
{
	for (unsigned int i = 0; i < count; i++) {
		lanes[i].next = &lanes[(i + 1) % count];
		lane_fill(&lanes[i], i, e, remote, plan);
	}
}

#define RECEIVES_A_POST 64

int lane_post_receives(struct lane *l, unsigned int n)
{
	struct ibv_recv_wr list[RECEIVES_A_POST], *bad;

	while (n) {
		unsigned int some = n < RECEIVES_A_POST ? n : RECEIVES_A_POST;
		int rc;

		for (unsigned int i = 0; i < some; i++) {
			list[i] = l->recv_wr;
			list[i].next = i + 1 < some ? &list[i + 1] : NULL;
		}
		rc = l->srq ? ibv_post_srq_recv(l->srq, list, &bad) : ibv_post_recv(l->qp, list, &bad);
		if (rc)
			return rc;
		n -= some;
	}
	return 0;
}
