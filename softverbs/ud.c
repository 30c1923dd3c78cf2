/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams: to one QP or to a multicast group; the first 40 bytes of the buffer are the GRH's. */
#include <arpa/inet.h>
#include <string.h>

#include "data.h"
#include "fault.h"

#define GRH 40
#define MULTICAST 0xffffff

struct ipv4 {			/* RoCE v2 over IPv4 has this in the last 20 bytes */
	uint8_t version_ihl, tos;
	uint16_t len, id, frag;
	uint8_t ttl, protocol;
	uint16_t check;
	uint8_t src[4], dst[4];
};

static bool mapped(const union ibv_gid *g)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(g->raw, prefix, 12);
}

static void fill_ipv4(uint8_t *buf, const struct ibv_ah_attr *av, const union ibv_gid *sgid,
		      uint32_t len)
{
	struct ipv4 h = { .version_ihl = 0x45, .tos = av->grh.traffic_class,
			  .ttl = av->grh.hop_limit, .protocol = 17,
			  .len = htons((uint16_t)(len + 20)) };
	uint32_t sum = 0;
	uint16_t w[10];

	memcpy(h.src, sgid->raw + 12, 4);
	memcpy(h.dst, av->grh.dgid.raw + 12, 4);
	memcpy(w, &h, sizeof(w));
	for (int i = 0; i < 10; i++)
		sum += w[i];
	sum = (sum & 0xffff) + (sum >> 16);
	h.check = (uint16_t)~(sum + (sum >> 16));
	memset(buf, 0, GRH);
	memcpy(buf + 20, &h, sizeof(h));
}

static void fill_grh(uint8_t *buf, const struct sv_job *j)
{
	const struct ibv_ah_attr *av = &j->w->av;
	const struct spec_port *port = sv_port_of(sv_self, j->qp->sh);
	struct ibv_grh h = { .next_hdr = 0x1b, .hop_limit = av->grh.hop_limit };
	uint8_t index = av->grh.sgid_index;

	memset(buf, 0, GRH);
	if (!av->is_global || !port || index >= port->ngids)
		return;
	if (port->gid_type[index] == IBV_GID_TYPE_ROCE_V2 && mapped(&port->gid[index])) {
		fill_ipv4(buf, av, &port->gid[index], j->w->len);
		return;
	}
	h.version_tclass_flow = htonl(6u << 28 | (uint32_t)av->grh.traffic_class << 20 |
				      (av->grh.flow_label & 0xfffff));
	h.paylen = htons((uint16_t)(j->w->len + 8 + 12 + 4));	/* DETH, BTH, ICRC */
	h.sgid = port->gid[index];
	h.dgid = av->grh.dgid;
	memcpy(buf, &h, GRH);
}

static bool accepts(struct sv_job *j, bool multicast)
{
	const struct spec_port *mine = sv_port_of(sv_self, j->qp->sh);
	const struct spec_port *to = sv_port_of(j->p, j->d);
	const struct sv_wqe *w = j->w;
	/* A Q_Key with the high bit set stands for that of the sending QP (IBTA 10.2.5). */
	uint32_t qkey = w->rqkey & 0x80000000u ? j->qp->sh->qkey : w->rqkey;
	uint32_t s = j->d->state;

	if (!mine || !to || j->d->type != IBV_QPT_UD || j->d->qkey != qkey ||
	    (s != IBV_QPS_RTR && s != IBV_QPS_RTS && s != IBV_QPS_SQD && s != IBV_QPS_SQE))
		return false;
	if (mine->link != to->link || mine->state != IBV_PORT_ACTIVE ||
	    to->state != IBV_PORT_ACTIVE || (!multicast && !sv_path_ok(&w->av, to)))
		return false;
	return sv_pkey_ok(mine->pkey[j->qp->sh->pkey_index % SPEC_PKEYS],
			  to->pkey[j->d->pkey_index % SPEC_PKEYS]);
}

static void receive(struct sv_job *j)
{
	struct sv_seg from[SV_SEGS + 1], to[SV_SEGS];
	uint8_t grh[GRH] __attribute__((aligned(8)));
	struct sv_taken t;
	uint64_t room;
	int n;

	if (sv_take(j->p, j->d, &t)) {
		j->d->lost++;
		return;
	}
	fill_grh(grh, j);
	from[0] = (struct sv_seg){ .p = grh, .len = GRH };
	memcpy(from + 1, j->seg, (size_t)j->nseg * sizeof(from[0]));
	n = sv_scatter(j->p, j->d, &t, to, &room);
	if (n < 0 || room < j->w->len + GRH) {
		sv_recv_done(j, &t, n < 0 ? IBV_WC_LOC_PROT_ERR : IBV_WC_LOC_LEN_ERR, 0);
		sv_resp_error(j->p, j->d, -1);
		return;
	}
	sv_copy(to, n, from, j->nseg + 1);
	sv_recv_done(j, &t, IBV_WC_SUCCESS, j->w->len + GRH);
}

static void deliver(struct sv_job *j, uint32_t qpn, bool multicast)
{
	struct sv_qp *qp = j->qp;
	uint32_t owner, off;

	if (!qp->dest || qp->dest->qpn != qpn || !sv_alive(qp->peer->owner)) {
		sv_conn_drop(qp);
		if (!sv_qpn_find(qpn, &owner, &off))
			return;
		qp->peer = sv_peer_get(owner);
		if (!qp->peer)
			return;
		qp->dest = sv_at(qp->peer, (uint64_t)off << 6);
	}
	j->p = qp->peer;
	j->d = qp->dest;
	sv_lock(&j->d->lock);
	if (j->d->qpn == qpn && accepts(j, multicast)) {
		receive(j);
		if (j->fault & SV_TWICE)
			receive(j);
	}
	sv_unlock(&j->d->lock);
}

static void deliver_group(struct sv_job *j)
{
	uint32_t n = __atomic_load_n(&sv_fabric->ngroups, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++) {
		const struct sv_group *g = &sv_fabric->group[i];
		uint32_t qpn = __atomic_load_n(&g->qpn, __ATOMIC_ACQUIRE);

		/* The sender does not hear itself unless it is a member, as the IBTA has it. */
		if (qpn && !memcmp(&g->gid, &j->w->av.grh.dgid, 16) &&
		    (!g->mlid || g->mlid == j->w->av.dlid))
			deliver(j, qpn, true);
	}
}

int sv_exec_ud(struct sv_job *j)
{
	const struct spec_port *port = sv_port_of(sv_self, j->qp->sh);

	j->qp->sq.psn = (j->qp->sq.psn + 1) & 0xffffff;
	/* One packet, of at most the port's MTU (IBTA 9.8.3). */
	if (!port || j->w->len > 128u << port->mtu)
		return IBV_WC_LOC_LEN_ERR;
	if (j->fault & SV_LOSE)
		return IBV_WC_SUCCESS;
	if (j->w->rqpn == MULTICAST)
		deliver_group(j);
	else
		deliver(j, j->w->rqpn, false);
	return IBV_WC_SUCCESS;
}
