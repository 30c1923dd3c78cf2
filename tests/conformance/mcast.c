/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Multicast: attach, receive, detach. Joining (rdma_cm) is not the subject here. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"

#define GRH 40
#define MCAST_QPN 0xffffff

static void address(struct conf *c, struct ibv_ah_attr *av, uint16_t *lid)
{
	static const uint8_t ib[16] = { 0xff, 0x12, 0xa0, 0x1b, 0xff, 0xff, [15] = 0x77 };
	static const uint8_t v4[16] = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 2,
					[15] = 3 };
	bool mapped = !memcmp(c->gid.raw, v4, 12);

	av_to_self(c, av);
	*lid = c->port.link_layer == IBV_LINK_LAYER_ETHERNET ? 0 : 0xc001;
	av->dlid = *lid;
	av->is_global = 1;
	memcpy(av->grh.dgid.raw, mapped ? v4 : ib, 16);
	/* A group of our own: another run may go on at the same time. */
	av->grh.dgid.raw[13] = (uint8_t)(getpid() >> 8);
	av->grh.dgid.raw[14] = (uint8_t)getpid();
}

static void refused(struct conf *c, const union ibv_gid *gid, uint16_t lid)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct pair p;

	if (pair_open(c, &p, &o))
		return;
	check(c, ibv_attach_mcast(p.b.qp, gid, lid) != 0, "IBTA 10.5.2.1, ibv_attach_mcast(3)",
	      "an RC QP is not attached");
	pair_close(&p);
}

static int send_to_group(struct pair *p, struct ibv_ah *ah)
{
	struct wr w = { .op = IBV_WR_SEND, .len = 8 };
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	wr_fill(p, &w, &wr, &sge);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = MCAST_QPN;
	return ibv_post_send(p->a.qp, &wr, &bad) ? TIMED_OUT : wait_status(p->a.scq);
}

static void group(struct conf *c, struct pair *p, struct ibv_ah *ah, const union ibv_gid *gid,
		  uint16_t lid)
{
	struct ibv_wc wc;

	check_eq(c, ibv_attach_mcast(p->b.qp, gid, lid), 0, "ibv_attach_mcast(3)",
		 "a UD QP is attached");
	memset(p->a.buf, 0x31, 8);
	post_recv(&p->b, 4, 0, 100);
	check_eq(c, send_to_group(p, ah), IBV_WC_SUCCESS, "IBTA 10.5.2",
		 "a SEND to the group is done");
	check(c, wait_wc(p->b.rcq, &wc, WAIT_MS) == IBV_WC_SUCCESS && wc.wr_id == 4 &&
	      p->b.buf[GRH] == 0x31 && wc.wc_flags & IBV_WC_GRH, "IBTA 10.5.2.2",
	      "it is received by another QP of the sending port");
	check_eq(c, ibv_detach_mcast(p->b.qp, gid, lid), 0, "ibv_detach_mcast(3)",
		 "the QP is detached");
	post_recv(&p->b, 5, 0, 100);
	check_eq(c, send_to_group(p, ah), IBV_WC_SUCCESS, "IBTA 10.5.2",
		 "a SEND to a group without members is done");
	check(c, quiet(p->b.rcq), "IBTA 10.5.2", "and not received");
	check(c, ibv_detach_mcast(p->b.qp, gid, lid) != 0, "ibv_detach_mcast(3)",
	      "a second detach is refused");
}

void run_mcast(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_UD);
	struct ibv_ah_attr av;
	struct ibv_ah *ah;
	struct pair p;
	uint16_t lid;

	if (!c->dev.max_mcast_grp) {
		skip(c, "the device has no multicast", "multicast");
		return;
	}
	address(c, &av, &lid);
	refused(c, &av.grh.dgid, lid);
	if (pair_open(c, &p, &o))
		return;
	ah = ibv_create_ah(c->pd, &av);
	if (check(c, ah != NULL, "ibv_create_ah(3)", "a handle for a group is made")) {
		group(c, &p, ah, &av.grh.dgid, lid);
		ibv_destroy_ah(ah);
	}
	pair_close(&p);
}
