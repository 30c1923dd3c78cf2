/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "mcast.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "deadline.h"

#define RESOLVE_MS 2000
#define MLID_ATTACHED 0xc000 /* the first of the range (IBTA vol. 1, 4.1.1) */

int mcast_gid(const char *address, enum gid_type type, union ibv_gid *mgid)
{
	struct in_addr v4;

	memset(mgid, 0, sizeof(*mgid));
	if (inet_pton(AF_INET6, address, mgid) == 1)
		return mgid->raw[0] == 0xff ? 0 : -EINVAL;
	if (inet_pton(AF_INET, address, &v4) != 1 || (ntohl(v4.s_addr) >> 28) != 14)
		return -EINVAL;
	if (type != GID_TYPE_ROCE_V2) {
		mgid->raw[0] = 0xff;
		mgid->raw[1] = 0x0e;
	}
	mgid->raw[10] = mgid->raw[11] = 0xff;
	memcpy(&mgid->raw[12], &v4, 4);
	return 0;
}

union address {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static void group_address(const char *text, union address *a)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
		a->sa.sa_family = AF_INET;
		return;
	}
	inet_pton(AF_INET6, text, &a->v6.sin6_addr);
	a->sa.sa_family = AF_INET6;
}

/* The address behind a GID of RoCE; false where the GID says none. */
static bool local_address(const struct gid_entry *gid, union address *a)
{
	memset(a, 0, sizeof(*a));
	if (!gid || gid->type == GID_TYPE_IB)
		return false;
	if (gid_is_ipv4(&gid->gid)) {
		a->sa.sa_family = AF_INET;
		memcpy(&a->v4.sin_addr, &gid->gid.raw[12], 4);
		return true;
	}
	a->sa.sa_family = AF_INET6;
	memcpy(&a->v6.sin6_addr, &gid->gid, 16);
	a->v6.sin6_scope_id = if_nametoindex(gid->netdev);
	return true;
}

/* The next event, which must be @want; the caller acks it. */
static struct rdma_cm_event *await_event(struct mcast *m, enum rdma_cm_event_type want,
					 const struct mcast_wish *w, struct error *err)
{
	struct pollfd p = { .fd = m->channel->fd, .events = POLLIN };
	struct rdma_cm_event *e;

	while (rdma_get_cm_event(m->channel, &e)) {
		if (errno != EAGAIN || stop_signal || deadline_passed(w->deadline)) {
			error_set(err, errno == EAGAIN ? EXIT_TIMED_OUT : EXIT_FAILED, 0,
				  "joining %s: no %s in time", w->address, rdma_event_str(want));
			return NULL;
		}
		poll(&p, 1, deadline_poll_ms(w->deadline, 100));
	}
	if (e->event == want)
		return e;
	error_set(err, EXIT_FAILED, e->status < 0 ? -e->status : 0,
		  "joining %s: rdma_cm says %s (status %d)", w->address, rdma_event_str(e->event),
		  e->status);
	rdma_ack_cm_event(e);
	return NULL;
}

static int await_and_ack(struct mcast *m, enum rdma_cm_event_type want, const struct mcast_wish *w,
			 struct error *err)
{
	struct rdma_cm_event *e = await_event(m, want, w, err);

	if (!e)
		return -1;
	if (want == RDMA_CM_EVENT_MULTICAST_JOIN) {
		m->ah = e->param.ud.ah_attr;
		m->qkey = e->param.ud.qkey;
	}
	rdma_ack_cm_event(e);
	return 0;
}

static int open_id(struct mcast *m, const struct mcast_wish *w, struct error *err)
{
	int flags = fcntl(m->channel->fd, F_GETFL);

	if (fcntl(m->channel->fd, F_SETFL, flags | O_NONBLOCK) ||
	    rdma_create_id(m->channel, &m->id, NULL, RDMA_PS_UDP))
		return error_set(err, EXIT_FAILED, errno, "rdma_create_id for %s", w->address);
	return 0;
}

