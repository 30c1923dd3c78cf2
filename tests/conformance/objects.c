/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creation and destruction: limits, capabilities granted, what is busy. */
#include <errno.h>
#include <string.h>

#include "pair.h"

static void cq_limits(struct conf *c)
{
	struct ibv_cq *cq = ibv_create_cq(c->ctx, 0, NULL, NULL, 0);

	check(c, !cq, "ibv_create_cq(3)", "a CQ without entries is refused");
	if (cq)
		ibv_destroy_cq(cq);
	cq = ibv_create_cq(c->ctx, c->dev.max_cqe + 1, NULL, NULL, 0);
	check(c, !cq, "IBTA 11.2.8.1", "a CQ above max_cqe is refused");
	if (cq)
		ibv_destroy_cq(cq);
	cq = ibv_create_cq(c->ctx, 10, NULL, NULL, c->ctx->num_comp_vectors);
	check(c, !cq, "ibv_create_cq(3)", "a completion vector behind the last is refused");
	if (cq)
		ibv_destroy_cq(cq);
	cq = ibv_create_cq(c->ctx, 10, c, NULL, 0);
	check(c, cq && cq->cqe >= 10 && cq->cq_context == c, "ibv_create_cq(3)",
	      "a CQ has at least the entries asked for, and its context");
	if (cq)
		check_eq(c, ibv_destroy_cq(cq), 0, "ibv_destroy_cq(3)", "an unused CQ is given up");
}

/* One limit too many in each capability. */
static void qp_limits(struct conf *c, struct ibv_cq *cq)
{
	struct ibv_qp_cap base = { 8, 8, 1, 1, 0 }, caps[5];
	static const char *const names[] = { "max_send_wr", "max_recv_wr", "max_send_sge",
					     "max_recv_sge", "max_inline_data" };

	for (int i = 0; i < 5; i++)
		caps[i] = base;
	caps[0].max_send_wr = (uint32_t)c->dev.max_qp_wr + 1;
	caps[1].max_recv_wr = (uint32_t)c->dev.max_qp_wr + 1;
	caps[2].max_send_sge = (uint32_t)c->dev.max_sge + 1;
	caps[3].max_recv_sge = (uint32_t)c->dev.max_sge + 1;
	caps[4].max_inline_data = 1u << 24;
	for (int i = 0; i < 5; i++) {
		struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .cap = caps[i],
						 .qp_type = IBV_QPT_RC };
		struct ibv_qp *qp = ibv_create_qp(c->pd, &init);

		check(c, !qp, "IBTA 11.2.5.1, ibv_create_qp(3)", "%s above the limit is refused",
		      names[i]);
		if (qp)
			ibv_destroy_qp(qp);
	}
}

static void qp_granted(struct conf *c, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_context = c,
					 .cap = { 10, 11, 3, 2, 20 }, .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(c->pd, &init);
	struct ibv_qp_init_attr got;
	struct ibv_qp_attr attr;

	if (!check(c, qp != NULL, "ibv_create_qp(3)", "a QP is made"))
		return;
	check(c, init.cap.max_send_wr >= 10 && init.cap.max_recv_wr >= 11 &&
	      init.cap.max_send_sge >= 3 && init.cap.max_recv_sge >= 2 &&
	      init.cap.max_inline_data >= 20, "IBTA 11.2.5.1",
	      "the capabilities returned are at least those asked for");
	check(c, qp->qp_num > 1 && qp->qp_num <= 0xffffff && qp->state == IBV_QPS_RESET &&
	      qp->qp_context == c && qp->qp_type == IBV_QPT_RC, "IBTA 10.3.1.1",
	      "a new QP has a number of 24 bits above 1 and is in RESET");
	check(c, !ibv_query_qp(qp, &attr, IBV_QP_CAP, &got) &&
	      !memcmp(&got.cap, &init.cap, sizeof(got.cap)), "ibv_query_qp(3)",
	      "ibv_query_qp gives the capabilities that were granted");
	note("granted %u %u %u %u %u, asked later %u %u %u %u %u", init.cap.max_send_wr,
	     init.cap.max_recv_wr, init.cap.max_send_sge, init.cap.max_recv_sge,
	     init.cap.max_inline_data, got.cap.max_send_wr, got.cap.max_recv_wr,
	     got.cap.max_send_sge, got.cap.max_recv_sge, got.cap.max_inline_data);
	check(c, got.send_cq == cq && got.recv_cq == cq && got.qp_type == IBV_QPT_RC,
	      "ibv_query_qp(3)", "ibv_query_qp gives the CQs and the type");
	check_eq(c, ibv_destroy_cq(cq), EBUSY, "IBTA 11.2.8.4, ibv_destroy_cq(3)",
		 "a CQ with a QP is not given up");
	check_eq(c, ibv_destroy_qp(qp), 0, "ibv_destroy_qp(3)", "a QP is given up");
}

static void qp_types(struct conf *c, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = (enum ibv_qp_type)77 };
	struct ibv_qp *qp = ibv_create_qp(c->pd, &init), *other;

	check(c, !qp, "ibv_create_qp(3)", "an unknown type of QP is refused");
	if (qp)
		ibv_destroy_qp(qp);
	init.qp_type = IBV_QPT_RC;
	qp = ibv_create_qp(c->pd, &init);
	other = ibv_create_qp(c->pd, &init);
	check(c, qp && other && qp->qp_num != other->qp_num, "IBTA 10.2.4.1",
	      "two QPs have two numbers");
	if (other)
		ibv_destroy_qp(other);
	if (qp)
		ibv_destroy_qp(qp);
}

void run_objects(struct conf *c)
{
	struct ibv_cq *cq;

	cq_limits(c);
	cq = ibv_create_cq(c->ctx, 16, NULL, NULL, 0);
	if (!check(c, cq != NULL, "ibv_create_cq(3)", "a CQ is made"))
		return;
	qp_limits(c, cq);
	qp_granted(c, cq);
	qp_types(c, cq);
	ibv_destroy_cq(cq);
}
