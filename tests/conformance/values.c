/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes: out of range they are refused, in range they are given back. */
#include <errno.h>
#include <string.h>

#include "pair.h"

/* One wrong value in an otherwise right transition, which then works with the right one. */
static void wrong(struct conf *c, struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask,
		  const char *what)
{
	struct ibv_qp_attr bad = *attr;
	int state = qp_state(qp);

	check(c, ibv_modify_qp(qp, &bad, mask) != 0 && qp_state(qp) == state,
	      "IBTA 11.2.5.2, ibv_modify_qp(3)", "%s is refused", what);
	if (qp_state(qp) != state)
		qp_set(qp, IBV_QPS_RESET);
}

static void init_values(struct conf *c, const struct opt *o, struct ibv_qp *qp)
{
	struct ibv_qp_attr good, bad;
	int mask = attr_for(c, o, IBV_QPS_INIT, 0, &good);

	bad = good;
	bad.port_num = 0;
	wrong(c, qp, &bad, mask, "port 0");
	bad.port_num = (uint8_t)(c->dev.phys_port_cnt + 1);
	wrong(c, qp, &bad, mask, "a port behind the last");
	bad = good;
	bad.pkey_index = c->port.pkey_tbl_len;
	wrong(c, qp, &bad, mask, "a P_Key index behind the table");
	ibv_modify_qp(qp, &good, mask);
}

static void rtr_values(struct conf *c, const struct opt *o, struct ibv_qp *qp)
{
	struct ibv_qp_attr good, bad;
	int mask = attr_for(c, o, IBV_QPS_RTR, qp->qp_num, &good);

	bad = good;
	bad.path_mtu = 0;
	wrong(c, qp, &bad, mask, "path MTU 0");
	qp_up(c, o, qp, IBV_QPS_INIT, 0);
	bad.path_mtu = (enum ibv_mtu)(IBV_MTU_4096 + 1);
	wrong(c, qp, &bad, mask, "a path MTU above 4096");
	qp_up(c, o, qp, IBV_QPS_INIT, 0);
	bad = good;
	bad.min_rnr_timer = 32;
	wrong(c, qp, &bad, mask, "an RNR timer above 31");
	qp_up(c, o, qp, IBV_QPS_INIT, 0);
	bad = good;
	bad.ah_attr.port_num = (uint8_t)(c->dev.phys_port_cnt + 1);
	wrong(c, qp, &bad, mask, "an address of a port behind the last");
	qp_up(c, o, qp, IBV_QPS_INIT, 0);
	bad = good;
	bad.ah_attr.is_global = 1;
	bad.ah_attr.grh.sgid_index = (uint8_t)c->port.gid_tbl_len;
	if (c->port.gid_tbl_len < 256)
		wrong(c, qp, &bad, mask, "a source GID index behind the table");
	else
		skip(c, "256 GIDs or more", "a source GID index behind the table");
	qp_set(qp, IBV_QPS_RESET);
	qp_up(c, o, qp, IBV_QPS_RTR, qp->qp_num);
}

static void rts_values(struct conf *c, const struct opt *o, struct ibv_qp *qp)
{
	static const char *const names[] = { "a time-out above 31", "a retry count above 7",
					     "an RNR retry count above 7" };
	struct ibv_qp_attr good, bad[3];
	int mask = attr_for(c, o, IBV_QPS_RTS, qp->qp_num, &good);

	for (int i = 0; i < 3; i++)
		bad[i] = good;
	bad[0].timeout = 32;
	bad[1].retry_cnt = 8;
	bad[2].rnr_retry = 8;
	for (int i = 0; i < 3; i++) {
		wrong(c, qp, &bad[i], mask, names[i]);
		qp_set(qp, IBV_QPS_RESET);
		qp_up(c, o, qp, IBV_QPS_RTR, qp->qp_num);
	}
	bad[0] = good;
	if (c->dev.max_qp_init_rd_atom >= 255) {
		skip(c, "the limit is 255 or more", "max_rd_atomic above the limit");
		return;
	}
	bad[0].max_rd_atomic = (uint8_t)(c->dev.max_qp_init_rd_atom + 1);
	wrong(c, qp, &bad[0], mask, "max_rd_atomic above the limit of the device");
}

static void given_back(struct conf *c, const struct opt *o, struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a, given;
	const char *page = "IBTA 11.2.5.3, ibv_query_qp(3)";
	int all = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | IBV_QP_AV |
		  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		  IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

	qp_set(qp, IBV_QPS_RESET);
	if (qp_up(c, o, qp, IBV_QPS_RTS, qp->qp_num) || ibv_query_qp(qp, &a, all, &init)) {
		check(c, false, page, "a QP in RTS can be asked");
		return;
	}
	check(c, a.qp_state == IBV_QPS_RTS && a.port_num == c->port_num && a.pkey_index == 0, page,
	      "state, port and P_Key index are given back");
	check(c, a.dest_qp_num == qp->qp_num, page, "the peer's QPN is given back");
	check(c, a.rq_psn == o->psn && a.sq_psn == o->psn, page, "both PSNs are given back");
	check(c, (a.qp_access_flags & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	      IBV_ACCESS_REMOTE_ATOMIC)) == (ALL_ACCESS & ~IBV_ACCESS_LOCAL_WRITE), page,
	      "the access rights are given back");
	check(c, a.timeout == o->timeout && a.retry_cnt == o->retry &&
	      a.rnr_retry == o->rnr_retry && a.min_rnr_timer == o->min_rnr_timer, page,
	      "time-out, retry counts and RNR timer are given back");
	attr_for(c, o, IBV_QPS_RTS, 0, &given);
	check(c, a.max_rd_atomic == given.max_rd_atomic && a.max_dest_rd_atomic > 0, page,
	      "both READ depths are given back");
	check(c, a.ah_attr.dlid == c->port.lid && a.ah_attr.is_global == c->grh &&
	      (!c->grh || !memcmp(&a.ah_attr.grh.dgid, &c->gid, 16)), page,
	      "the address is given back");
}

void run_values(struct conf *c)
{
	struct opt o = opt_default(IBV_QPT_RC);
	struct ibv_cq *cq = ibv_create_cq(c->ctx, 16, NULL, NULL, 0);
	struct ibv_qp *qp = cq ? qp_create(c, &o, cq, cq, NULL) : NULL;

	if (check(c, qp != NULL, "-", "a QP is made")) {
		init_values(c, &o, qp);
		rtr_values(c, &o, qp);
		rts_values(c, &o, qp);
		given_back(c, &o, qp);
		ibv_destroy_qp(qp);
	}
	if (cq)
		ibv_destroy_cq(cq);
}
