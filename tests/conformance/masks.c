/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attribute masks of each transition: all required ones, one less, one that is not allowed. */
#include <errno.h>

#include "pair.h"

#define CLAUSE "IBTA 11.2.5.2, ibv_modify_qp(3)"

static const struct {
	int bit;
	const char *name;
} bits[] = {
	{ IBV_QP_PKEY_INDEX, "PKEY_INDEX" }, { IBV_QP_PORT, "PORT" }, { IBV_QP_QKEY, "QKEY" },
	{ IBV_QP_ACCESS_FLAGS, "ACCESS_FLAGS" }, { IBV_QP_AV, "AV" },
	{ IBV_QP_PATH_MTU, "PATH_MTU" }, { IBV_QP_DEST_QPN, "DEST_QPN" },
	{ IBV_QP_RQ_PSN, "RQ_PSN" }, { IBV_QP_MAX_DEST_RD_ATOMIC, "MAX_DEST_RD_ATOMIC" },
	{ IBV_QP_MIN_RNR_TIMER, "MIN_RNR_TIMER" }, { IBV_QP_TIMEOUT, "TIMEOUT" },
	{ IBV_QP_RETRY_CNT, "RETRY_CNT" }, { IBV_QP_RNR_RETRY, "RNR_RETRY" },
	{ IBV_QP_SQ_PSN, "SQ_PSN" }, { IBV_QP_MAX_QP_RD_ATOMIC, "MAX_QP_RD_ATOMIC" },
};
#define NBITS (sizeof(bits) / sizeof(bits[0]))

static const struct {
	enum ibv_qp_type type;
	const char *name;
	int not_allowed[3];	/* for the steps to INIT, RTR, RTS */
	const char *what[3];
} types[] = {
	{ IBV_QPT_RC, "RC", { IBV_QP_PATH_MTU, IBV_QP_SQ_PSN, IBV_QP_DEST_QPN },
	  { "PATH_MTU", "SQ_PSN", "DEST_QPN" } },
	{ IBV_QPT_UC, "UC", { IBV_QP_QKEY, IBV_QP_MIN_RNR_TIMER, IBV_QP_RETRY_CNT },
	  { "QKEY", "MIN_RNR_TIMER", "RETRY_CNT" } },
	{ IBV_QPT_UD, "UD", { IBV_QP_ACCESS_FLAGS, IBV_QP_AV, IBV_QP_TIMEOUT },
	  { "ACCESS_FLAGS", "AV", "TIMEOUT" } },
};

static const char *const steps[] = { "RESET to INIT", "INIT to RTR", "RTR to RTS" };

static void refused(struct conf *c, struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		    const char *type, int step, const char *how, const char *what)
{
	int rc = ibv_modify_qp(qp, attr, mask);

	check(c, rc == EINVAL && qp_state(qp) == IBV_QPS_RESET + step, CLAUSE,
	      "%s %s %s %s is refused, the state stays", type, steps[step], how, what);
}

/* Every wrong mask first; then the right one, which takes the QP to the next step. */
static void one_step(struct conf *c, const struct opt *o, struct ibv_qp *qp, size_t t, int step)
{
	struct ibv_qp_attr attr;
	enum ibv_qp_state to = (enum ibv_qp_state)(IBV_QPS_INIT + step);
	int mask = attr_for(c, o, to, qp->qp_num, &attr);

	for (size_t i = 0; i < NBITS; i++)
		if (mask & bits[i].bit)
			refused(c, qp, &attr, mask & ~bits[i].bit, types[t].name, step, "without",
				bits[i].name);
	refused(c, qp, &attr, mask | types[t].not_allowed[step], types[t].name, step, "with",
		types[t].what[step]);
	check(c, !ibv_modify_qp(qp, &attr, mask) && qp_state(qp) == (int)to && qp->state == to,
	      CLAUSE, "%s %s with what is required is done", types[t].name, steps[step]);
}

void run_masks(struct conf *c)
{
	struct ibv_cq *cq = ibv_create_cq(c->ctx, 16, NULL, NULL, 0);

	for (size_t t = 0; cq && t < sizeof(types) / sizeof(types[0]); t++) {
		struct opt o = opt_default(types[t].type);
		struct ibv_qp *qp = qp_create(c, &o, cq, cq, NULL);

		if (!qp) {
			skip(c, "no QP of this type", "masks of %s", types[t].name);
			continue;
		}
		for (int step = 0; step < 3; step++)
			one_step(c, &o, qp, t, step);
		ibv_destroy_qp(qp);
	}
	if (cq)
		ibv_destroy_cq(cq);
}