static int join_by_cm(struct mcast *m, const struct mcast_wish *w, struct error *err)
{
	union address group, local;
	bool have_local = local_address(w->local, &local);
	const char *got;

	group_address(w->address, &group);
	if (open_id(m, w, err))
		return -1;
	if (have_local && local.sa.sa_family != group.sa.sa_family)
		return error_set(err, EXIT_MISUSE, 0,
				 "--mcast %s is of another family than the GID in use; name a group of "
				 "its family, or a GID by --gid-index", w->address);
	if (rdma_resolve_addr(m->id, have_local ? &local.sa : NULL, &group.sa, RESOLVE_MS))
		return error_set(err, EXIT_FAILED, errno, "rdma_resolve_addr of %s", w->address);
	if (await_and_ack(m, RDMA_CM_EVENT_ADDR_RESOLVED, w, err))
		return -1;
	got = m->id->verbs ? ibv_get_device_name(m->id->verbs->device) : "no device";
	if (strcmp(got, ibv_get_device_name(w->ctx->device)))
		return error_set(err, EXIT_MISUSE, 0,
				 "rdma_cm reaches %s by %s and not by %s; use --ib-dev %s", w->address,
				 got, ibv_get_device_name(w->ctx->device), got);
	if (rdma_join_multicast(m->id, &group.sa, NULL))
		return error_set(err, EXIT_FAILED, errno, "rdma_join_multicast of %s", w->address);
	return await_and_ack(m, RDMA_CM_EVENT_MULTICAST_JOIN, w, err);
}

static void fill_attached(struct mcast *m, const struct mcast_wish *w, const union ibv_gid *mgid)
{
	bool ib = !w->local || w->local->type == GID_TYPE_IB;

	m->qkey = w->qkey;
	m->ah = (struct ibv_ah_attr){
		.dlid = ib ? MLID_ATTACHED : 0,
		.sl = w->sl,
		.port_num = w->port,
		.is_global = 1,
		.grh = { .dgid = *mgid, .sgid_index = w->local ? (uint8_t)w->local->index : 0,
			 .hop_limit = w->hop_limit },
	};
}

int mcast_join(struct mcast *m, const struct mcast_wish *w, struct error *err)
{
	enum gid_type type = w->local ? w->local->type : GID_TYPE_IB;
	union ibv_gid mgid;

	memset(m, 0, sizeof(*m));
	if (mcast_gid(w->address, type, &mgid))
		return error_set(err, EXIT_MISUSE, 0,
				 "--mcast=%s is no group; allowed are 224.0.0.0 to 239.255.255.255 and "
				 "ff00::/8", w->address);
	if (!w->no_cm)
		m->channel = rdma_create_event_channel();
	if (m->channel)
		return join_by_cm(m, w, err);
	error_warn(err, "there is no rdma_cm here: the group %s is attached to and not joined, so "
		   "that no switch forwards it", w->address);
	fill_attached(m, w, &mgid);
	return 0;
}

int mcast_open_sender(struct mcast *m, struct ibv_pd *pd, struct error *err)
{
	m->handle = ibv_create_ah(pd, &m->ah);
	return m->handle ? 0 : error_set(err, EXIT_FAILED, errno, "ibv_create_ah to the group");
}

int mcast_attach(struct mcast *m, struct ibv_qp *qp, struct error *err)
{
	int rc = ibv_attach_mcast(qp, &m->ah.grh.dgid, m->ah.dlid);

	if (rc)
		return error_set(err, EXIT_FAILED, rc, "ibv_attach_mcast of QP 0x%06x", qp->qp_num);
	m->attached = qp;
	return 0;
}

void mcast_close(struct mcast *m, struct error *err)
{
	int rc = m->attached ? ibv_detach_mcast(m->attached, &m->ah.grh.dgid, m->ah.dlid) : 0;

	if (rc && !error_is_set(err))
		error_set(err, EXIT_FAILED, rc, "ibv_detach_mcast");
	if (m->handle)
		ibv_destroy_ah(m->handle);
	if (m->id)
		rdma_destroy_id(m->id); /* leaves the group */
	if (m->channel)
		rdma_destroy_event_channel(m->channel);
	memset(m, 0, sizeof(*m));
}
