/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses of an end: filled, printed, sent and received. */
#include "endpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

static int alloc_arrays(struct endpoint_address *a)
{
	a->qpns = calloc(a->qp_count, sizeof(*a->qpns));
	a->psns = calloc(a->qp_count, sizeof(*a->psns));
	a->rkeys = calloc(a->qp_count, sizeof(*a->rkeys));
	return a->qpns && a->psns && a->rkeys ? 0 : -ENOMEM;
}

int endpoint_address_fill(struct endpoint_address *a, const struct endpoint *e,
			  const struct candidate *port, const struct gid_entry *gid)
{
	memset(a, 0, sizeof(*a));
	a->lid = port->lid;
	a->has_gid = gid != NULL;
	if (gid)
		a->gid = *gid;
	a->vaddr = (uintptr_t)endpoint_recv_area(e, 0);
	a->stride = e->send_area + e->recv_area;
	a->qp_count = e->qp_count;
	if (alloc_arrays(a))
		return -ENOMEM;
	for (unsigned int i = 0; i < e->qp_count; i++) {
		a->qpns[i] = e->qps[i]->qp_num;
		a->psns[i] = e->psns[i];
		a->rkeys[i] = endpoint_mr(e, i)->rkey;
	}
	return 0;
}

void endpoint_address_free(struct endpoint_address *a)
{
	free(a->qpns);
	free(a->psns);
	free(a->rkeys);
	memset(a, 0, sizeof(*a));
}

void endpoint_address_text(const struct endpoint_address *a, unsigned int qp, char *out,
			   size_t cap)
{
	char gid[GID_TEXT_MAX];
	int n;

	n = snprintf(out, cap,
		     "LID 0x%04x, QPN 0x%06x, PSN 0x%06x, RKey 0x%08x, VAddr 0x%016" PRIx64, a->lid,
		     a->qpns[qp], a->psns[qp], a->rkeys[qp], a->vaddr + qp * a->stride);
	if (!a->has_gid || n < 0 || (size_t)n >= cap)
		return;
	gid_text(&a->gid.gid, gid);
	snprintf(out + n, cap - (size_t)n, ", GID %s (index %u, %s)", gid, a->gid.index,
		 gid_type_name(a->gid.type));
}

json_t *endpoint_address_to_json(const struct endpoint_address *a)
{
	json_t *qps = json_array(), *v;
	char vaddr[19], gid[GID_TEXT_MAX];

	for (unsigned int i = 0; i < a->qp_count; i++)
		json_array_append_new(qps, json_pack("[i,i,I]", (int)a->qpns[i], (int)a->psns[i],
						     (json_int_t)a->rkeys[i]));
	snprintf(vaddr, sizeof(vaddr), "0x%016" PRIx64, a->vaddr);
	v = json_pack("{s:i,s:s,s:I,s:o}", "lid", (int)a->lid, "vaddr", vaddr, "stride",
		      (json_int_t)a->stride, "qps", qps);
	if (!a->has_gid)
		return v;
	gid_text(&a->gid.gid, gid);
	json_object_set_new(v, "gid", json_pack("{s:s,s:i,s:s}", "gid", gid, "index",
						(int)a->gid.index, "type",
						gid_type_name(a->gid.type)));
	return v;
}

static int gid_from_json(json_t *v, struct endpoint_address *a)
{
	const char *text, *type;
	json_int_t index;

	if (json_unpack(v, "{s:s,s:I,s:s}", "gid", &text, "index", &index, "type", &type) ||
	    index < 0 || index > 65535 || gid_parse(text, &a->gid.gid) ||
	    gid_type_parse(type, &a->gid.type))
		return -EINVAL;
	a->gid.index = (uint32_t)index;
	a->has_gid = true;
	return 0;
}

static int qps_from_json(json_t *qps, struct endpoint_address *a)
{
	if (alloc_arrays(a))
		return -ENOMEM;
	for (unsigned int i = 0; i < a->qp_count; i++) {
		json_int_t qpn, psn, rkey;

		if (json_unpack(json_array_get(qps, i), "[I,I,I]", &qpn, &psn, &rkey) || qpn < 0 ||
		    qpn > 0xffffff || psn < 0 || psn > 0xffffff || rkey < 0 || rkey > UINT32_MAX)
			return -EINVAL;
		a->qpns[i] = (uint32_t)qpn;
		a->psns[i] = (uint32_t)psn;
		a->rkeys[i] = (uint32_t)rkey;
	}
	return 0;
}

int endpoint_address_from_json(json_t *v, unsigned int qps, struct endpoint_address *a)
{
	json_t *list, *gid = json_object_get(v, "gid");
	const char *vaddr;
	json_int_t stride, lid;
	int rc;

	memset(a, 0, sizeof(*a));
	if (json_unpack(v, "{s:I,s:s,s:I,s:o}", "lid", &lid, "vaddr", &vaddr, "stride", &stride,
			"qps", &list) ||
	    lid < 0 || lid > 0xffff || stride < 0 ||
	    strncmp(vaddr, "0x", 2) || units_parse_u64(vaddr, &a->vaddr) || qps == 0 ||
	    json_array_size(list) != qps)
		return -EINVAL;
	a->lid = (uint16_t)lid;
	a->stride = (uint64_t)stride;
	a->qp_count = qps;
	rc = qps_from_json(list, a);
	if (!rc && gid)
		rc = gid_from_json(gid, a);
	if (rc)
		endpoint_address_free(a);
	return rc;
}
