/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a device says of itself and its ports. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <stdio.h>

#include "device.h"
#include "fault.h"
#include "work.h"

#define VENDOR 0x5356		/* "SV" */

const struct spec_port *sv_port(struct ibv_context *c, uint32_t port)
{
	const struct spec_device *s = sv_ctx(c)->dev->spec;

	return port >= 1 && port <= (uint32_t)s->nports ? &s->port[port - 1] : NULL;
}

static void fill_attr(const struct spec_device *s, struct ibv_device_attr *a)
{
	memset(a, 0, sizeof(*a));
	snprintf(a->fw_ver, sizeof(a->fw_ver), "softverbs-%s", VERBSPERF_VERSION);
	a->node_guid = a->sys_image_guid = htobe64(s->guid);
	a->max_mr_size = s->max_mr_size;
	a->page_size_cap = 4096;
	a->vendor_id = VENDOR;
	a->max_qp = (int)s->max_qp;
	a->max_qp_wr = (int)s->max_qp_wr;
	a->device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_PORT_ACTIVE_EVENT |
			      IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_CURR_QP_STATE_MOD;
	a->max_sge = SV_MAX_SGE;
	a->max_sge_rd = SV_MAX_SGE;
	a->max_cq = SV_OBJECTS;
	a->max_cqe = (int)s->max_cqe;
	a->max_mr = SV_MRS - 1;
	a->max_pd = 1 << 20;
	a->max_qp_rd_atom = (int)s->max_rd_atomic;
	a->max_res_rd_atom = (int)(s->max_rd_atomic * s->max_qp);
	a->max_qp_init_rd_atom = (int)s->max_rd_atomic;
	a->atomic_cap = s->atomic;
	a->max_mcast_grp = SV_GROUPS;
	a->max_mcast_qp_attach = SV_GROUPS;
	a->max_total_mcast_qp_attach = SV_GROUPS;
	a->max_ah = 1 << 20;
	a->max_srq = SV_OBJECTS;
	a->max_srq_wr = (int)s->max_qp_wr;
	a->max_srq_sge = SV_MAX_SGE;
	a->max_pkeys = (uint16_t)s->port[0].npkeys;
	a->phys_port_cnt = (uint8_t)s->nports;
}

int sv_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
	int ret = sv_fail_ctx(c, SPEC_CALL_query_device);

	if (!ret)
		fill_attr(sv_ctx(c)->dev->spec, attr);
	return ret;
}

int sv_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
		       struct ibv_device_attr_ex *attr, size_t len)
{
	struct ibv_device_attr_ex a;
	int ret = sv_fail_ctx(c, SPEC_CALL_query_device_ex);

	if (ret)
		return ret;
	if (in && in->comp_mask)
		return EINVAL;
	memset(&a, 0, sizeof(a));
	fill_attr(sv_ctx(c)->dev->spec, &a.orig_attr);
	a.device_cap_flags_ex = a.orig_attr.device_cap_flags;
	a.completion_timestamp_mask = UINT64_MAX;
	a.hca_core_clock = 1000000;	/* kHz: time stamps are ns */
	a.phys_port_cnt_ex = a.orig_attr.phys_port_cnt;
	memset(attr, 0, len);
	memcpy(attr, &a, len < sizeof(a) ? len : sizeof(a));
	return 0;
}

int sv_query_rt_values(struct ibv_context *c, struct ibv_values_ex *values)
{
	uint64_t now = sv_now();
	int ret = sv_fail_ctx(c, SPEC_CALL_query_rt_values_ex);

	if (ret)
		return ret;
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	if (values->comp_mask) {
		values->raw_clock.tv_sec = (time_t)(now / 1000000000u);
		values->raw_clock.tv_nsec = (long)(now % 1000000000u);
	}
	return 0;
}

static uint8_t link_layer(enum spec_link link)
{
	return link == SPEC_LINK_IB ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
}

