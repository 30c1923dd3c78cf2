/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections for all QPs at once: what each event leads to, on the client and on the server.
 *
 *   client                               server
 *   resolve address, resolve route
 *   request {token, QP} ──►              RC: QP to RTS; accept
 *   RC: QP to RTS; establish ◄──         RC: established
 *   UD: established, with QPN and Q_Key
 *   connected ──►                        on the control connection, since an end cannot know from
 *              ◄── connected             rdma_cm that the other's events have all come
 *
 * iWARP: the QP to INIT before the request and before accept, and to RTS by the kernel with the
 * connection, of which both ends get "established".
 */
#include "cm_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "deadline.h"
#include "endpoint_connect.h"

/* Under way at once: the kernel takes 512 management datagrams without a loss, two a connection. */
#define WINDOW 128

struct connecting {
	struct cm *cm;
	const struct cm_job *job;
	const struct cm_watch *watch;
	struct error *err;
	struct endpoint_path path;
	struct ibv_ah_attr *ahs; /* UD, client: by QP */
	bool gid_told, iwarp;
};

static const char *what(const struct connecting *c, unsigned int i, char text[200])
{
	const struct cm_addresses *a = c->job->addresses;

	snprintf(text, 200, "rdma_cm from %s to %s, QP 0x%06x", a->local_text, a->peer_text,
		 c->job->endpoint->qps[i]->qp_num);
	return text;
}

static int call_failed(const struct connecting *c, const char *call, unsigned int i)
{
	char text[200];
	int errnum = errno;

	return error_set(c->err, EXIT_FAILED, errnum, "%s: %s", what(c, i, text), call);
}

static int attributes(const struct connecting *c, unsigned int i, enum ibv_qp_state state,
		      struct ibv_qp_attr *a, int *mask)
{
	*a = (struct ibv_qp_attr){ .qp_state = state };
	return rdma_init_qp_attr(c->cm->ids[i], a, mask) ? call_failed(c, "rdma_init_qp_attr", i) : 0;
}

/* What the addresses of an end were told over the control connection is what rdma_cm connects. */
static int check_qpn(const struct connecting *c, unsigned int i, uint32_t qpn)
{
	char text[200];

	if (qpn == c->job->remote->qpns[i])
		return 0;
	return error_set(c->err, EXIT_PEER, EPROTO, "%s: the peer's QPN 0x%06x is not the one that "
			 "it told, 0x%06x", what(c, i, text), qpn, c->job->remote->qpns[i]);
}

/* rdma_cm has a GID type of its own (configfs, default_roce_mode). */
static int take_gid_index(struct connecting *c, const struct ibv_ah_attr *ah)
{
	int index = ah->grh.sgid_index;

	if (!ah->is_global || index == c->path.gid_index)
		return 0;
	if (c->job->gid_fixed)
		return error_set(c->err, EXIT_MISUSE, 0,
				 "--gid-index %d: rdma_cm connects by GID index %d of %s",
				 c->path.gid_index, index, c->job->addresses->local_text);
	if (!c->gid_told)
		error_warn(c->err, "rdma_cm connects by GID index %d, not by the index of the address "
			   "above", index);
	c->gid_told = true;
	return 0;
}

/* Port and P_Key index as rdma_cm has them; on InfiniBand a P_Key comes with the address. */
static int take_port(struct connecting *c, unsigned int i)
{
	struct ibv_qp_attr a;
	int mask;

	if (attributes(c, i, IBV_QPS_INIT, &a, &mask))
		return -1;
	c->path.port = a.port_num;
	c->path.pkey_index = a.pkey_index;
	return 0;
}

static int rc_to_rts(struct connecting *c, unsigned int i)
{
	const struct cm_job *j = c->job;
	struct ibv_qp_attr a;
	int mask;

	if (take_port(c, i) || attributes(c, i, IBV_QPS_RTR, &a, &mask) ||
	    check_qpn(c, i, a.dest_qp_num) || take_gid_index(c, &a.ah_attr))
		return -1;
	return endpoint_connect_qp(j->endpoint, i, &c->path, j->remote, &a.ah_attr, c->err);
}

static int iwarp_to_init(struct connecting *c, unsigned int i)
{
	struct ibv_qp_attr a;
	int mask;

	return attributes(c, i, IBV_QPS_INIT, &a, &mask) ||
	       endpoint_init_qp(c->job->endpoint, i, &a, mask, c->err) ? -1 : 0;
}

/* Before the server accepts. */
static int prepare(struct connecting *c, unsigned int i)
{
	if (c->iwarp)
		return iwarp_to_init(c, i);
	return c->cm->ud ? take_port(c, i) : rc_to_rts(c, i);
}

static struct rdma_conn_param parameters(const struct connecting *c, unsigned int i)
{
	const struct endpoint_path *p = &c->path;

	return (struct rdma_conn_param){
		.responder_resources = p->max_dest_rd_atomic,
		.initiator_depth = p->max_rd_atomic,
		.flow_control = 1,
		.retry_count = p->retry_count,
		.rnr_retry_count = p->rnr_retry,
		.srq = c->job->endpoint->srq != NULL,
		.qp_num = c->job->endpoint->qps[i]->qp_num,
	};
}

/* The next event, which may take as long however many have come before it. */
static int next_event(const struct connecting *c, struct cm_event *e)
{
	struct cm_watch w = { c->watch->control,
			      deadline_min(deadline_in(c->job->idle_ns), c->watch->deadline) };

	return cm_next_event(c->cm, &w, e, c->err);
}

/* ---- client */

