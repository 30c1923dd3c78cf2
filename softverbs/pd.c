/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains, thread domains, address handles. */
#include "pd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "fault.h"

static struct sv_pd *new_pd(struct ibv_context *c, uint32_t id)
{
	static uint32_t last;
	struct sv_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->ibv.context = c;
	pd->id = id ? id : __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	pd->ibv.handle = pd->id;
	__atomic_add_fetch(&sv_ctx(c)->refs, 1, __ATOMIC_RELAXED);
	return pd;
}

struct ibv_pd *sv_alloc_pd(struct ibv_context *c)
{
	struct sv_pd *pd;

	errno = sv_fail_ctx(c, SPEC_CALL_alloc_pd);
	if (errno)
		return NULL;
	pd = new_pd(c, 0);
	return pd ? &pd->ibv : NULL;
}

int sv_dealloc_pd(struct ibv_pd *ibpd)
{
	struct sv_pd *pd = sv_pd(ibpd);
	int ret = sv_fail_ctx(ibpd->context, SPEC_CALL_dealloc_pd);

	if (ret)
		return ret;
	if (__atomic_load_n(&pd->refs, __ATOMIC_ACQUIRE))
		return EBUSY;
	if (pd->parent)
		__atomic_sub_fetch(&pd->parent->refs, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&sv_ctx(ibpd->context)->refs, 1, __ATOMIC_RELAXED);
	free(pd);
	return 0;
}

struct ibv_td *sv_alloc_td(struct ibv_context *c, struct ibv_td_init_attr *attr)
{
	struct ibv_td *td;

	errno = sv_fail_ctx(c, SPEC_CALL_alloc_td);
	if (!errno && attr->comp_mask)
		errno = EINVAL;
	if (errno)
		return NULL;
	td = calloc(1, sizeof(*td));
	if (td)
		td->context = c;
	return td;
}

int sv_dealloc_td(struct ibv_td *td)
{
	free(td);
	return 0;
}

/* Objects of a parent domain belong to the domain it was made of; allocators are not taken. */
struct ibv_pd *sv_alloc_parent_domain(struct ibv_context *c,
				      struct ibv_parent_domain_init_attr *attr)
{
	struct sv_pd *pd;

	errno = sv_fail_ctx(c, SPEC_CALL_alloc_parent_domain);
	if (errno)
		return NULL;
	if (!attr->pd || attr->comp_mask & ~(uint32_t)IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) {
		errno = attr->pd ? EOPNOTSUPP : EINVAL;
		return NULL;
	}
	pd = new_pd(c, sv_pd(attr->pd)->id);
	if (!pd)
		return NULL;
	pd->parent = sv_pd(attr->pd);
	__atomic_add_fetch(&pd->parent->refs, 1, __ATOMIC_RELAXED);
	return &pd->ibv;
}

struct ibv_ah *sv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct sv_dev *dev = sv_ctx(pd->context)->dev;
	struct sv_ah *ah;

	errno = sv_fail(dev, SPEC_CALL_create_ah);
	if (!errno)
		errno = sv_check_av(pd->context, attr);
	if (errno)
		return NULL;
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	ah->attr = *attr;
	__atomic_add_fetch(&sv_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	if (dev->trace)
		trace_path(dev->trace, dev->ibv.name, "ah", 0, attr);
	return &ah->ibv;
}

int sv_destroy_ah(struct ibv_ah *ah)
{
	int ret = sv_fail_ctx(ah->context, SPEC_CALL_destroy_ah);

	if (ret)
		return ret;
	__atomic_sub_fetch(&sv_pd(ah->pd)->refs, 1, __ATOMIC_RELAXED);
	free(ah);
	return 0;
}

static int find_gid(const struct spec_port *p, const uint8_t gid[16])
{
	for (int i = 0; i < p->ngids; i++)
		if (!memcmp(p->gid[i].raw, gid, 16))
			return i;
	return -1;
}

/* The GRH of a received datagram, turned round. IPv4 stands in its last 20 bytes. */
static int reverse_grh(const struct spec_port *p, const struct ibv_grh *grh,
		       struct ibv_ah_attr *attr)
{
	const uint8_t *raw = (const uint8_t *)grh;
	uint8_t src[16] = { [10] = 0xff, [11] = 0xff }, dst[16] = { [10] = 0xff, [11] = 0xff };
	bool v4 = raw[0] >> 4 != 6 && raw[20] == 0x45;
	uint32_t word = ntohl(grh->version_tclass_flow);
	int index;

	memcpy(v4 ? src + 12 : src, v4 ? raw + 32 : grh->sgid.raw, v4 ? 4 : 16);
	memcpy(v4 ? dst + 12 : dst, v4 ? raw + 36 : grh->dgid.raw, v4 ? 4 : 16);
	index = find_gid(p, dst);
	/* To a multicast address: the answer comes from our first GID. */
	if (index < 0 && (dst[0] == 0xff || (v4 && dst[12] >> 4 == 14)))
		index = 0;
	if (index < 0)
		return EINVAL;
	attr->is_global = 1;
	memcpy(attr->grh.dgid.raw, src, 16);
	attr->grh.sgid_index = (uint8_t)index;
	attr->grh.hop_limit = 0xff;
	attr->grh.flow_label = v4 ? 0 : word & 0xfffff;
	attr->grh.traffic_class = v4 ? raw[21] : (uint8_t)(word >> 20);
	return 0;
}

int sv_init_ah_from_wc(struct ibv_context *c, uint8_t port, struct ibv_wc *wc,
		       struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	const struct spec_port *p = sv_port(c, port);

	memset(attr, 0, sizeof(*attr));
	if (!p) {
		errno = EINVAL;
		return -1;
	}
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port;
	if (wc->wc_flags & IBV_WC_GRH) {
		errno = reverse_grh(p, grh, attr);
		return errno ? -1 : 0;
	}
	return 0;
}