int sv_query_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t len)
{
	const struct spec_port *p = sv_port(c, port);
	struct ibv_port_attr a;
	int ret = sv_fail_ctx(c, SPEC_CALL_query_port);

	if (ret)
		return ret;
	if (!p)
		return EINVAL;
	memset(&a, 0, sizeof(a));
	a.state = p->state;
	a.phys_state = p->state == IBV_PORT_DOWN ? 3 : 5;	/* disabled, LinkUp */
	a.max_mtu = IBV_MTU_4096;
	a.active_mtu = p->mtu;
	a.gid_tbl_len = p->ngids;
	a.pkey_tbl_len = (uint16_t)p->npkeys;
	a.max_msg_sz = sv_ctx(c)->dev->spec->max_msg;
	a.lid = p->lid;
	a.sm_lid = p->sm_lid;
	a.lmc = p->lmc;
	a.max_vl_num = 1;
	a.active_width = p->width;
	a.active_speed = p->speed;
	a.link_layer = link_layer(p->link);
	if (p->link == SPEC_LINK_ETH)
		a.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
#ifdef IBV_QPF_GRH_REQUIRED
	a.flags = p->grh_required ? IBV_QPF_GRH_REQUIRED : 0;
#else
	a.flags = p->grh_required ? 1 : 0;
#endif
	memset(attr, 0, len);
	memcpy(attr, &a, len < sizeof(a) ? len : sizeof(a));
	return 0;
}

int sv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
	const struct spec_port *p = sv_port(c, port);

	errno = sv_fail_ctx(c, SPEC_CALL_query_gid);
	if (errno)
		return -1;
	if (!p || index < 0 || index >= p->ngids) {
		errno = EINVAL;
		return -1;
	}
	*gid = p->gid[index];
	return 0;
}

static void gid_entry(const struct spec_port *p, uint32_t port, uint32_t i, void *to, size_t size)
{
	struct ibv_gid_entry e;

	memset(&e, 0, sizeof(e));
	e.gid = p->gid[i];
	e.gid_index = i;
	e.port_num = port;
	e.gid_type = p->gid_type[i];
	/* No network device: rdma_cm and address resolution must not find one. */
	memcpy(to, &e, size < sizeof(e) ? size : sizeof(e));
}

int sv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
		    struct ibv_gid_entry *entry, size_t size)
{
	const struct spec_port *p = sv_port(c, port);
	int ret = sv_fail_ctx(c, SPEC_CALL_query_gid_ex);

	if (ret)
		return ret;
	if (!p)
		return EINVAL;
	if (index >= (uint32_t)p->ngids)
		return ENODATA;
	gid_entry(p, port, index, entry, size);
	return 0;
}

ssize_t sv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries, size_t max,
			   size_t size)
{
	const struct spec_device *s = sv_ctx(c)->dev->spec;
	size_t n = 0;
	int ret = sv_fail_ctx(c, SPEC_CALL_query_gid_table);

	if (ret)
		return -ret;
	for (int port = 1; port <= s->nports; port++)
		for (int i = 0; i < s->port[port - 1].ngids; i++, n++) {
			if (n == max)
				return -EINVAL;
			gid_entry(&s->port[port - 1], (uint32_t)port, (uint32_t)i,
				  (uint8_t *)entries + n * size, size);
		}
	return (ssize_t)n;
}

int sv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
	const struct spec_port *p = sv_port(c, port);

	errno = sv_fail_ctx(c, SPEC_CALL_query_pkey);
	if (errno)
		return -1;
	if (!p || index < 0 || index >= p->npkeys) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htobe16(p->pkey[index]);
	return 0;
}

/* Compared whole, membership bit and all. */
int sv_get_pkey_index(struct ibv_context *c, uint8_t port, __be16 pkey)
{
	const struct spec_port *p = sv_port(c, port);

	errno = sv_fail_ctx(c, SPEC_CALL_get_pkey_index);
	if (errno)
		return -1;
	for (int i = 0; p && i < p->npkeys; i++)
		if (p->pkey[i] == be16toh(pkey))
			return i;
	errno = EINVAL;
	return -1;
}
