/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* QP numbers and multicast groups: the tables of the fabric that all its processes write. */
#include <errno.h>
#include <string.h>

#include "fabric.h"

uint32_t sv_qpn_alloc(uint32_t off)
{
	uint32_t qpn = 0;

	sv_lock(&sv_fabric->lock);
	for (uint32_t n = 0; n < SV_QPNS && !qpn; n++) {
		uint32_t i = sv_fabric->qpn_next++ % SV_QPNS;
		struct sv_qpn *q = &sv_fabric->qpn[i];

		/* Index 0 would give QPN 0 and 1 a chance, which belong to management. */
		if (i < 2 || q->owner)
			continue;
		qpn = (uint32_t)++sv_fabric->qpn_gen[i] << 16 | i;
		q->off = off;
		__atomic_store_n(&q->owner, sv_me, __ATOMIC_RELEASE);
	}
	sv_unlock(&sv_fabric->lock);
	return qpn;
}

void sv_qpn_free(uint32_t qpn)
{
	sv_lock(&sv_fabric->lock);
	__atomic_store_n(&sv_fabric->qpn[qpn & 0xffff].owner, 0, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < sv_fabric->ngroups; i++)
		if (sv_fabric->group[i].qpn == qpn)
			sv_fabric->group[i].qpn = 0;
	sv_unlock(&sv_fabric->lock);
}

bool sv_qpn_find(uint32_t qpn, uint32_t *owner, uint32_t *off)
{
	struct sv_qpn *q = &sv_fabric->qpn[qpn & 0xffff];

	*owner = __atomic_load_n(&q->owner, __ATOMIC_ACQUIRE);
	*off = q->off;
	return *owner && qpn <= 0xffffff && sv_fabric->qpn_gen[qpn & 0xffff] == qpn >> 16;
}

static struct sv_group *group_find(uint32_t qpn, const union ibv_gid *gid, uint16_t mlid)
{
	for (uint32_t i = 0; i < sv_fabric->ngroups; i++) {
		struct sv_group *g = &sv_fabric->group[i];

		if (g->qpn == qpn && (!qpn || (g->mlid == mlid && !memcmp(&g->gid, gid, 16))))
			return g;
	}
	return NULL;
}

/* Joining twice is one membership, as with the kernel. */
int sv_group_join(uint32_t qpn, const union ibv_gid *gid, uint16_t mlid)
{
	struct sv_group *g;
	int ret = 0;

	sv_lock(&sv_fabric->lock);
	g = group_find(qpn, gid, mlid);
	if (!g) {
		g = group_find(0, NULL, 0);
		if (!g && sv_fabric->ngroups < SV_GROUPS)
			g = &sv_fabric->group[sv_fabric->ngroups++];
		if (g) {
			g->mlid = mlid;
			g->gid = *gid;
			__atomic_store_n(&g->qpn, qpn, __ATOMIC_RELEASE);
		} else {
			ret = ENOMEM;
		}
	}
	sv_unlock(&sv_fabric->lock);
	return ret;
}

int sv_group_leave(uint32_t qpn, const union ibv_gid *gid, uint16_t mlid)
{
	struct sv_group *g;

	sv_lock(&sv_fabric->lock);
	g = group_find(qpn, gid, mlid);
	if (g)
		__atomic_store_n(&g->qpn, 0, __ATOMIC_RELEASE);
	sv_unlock(&sv_fabric->lock);
	return g ? 0 : EINVAL;
}
