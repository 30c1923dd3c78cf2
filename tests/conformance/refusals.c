/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a device need not have: it works, or is refused with the errno of its page. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

/* Some providers say ENOSYS, where the call is older than EOPNOTSUPP in libibverbs. */
static bool unsupported(int err)
{
	return err == EOPNOTSUPP || err == ENOSYS;
}

static void has_or_refuses(struct conf *c, bool has, int err, const char *page, const char *call)
{
	check(c, has || unsupported(err), page, "%s works or says EOPNOTSUPP", call);
	if (!has && !unsupported(err))
		note("errno %d: %s", err, strerror(err));
}

static void memory_kinds(struct conf *c)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = 4096 };
	struct ibv_dm *dm;
	struct ibv_mw *mw;
	struct ibv_mr *mr;

	errno = 0;
	mw = ibv_alloc_mw(c->pd, IBV_MW_TYPE_1);
	has_or_refuses(c, mw, errno, "ibv_alloc_mw(3)", "ibv_alloc_mw");
	if (mw)
		ibv_dealloc_mw(mw);
	errno = 0;
	dm = ibv_alloc_dm(c->ctx, &dm_attr);
	has_or_refuses(c, dm, errno, "ibv_alloc_dm(3)", "ibv_alloc_dm");
	if (dm)
		ibv_free_dm(dm);
	errno = 0;
	mr = ibv_reg_dmabuf_mr(c->pd, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE);
	check(c, !mr && (unsupported(errno) || errno == EBADF), "ibv_reg_dmabuf_mr(3)",
	      "ibv_reg_dmabuf_mr of no file says EBADF or EOPNOTSUPP");
	errno = 0;
	mr = ibv_reg_mr(c->pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
	check(c, mr || errno, "ibv_reg_mr(3)", "on-demand paging works or is refused");
	if (mr)
		ibv_dereg_mr(mr);
}

static void contexts(struct conf *c)
{
	struct ibv_xrcd_init_attr xrc = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
					  IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT };
	struct ibv_td_init_attr td_attr = { .comp_mask = 0 };
	struct ibv_values_ex v = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_xrcd *xrcd;
	struct ibv_td *td;
	int rc;

	errno = 0;
	xrcd = ibv_open_xrcd(c->ctx, &xrc);
	has_or_refuses(c, xrcd, errno, "ibv_open_xrcd(3)", "ibv_open_xrcd");
	if (xrcd)
		ibv_close_xrcd(xrcd);
	errno = 0;
	td = ibv_alloc_td(c->ctx, &td_attr);
	has_or_refuses(c, td, errno, "ibv_alloc_td(3)", "ibv_alloc_td");
	if (td)
		ibv_dealloc_td(td);
	rc = ibv_query_rt_values_ex(c->ctx, &v);
	check(c, !rc || unsupported(rc), "ibv_query_rt_values_ex(3)",
	      "ibv_query_rt_values_ex works or says EOPNOTSUPP");
}

static void queues(struct conf *c, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr wq_attr = { .wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1,
					    .pd = c->pd, .cq = cq };
	struct ibv_modify_cq_attr moderate = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					       .moderate = { 1, 1 } };
	struct ibv_wq *wq;
	int rc;

	errno = 0;
	wq = ibv_create_wq(c->ctx, &wq_attr);
	has_or_refuses(c, wq, errno, "ibv_create_wq(3)", "ibv_create_wq");
	if (wq)
		ibv_destroy_wq(wq);
	rc = ibv_modify_cq(cq, &moderate);
	check(c, !rc || unsupported(rc), "ibv_modify_cq(3)",
		 "ibv_modify_cq works or says EOPNOTSUPP");
}

static void flows(struct conf *c, struct ibv_cq *cq)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_qp *qp = qp_create(c, &o, cq, cq, NULL);
	struct ibv_flow_attr flow = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow),
				      .port = c->port_num };
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 1000 };
	struct ibv_flow *f;
	int rc;

	if (!qp)
		return;
	errno = 0;
	f = ibv_create_flow(qp, &flow);
	check(c, f || errno, "ibv_create_flow(3)", "ibv_create_flow works or is refused");
	if (f)
		ibv_destroy_flow(f);
	rc = ibv_modify_qp_rate_limit(qp, &rate);
	check(c, rc != 0, "ibv_modify_qp_rate_limit(3)", "a rate limit in RESET is refused");
	rc = ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0);
	check(c, rc == 0 || rc == 1, "ibv_query_qp_data_in_order(3)",
	      "ibv_query_qp_data_in_order says 0 or 1");
	ibv_destroy_qp(qp);
}

void run_refusals(struct conf *c)
{
	struct ibv_cq *cq = ibv_create_cq(c->ctx, 16, NULL, NULL, 0);

	memory_kinds(c);
	contexts(c);
	if (cq) {
		queues(c, cq);
		flows(c, cq);
		ibv_destroy_cq(cq);
	}
}
