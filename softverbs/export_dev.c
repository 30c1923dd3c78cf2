/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What programs call instead of libibverbs: devices, contexts, queries, imports. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "event.h"
#include "fault.h"
#include "real.h"

/* Ours, then the real ones, NULL, and behind it the real list, which has to be given back. */
EXPORT struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **real, **list;
	int n = 0;

	sv_device_init();
	if (!sv_ndevs)
		return REAL(ibv_get_device_list, "1.1")(num);
	errno = sv_fail(&sv_devs[0], SPEC_CALL_get_device_list);
	if (errno)
		return NULL;
	real = REAL(ibv_get_device_list, "1.1")(&n);
	n = real ? n : 0;
	list = calloc((size_t)(sv_ndevs + n + 2), sizeof(struct ibv_device *));
	if (!list) {
		if (real)
			REAL(ibv_free_device_list, "1.1")(real);
		return NULL;
	}
	for (int i = 0; i < sv_ndevs; i++)
		list[i] = &sv_devs[i].ibv;
	if (n)
		memcpy(list + sv_ndevs, real, (size_t)n * sizeof(*list));
	list[sv_ndevs + n + 1] = (struct ibv_device *)(void *)real;
	if (num)
		*num = sv_ndevs + n;
	errno = 0;
	return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	size_t n = 0;

	if (!sv_ndevs || !list || !list[0] || !sv_ours_dev(list[0])) {
		REAL(ibv_free_device_list, "1.1")(list);
		return;
	}
	while (list[n])
		n++;
	if (list[n + 1])
		REAL(ibv_free_device_list, "1.1")((struct ibv_device **)(void *)list[n + 1]);
	free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *d)
{
	return sv_ours_dev(d) ? d->name : REAL(ibv_get_device_name, "1.1")(d);
}

EXPORT int ibv_get_device_index(struct ibv_device *d)
{
	return sv_ours_dev(d) ? -1 : REAL(ibv_get_device_index, "1.9")(d);
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *d)
{
	if (!sv_ours_dev(d))
		return REAL(ibv_get_device_guid, "1.1")(d);
	return htobe64(((struct sv_dev *)(void *)d)->spec->guid);
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	return sv_ours_dev(d) ? sv_open_device(d) : REAL(ibv_open_device, "1.1")(d);
}

EXPORT int ibv_close_device(struct ibv_context *c)
{
	return sv_ours(c) ? sv_close_device(c) : REAL(ibv_close_device, "1.1")(c);
}

EXPORT int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
	return sv_ours(c) ? sv_query_device(c, a) : REAL(ibv_query_device, "1.1")(c, a);
}

/* The struct of this old entry ends before port_cap_flags2. */
EXPORT int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *a)
{
	if (!sv_ours(c))
		return REAL(ibv_query_port, "1.1")(c, port, a);
	return sv_query_port(c, port, (struct ibv_port_attr *)a,
			     offsetof(struct ibv_port_attr, port_cap_flags2));
}

EXPORT int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
	if (!sv_ours(c))
		return REAL(ibv_query_gid, "1.1")(c, port, index, gid);
	return sv_query_gid(c, port, index, gid);
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
			     struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	if (!sv_ours(c))
		return REAL(_ibv_query_gid_ex, "1.11")(c, port, index, entry, flags, size);
	return flags ? EOPNOTSUPP : sv_query_gid_ex(c, port, index, entry, size);
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries,
				    size_t max, uint32_t flags, size_t size)
{
	if (!sv_ours(c))
		return REAL(_ibv_query_gid_table, "1.11")(c, entries, max, flags, size);
	return flags ? -EOPNOTSUPP : sv_query_gid_table(c, entries, max, size);
}

EXPORT int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
	if (!sv_ours(c))
		return REAL(ibv_query_pkey, "1.1")(c, port, index, pkey);
	return sv_query_pkey(c, port, index, pkey);
}

EXPORT int ibv_get_pkey_index(struct ibv_context *c, uint8_t port, __be16 pkey)
{
	if (!sv_ours(c))
		return REAL(ibv_get_pkey_index, "1.5")(c, port, pkey);
	return sv_get_pkey_index(c, port, pkey);
}

EXPORT int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *e)
{
	return sv_ours(c) ? sv_get_async_event(c, e) : REAL(ibv_get_async_event, "1.1")(c, e);
}

static bool event_ours(const struct ibv_async_event *e)
{
	switch (e->event_type) {
	case IBV_EVENT_CQ_ERR:
		return sv_ours(e->element.cq->context);
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return sv_ours(e->element.srq->context);
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return sv_ours(e->element.qp->context);
	default:	/* of a port: there is nothing to acknowledge */
		return false;
	}
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *e)
{
	if (sv_ndevs && event_ours(e))
		sv_ack_async_event(e);
	else
		REAL(ibv_ack_async_event, "1.1")(e);
}

/* Sharing a context over a file descriptor: our contexts have none, so these are never ours. */
EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	return REAL(ibv_import_device, "1.10")(cmd_fd);
}

EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *c, uint32_t handle)
{
	if (!sv_ours(c))
		return REAL(ibv_import_pd, "1.10")(c, handle);
	errno = EOPNOTSUPP;
	return NULL;
}

EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	if (!sv_ours(pd->context))
		return REAL(ibv_import_mr, "1.10")(pd, handle);
	errno = EOPNOTSUPP;
	return NULL;
}

EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *c, uint32_t handle)
{
	if (!sv_ours(c))
		return REAL(ibv_import_dm, "1.13")(c, handle);
	errno = EOPNOTSUPP;
	return NULL;
}

EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
	if (!sv_ours(pd->context))
		REAL(ibv_unimport_pd, "1.10")(pd);
}

EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
	if (!sv_ours(mr->context))
		REAL(ibv_unimport_mr, "1.10")(mr);
}

EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
	if (!sv_ours(dm->context))
		REAL(ibv_unimport_dm, "1.13")(dm);
}

/*
 * Private to rdma-core, with a version of its release, but ibv_devinfo and librdmacm call it; the
 * values are those of sysfs.
 */
int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned int index, int *type);
EXPORT int ibv_query_gid_type(struct ibv_context *c, uint8_t port, unsigned int index, int *type)
{
	const struct spec_port *p;
	static void *cache;

	if (!sv_ours(c))
		return ((int (*)(struct ibv_context *, uint8_t, unsigned int, int *))
			sv_real(&cache, "ibv_query_gid_type", NULL))(c, port, index, type);
	p = sv_port(c, port);
	if (!p || index >= (unsigned int)p->ngids) {
		errno = EINVAL;
		return -1;
	}
	*type = p->gid_type[index] == IBV_GID_TYPE_ROCE_V2;
	return 0;
}
