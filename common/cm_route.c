/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the addresses of the control connection to a device, a port and a path record. */
#include "cm_parts.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "device.h"

/* A dual-stack socket shows IPv4 as ::ffff:a.b.c.d, which rdma_cm does not know. */
static void unmap(struct sockaddr_storage *s)
{
	struct sockaddr_in6 six;
	struct sockaddr_in four = { .sin_family = AF_INET };

	memcpy(&six, s, sizeof(six));
	if (six.sin6_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six.sin6_addr))
		return;
	four.sin_port = six.sin6_port;
	memcpy(&four.sin_addr, six.sin6_addr.s6_addr + 12, 4);
	memset(s, 0, sizeof(*s));
	memcpy(s, &four, sizeof(four));
}

static bool is_loopback(const struct sockaddr_storage *s)
{
	const struct sockaddr_in *four = (const void *)s;
	const struct sockaddr_in6 *six = (const void *)s;

	return s->ss_family == AF_INET ? ntohl(four->sin_addr.s_addr) >> 24 == 127 :
					 IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static socklen_t length_of(const struct sockaddr_storage *s)
{
	return s->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* The address alone, without brackets and port. */
static void text_of(const struct sockaddr_storage *s, char out[CONTROL_ADDR_MAX])
{
	char whole[CONTROL_ADDR_MAX], *start = whole, *end;

	control_addr_text((const struct sockaddr *)s, length_of(s), whole);
	if (*whole == '[')
		start++;
	end = *whole == '[' ? strchr(start, ']') : strrchr(start, ':');
	if (end)
		*end = '\0';
	snprintf(out, CONTROL_ADDR_MAX, "%s", start);
}

int cm_addresses(struct cm_addresses *a, int fd, struct error *err)
{
	socklen_t local = sizeof(a->local), peer = sizeof(a->peer);

	if (getsockname(fd, (struct sockaddr *)&a->local, &local) ||
	    getpeername(fd, (struct sockaddr *)&a->peer, &peer))
		return error_set(err, EXIT_PEER, errno, "addresses of the control connection");
	unmap(&a->local);
	unmap(&a->peer);
	text_of(&a->local, a->local_text);
	text_of(&a->peer, a->peer_text);
	if (!is_loopback(&a->local) && !is_loopback(&a->peer))
		return 0;
	return error_set(err, EXIT_MISUSE, 0,
			 "rdma_cm takes the device from the address, and %s is the loopback's%s",
			 a->peer_text, a->hint);
}

static int await(struct cm *cm, const struct cm_watch *w, enum rdma_cm_event_type due,
		 const struct cm_addresses *a, struct error *err)
{
	struct cm_event e;
	char what[2 * CONTROL_ADDR_MAX + 32];

	if (cm_next_event(cm, w, &e, err))
		return -1;
	if (e.type == due)
		return 0;
	snprintf(what, sizeof(what), "rdma_cm from %s to %s", a->local_text, a->peer_text);
	if (e.type == RDMA_CM_EVENT_ADDR_ERROR && (e.status == -ENODEV || e.status == -EADDRNOTAVAIL))
		return error_set(err, EXIT_MISUSE, 0, "%s: there is no RDMA device on this way%s",
				 what, a->hint);
	return cm_event_failed(cm, &e, what, err);
}

/* There is no subnet manager, and no record: the address is all that is resolved. */
static void fill_iwarp(const struct rdma_cm_id *id, struct cm_route *r)
{
	*r = (struct cm_route){
		.port = id->port_num,
		.sgid = id->route.addr.addr.ibaddr.sgid,
		.dgid = id->route.addr.addr.ibaddr.dgid,
	};
	snprintf(r->device, sizeof(r->device), "%s", ibv_get_device_name(id->verbs->device));
}

static int fill_route(const struct rdma_cm_id *id, struct cm_route *r, struct error *err)
{
	const struct ibv_sa_path_rec *p = id->route.path_rec;
	struct ibv_port_attr port;
	bool lids;

	if (id->verbs && id->verbs->device->transport_type == IBV_TRANSPORT_IWARP) {
		fill_iwarp(id, r);
		return 0;
	}
	if (!id->verbs || !id->route.num_paths || !p)
		return error_set(err, EXIT_FAILED, 0, "rdma_cm gives no path record");
	/* Without LIDs the kernel leaves something else in their place. */
	lids = !ibv_query_port(id->verbs, id->port_num, &port) &&
	       port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	*r = (struct cm_route){
		.port = id->port_num,
		.sgid = p->sgid,
		.dgid = p->dgid,
		.record = {
			.sl = p->sl,
			.mtu = mtu_bytes((enum ibv_mtu)p->mtu),
			.slid = lids ? be16toh(p->slid) : 0,
			.dlid = lids ? be16toh(p->dlid) : 0,
			.pkey = be16toh(p->pkey),
		},
	};
	snprintf(r->device, sizeof(r->device), "%s", ibv_get_device_name(id->verbs->device));
	return 0;
}

static bool no_device(int errnum)
{
	return errnum == ENODEV || errnum == EADDRNOTAVAIL;
}

static int resolve(struct cm *cm, struct rdma_cm_id *id, const struct cm_addresses *a,
		   const struct cm_watch *w, struct cm_route *route, struct error *err)
{
	struct sockaddr_storage from = a->local, to = a->peer;

	cm_set_port(&from, 0);
	if (rdma_resolve_addr(id, (struct sockaddr *)&from, (struct sockaddr *)&to, CM_RESOLVE_MS))
		return no_device(errno) ?
			error_set(err, EXIT_MISUSE, 0, "rdma_cm: the client's address %s is on no "
				  "RDMA device%s", a->local_text, a->hint) :
			error_set(err, EXIT_FAILED, errno, "rdma_resolve_addr from %s to %s",
				  a->local_text, a->peer_text);
	if (await(cm, w, RDMA_CM_EVENT_ADDR_RESOLVED, a, err))
		return -1;
	if (rdma_resolve_route(id, CM_RESOLVE_MS))
		return error_set(err, EXIT_FAILED, errno, "rdma_resolve_route from %s to %s",
				 a->local_text, a->peer_text);
	return await(cm, w, RDMA_CM_EVENT_ROUTE_RESOLVED, a, err) ? -1 : fill_route(id, route, err);
}

int cm_resolve(struct cm *cm, const struct cm_addresses *a, const struct cm_watch *w,
	       struct cm_route *route, struct error *err)
{
	struct rdma_cm_id *id = cm_new_id(cm, 0, err);
	int rc;

	if (!id)
		return -1;
	rc = resolve(cm, id, a, w, route, err);
	rdma_destroy_id(id);
	return rc;
}
