/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Would a packet of this QP reach the other one? Looked up once, and when either end changes. */
#include <string.h>
#include <sys/mman.h>

#include "data.h"

bool sv_pkey_ok(uint16_t a, uint16_t b)
{
	/* IBTA 10.9.3: equal without the membership bit, and not both limited. */
	return (a & 0x7fff) && (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

bool sv_path_ok(const struct ibv_ah_attr *av, const struct spec_port *to)
{
	bool gid = false;

	if (to->state != IBV_PORT_ACTIVE)
		return false;
	if (!av->is_global)
		return to->link == SPEC_LINK_IB && to->lid && av->dlid >= to->lid &&
		       av->dlid < to->lid + (1 << to->lmc);
	for (int i = 0; i < to->ngids && !gid; i++)
		gid = !memcmp(&to->gid[i], &av->grh.dgid, 16);
	return gid && (to->link != SPEC_LINK_IB || !to->lid ||
		       (av->dlid >= to->lid && av->dlid < to->lid + (1 << to->lmc)));
}

const struct spec_port *sv_port_of(struct sv_peer *p, const struct sv_qp_sh *d)
{
	const struct sv_ctx_sh *c = sv_at(p, d->ctx);

	return d->port >= 1 && d->port <= SPEC_PORTS ? &c->port[d->port - 1] : NULL;
}

static uint16_t pkey_of(const struct spec_port *port, uint32_t index)
{
	return index < (uint32_t)port->npkeys ? port->pkey[index] : 0;
}

static bool reachable(struct sv_qp *qp, struct sv_qp_sh *d)
{
	const struct spec_port *mine = sv_port_of(sv_self, qp->sh), *to = sv_port_of(qp->peer, d);

	if (!mine || !to || d->type != qp->sh->type || d->dest_qpn != qp->sh->qpn)
		return false;
	return mine->link == to->link && mine->state == IBV_PORT_ACTIVE &&
	       sv_path_ok(&qp->sh->av, to) && sv_path_ok(&d->av, mine) &&
	       sv_pkey_ok(pkey_of(mine, qp->sh->pkey_index), pkey_of(to, d->pkey_index));
}

void sv_conn_drop(struct sv_qp *qp)
{
	sv_peer_put(qp->peer);
	qp->peer = NULL;
	qp->dest = NULL;
	qp->reachable = false;
	qp->dest_ver = 0;
}

bool sv_conn_find(struct sv_qp *qp)
{
	uint32_t owner, off;

	if (!sv_qpn_find(qp->sh->dest_qpn, &owner, &off))
		return false;
	qp->peer = sv_peer_get(owner);
	if (!qp->peer)
		return false;
	qp->dest = sv_at(qp->peer, (uint64_t)off << 6);
	return true;
}

static bool listens(uint32_t state)
{
	return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD;
}

struct sv_qp_sh *sv_conn_lock(struct sv_qp *qp)
{
	struct sv_qp_sh *d;

	if (!qp->dest && !sv_conn_find(qp))
		return NULL;
	d = qp->dest;
	if (!sv_alive(qp->peer->owner)) {
		sv_conn_drop(qp);
		return NULL;
	}
	sv_lock(&d->lock);
	if (d->qpn != qp->sh->dest_qpn) {
		sv_unlock(&d->lock);
		sv_conn_drop(qp);
		return NULL;
	}
	if (d->ver != qp->dest_ver || qp->sh->ver != qp->my_ver) {
		qp->reachable = listens(d->state) && reachable(qp, d);
		qp->dest_ver = d->ver;
		qp->my_ver = qp->sh->ver;
	}
	if (!qp->reachable || !listens(d->state)) {
		sv_unlock(&d->lock);
		return NULL;
	}
	return d;
}

uint32_t sv_packets(const struct sv_qp *qp, uint64_t len)
{
	uint32_t mtu = 128u << qp->sh->mtu;

	return len <= mtu ? 1 : (uint32_t)((len + mtu - 1) / mtu);
}
