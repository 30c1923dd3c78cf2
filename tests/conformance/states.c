/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which transitions exist, and what they do to the work that is queued. */
#include <errno.h>
#include <string.h>

#include "pair.h"

static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

/* To `from` by the way of the specification; ERR and RESET from anywhere. */
static int bring(struct conf *c, const struct opt *o, struct ibv_qp *qp, enum ibv_qp_state from)
{
	int rc = qp_set(qp, IBV_QPS_RESET);

	if (rc || from == IBV_QPS_RESET)
		return rc;
	if (from == IBV_QPS_ERR)
		return qp_up(c, o, qp, IBV_QPS_INIT, 0) || qp_set(qp, IBV_QPS_ERR);
	rc = qp_up(c, o, qp, from == IBV_QPS_SQD ? IBV_QPS_RTS : from, qp->qp_num);
	return rc || from != IBV_QPS_SQD ? rc : qp_set(qp, IBV_QPS_SQD);
}

static void transition(struct conf *c, const struct opt *o, struct ibv_qp *qp,
		       enum ibv_qp_state from, enum ibv_qp_state to, bool ok)
{
	int rc = bring(c, o, qp, from), want = ok ? (int)to : (int)from;

	if (rc) {
		check(c, false, "IBTA 10.3.1", "the state %s can be reached", names[from]);
		note("errno %d", rc);
		return;
	}
	rc = qp_step(c, o, qp, to, qp->qp_num);
	check(c, !rc == ok && qp_state(qp) == want, "IBTA 10.3.1, 11.2.5.2", "%s to %s is %s",
	      names[from], names[to], ok ? "done" : "refused");
}

static void transitions(struct conf *c, const struct opt *o, struct ibv_qp *qp)
{
	static const struct {
		enum ibv_qp_state from, to;
		bool ok;
	} rows[] = {
		{ IBV_QPS_RESET, IBV_QPS_RTR, false }, { IBV_QPS_RESET, IBV_QPS_RTS, false },
		{ IBV_QPS_INIT, IBV_QPS_RTS, false }, { IBV_QPS_INIT, IBV_QPS_SQD, false },
		{ IBV_QPS_RTR, IBV_QPS_SQD, false }, { IBV_QPS_RTR, IBV_QPS_INIT, false },
		{ IBV_QPS_RTS, IBV_QPS_INIT, false }, { IBV_QPS_RTS, IBV_QPS_RTR, false },
		{ IBV_QPS_ERR, IBV_QPS_INIT, false }, { IBV_QPS_ERR, IBV_QPS_RTS, false },
		{ IBV_QPS_RTS, IBV_QPS_SQE, false },
		{ IBV_QPS_INIT, IBV_QPS_ERR, true },
		{ IBV_QPS_RTR, IBV_QPS_ERR, true }, { IBV_QPS_RTS, IBV_QPS_ERR, true },
		{ IBV_QPS_SQD, IBV_QPS_ERR, true }, { IBV_QPS_ERR, IBV_QPS_ERR, true },
		{ IBV_QPS_INIT, IBV_QPS_RESET, true }, { IBV_QPS_RTR, IBV_QPS_RESET, true },
		{ IBV_QPS_RTS, IBV_QPS_RESET, true }, { IBV_QPS_ERR, IBV_QPS_RESET, true },
		{ IBV_QPS_RTS, IBV_QPS_SQD, true }, { IBV_QPS_SQD, IBV_QPS_RESET, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		transition(c, o, qp, rows[i].from, rows[i].to, rows[i].ok);
}

/* Transitions into the same state, with what may change there. */
static void changes(struct conf *c, const struct opt *o, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .qp_access_flags = 0 };
	struct ibv_qp_init_attr init;
	int rc;

	bring(c, o, qp, IBV_QPS_INIT);
	rc = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
	check(c, !rc && !ibv_query_qp(qp, &attr, IBV_QP_ACCESS_FLAGS, &init) &&
	      !(attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE), "IBTA 11.2.5.2",
	      "INIT to INIT changes the access rights");
	bring(c, o, qp, IBV_QPS_RTS);
	memset(&attr, 0, sizeof(attr));
	attr.min_rnr_timer = 3;
	rc = ibv_modify_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER);
	check(c, !rc && !ibv_query_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER, &init) &&
	      attr.min_rnr_timer == 3, "IBTA 11.2.5.2", "RTS changes the RNR timer");
	attr.timeout = 3;
	check_eq(c, ibv_modify_qp(qp, &attr, IBV_QP_TIMEOUT), EINVAL, "IBTA 11.2.5.2",
		 "RTS does not change the time-out");
	attr.qp_state = IBV_QPS_RTS;
	attr.cur_qp_state = IBV_QPS_RTR;
	check(c, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE) != 0 &&
	      qp_state(qp) == IBV_QPS_RTS, "ibv_modify_qp(3)",
	      "a current state that is not the current one is refused");
}

/* SQD: what was posted is drained, what is posted waits. */
static void drained(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_RDMA_WRITE, .len = 8 };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	check_eq(c, do_wr(&p, &w), IBV_WC_SUCCESS, "IBTA 10.3.1.4", "work is done in RTS");
	if (check_eq(c, qp_set(p.a.qp, IBV_QPS_SQD), 0, "IBTA 10.3.1.5", "RTS to SQD")) {
		check_eq(c, post(&p, &w), 0, "IBTA 10.3.1.5", "work is taken in SQD");
		check(c, quiet(p.a.scq), "IBTA 10.3.1.5", "but not done in SQD");
		check_eq(c, qp_set(p.a.qp, IBV_QPS_RTS), 0, "IBTA 10.3.1.5", "SQD to RTS");
		check_eq(c, wait_status(p.a.scq), IBV_WC_SUCCESS, "IBTA 10.3.1.5",
			 "what was posted in SQD is done when RTS is back");
	}
	pair_close(&p);
}

/* RESET throws away what is queued, without completions, and the QP can be used again. */
static void reset(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	post_recv(&p.a, 1, 0, 64);
	check(c, !qp_set(p.a.qp, IBV_QPS_RESET) && quiet(p.a.rcq), "IBTA 10.3.1.1",
	      "RESET drops the queued receives without completions");
	check_eq(c, pair_reconnect(&p), 0, "IBTA 10.3.1.1", "a QP goes through all states again");
	post_recv(&p.b, 2, 0, 64);
	check_eq(c, do_wr(&p, &w), IBV_WC_SUCCESS, "IBTA 10.3.1.1", "and works again");
	check_eq(c, wait_status(p.b.rcq), IBV_WC_SUCCESS, "IBTA 10.3.1.1", "on both sides");
	pair_close(&p);
}

void run_states(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_cq *cq = ibv_create_cq(c->ctx, 16, NULL, NULL, 0);
	struct ibv_qp *qp = cq ? qp_create(c, &o, cq, cq, NULL) : NULL;

	if (check(c, qp != NULL, "-", "a QP is made")) {
		transitions(c, &o, qp);
		changes(c, &o, qp);
		ibv_destroy_qp(qp);
	}
	if (cq)
		ibv_destroy_cq(cq);
	drained(c);
	reset(c);
}