static int start_one(struct connecting *c, unsigned int i)
{
	struct sockaddr_storage from = c->job->addresses->local, to = c->job->addresses->peer;
	struct cm *cm = c->cm;

	cm_set_port(&from, 0);
	cm_set_port(&to, cm->offer.port);
	cm->ids[i] = cm_new_id(cm, i, c->err);
	if (!cm->ids[i])
		return -1;
	return rdma_resolve_addr(cm->ids[i], (struct sockaddr *)&from, (struct sockaddr *)&to,
				 CM_RESOLVE_MS) ? call_failed(c, "rdma_resolve_addr", i) : 0;
}

static int request(struct connecting *c, unsigned int i)
{
	struct rdma_conn_param p = parameters(c, i);
	uint8_t data[CM_DATA];

	if (c->iwarp && iwarp_to_init(c, i))
		return -1;
	cm_data_fill(data, &c->cm->offer, i);
	p.private_data = data;
	p.private_data_len = sizeof(data);
	return rdma_connect(c->cm->ids[i], &p) ? call_failed(c, "rdma_connect", i) : 0;
}

static int establish(struct connecting *c, unsigned int i)
{
	if (rc_to_rts(c, i))
		return -1;
	if (rdma_establish(c->cm->ids[i]))
		return call_failed(c, "rdma_establish", i);
	c->cm->up++;
	return 0;
}

static int take_datagram_peer(struct connecting *c, const struct cm_event *e, unsigned int i)
{
	if (take_port(c, i) || check_qpn(c, i, e->qpn) || take_gid_index(c, &e->ah))
		return -1;
	c->ahs[i] = e->ah;
	c->path.qkey = e->qkey;
	c->cm->up++;
	return 0;
}

static int client_event(struct connecting *c, const struct cm_event *e)
{
	unsigned int i = cm_index(e->id);
	char text[200];

	switch (e->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return rdma_resolve_route(e->id, CM_RESOLVE_MS) ?
			       call_failed(c, "rdma_resolve_route", i) : 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return request(c, i);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return establish(c, i);
	case RDMA_CM_EVENT_ESTABLISHED:
		c->cm->up += c->iwarp;
		return c->cm->ud ? take_datagram_peer(c, e, i) : 0;
	default:
		return cm_event_failed(c->cm, e, what(c, i, text), c->err);
	}
}

static int connect_all(struct connecting *c)
{
	struct cm *cm = c->cm;
	struct cm_event e;

	for (unsigned int started = 0; cm->up < cm->id_count;) {
		if (started < cm->id_count && started - cm->up < WINDOW) {
			if (start_one(c, started++))
				return -1;
			continue;
		}
		if (next_event(c, &e) || client_event(c, &e))
			return -1;
	}
	return 0;
}

/* ---- server */

/* A request that is not our client's: away with it, the run goes on. */
static int send_away(const struct connecting *c, struct rdma_cm_id *id)
{
	error_note(c->err, "a stranger's connection request by rdma_cm was rejected");
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
	return 0;
}

static int accept_one(struct connecting *c, const struct cm_event *e)
{
	struct cm *cm = c->cm;
	struct rdma_conn_param p;
	uint32_t i;

	if (cm_data_check(e->data, e->data_len, &cm->offer, &i) || i >= cm->id_count || cm->ids[i])
		return send_away(c, e->id);
	cm->ids[i] = e->id;
	e->id->context = (void *)(uintptr_t)i;
	if (prepare(c, i))
		return -1;
	p = parameters(c, i);
	if (rdma_accept(e->id, &p))
		return call_failed(c, "rdma_accept", i);
	cm->up += cm->ud;
	return 0;
}

static int server_event(struct connecting *c, const struct cm_event *e)
{
	char text[200];

	switch (e->type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return accept_one(c, e);
	case RDMA_CM_EVENT_ESTABLISHED:
		c->cm->up++;
		return 0;
	default:
		return cm_event_failed(c->cm, e, what(c, cm_index(e->id), text), c->err);
	}
}

static int accept_all(struct connecting *c)
{
	struct cm_event e;

	while (c->cm->up < c->cm->id_count)
		if (next_event(c, &e) || server_event(c, &e))
			return -1;
	return 0;
}

/* ---- both */

static int tell_and_hear(const struct connecting *c)
{
	uint64_t deadline = deadline_min(deadline_in(c->job->idle_ns), c->watch->deadline);
	json_t *m;

	if (control_send(c->watch->control, control_message("connected"), deadline, c->err))
		return -1;
	if (c->cm->peer_is_done)
		return 0;
	m = control_recv(c->watch->control, "connected", deadline, c->err);
	json_decref(m);
	return m ? 0 : -1;
}

static int connect_endpoint(struct connecting *c)
{
	const struct cm_job *j = c->job;

	if (j->server ? accept_all(c) : connect_all(c))
		return -1;
	if (c->cm->ud && endpoint_connect(j->endpoint, &c->path, j->remote, c->ahs, c->err))
		return -1;
	return tell_and_hear(c);
}

int cm_connect(struct cm *cm, const struct cm_job *job, const struct cm_watch *w, struct error *err)
{
	struct connecting c = { .cm = cm, .job = job, .watch = w, .err = err, .path = *job->path };
	unsigned int count = job->endpoint->qp_count;
	int rc;

	c.iwarp = job->endpoint->ctx &&
		  job->endpoint->ctx->device->transport_type == IBV_TRANSPORT_IWARP;
	cm->ids = calloc(count, sizeof(*cm->ids));
	if (cm->ud && !job->server)
		c.ahs = calloc(count, sizeof(*c.ahs));
	if (!cm->ids || (cm->ud && !job->server && !c.ahs))
		error_set(err, EXIT_FAILED, ENOMEM, "%u connections", count);
	else
		cm->id_count = count;
	rc = error_is_set(err) ? -1 : connect_endpoint(&c);
	if (rc)
		cm_prefer_news_of_peer(cm, w, err);
	free(c.ahs);
	return rc;
}
