/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "bench_state.h"

#include <errno.h>
#include <string.h>

#include "endpoint_connect.h"

static void fill_hint(const struct bench *b, char *hint, size_t cap)
{
	char list[160];

	candidates_addresses(&b->remote_ports, list, sizeof(list));
	snprintf(hint, cap, "; name an address of an RDMA device as the host%s%s%s", *list ? ": " : "",
		 list, b->set.bind ? " (and look at --bind)" : "");
}

static int resolve(struct bench *b, struct cm_route *route)
{
	struct cm_watch w = { &b->control, deadline_min(deadline_in(STAGE_NS), b->deadline) };

	fill_hint(b, b->by_cm.addresses.hint, sizeof(b->by_cm.addresses.hint));
	return cm_open(&b->by_cm.cm, b->set.transport == TRANSPORT_UD, b->err) ||
	       cm_addresses(&b->by_cm.addresses, b->control.fd, b->err) ||
	       cm_resolve(&b->by_cm.cm, &b->by_cm.addresses, &w, route, b->err) ? -1 : 0;
}

int bench_cm_pick(struct bench *b)
{
	struct cm_route r;
	struct candidate_route found;
	char why[512];

	if (resolve(b, &r))
		return -1;
	b->by_cm.record = r.record;
	found = (struct candidate_route){
		.device = r.device,
		.port = r.port,
		.sgid = r.sgid,
		.dgid = r.dgid,
		.pkey = r.record.pkey,
		.from = b->by_cm.addresses.local_text,
		.to = b->by_cm.addresses.peer_text,
	};
	if (candidate_pick_route(&b->devices.list, &b->remote_ports, &found, b->set.pkey, &b->pair,
				 why, sizeof(why)))
		return error_set(b->err, EXIT_MISUSE, 0, "%s", why);
	return 0;
}

/* The reverse of the client's path: IBTA vol. 1, 15.2.5.16, for reversible paths. */
static int take_record(struct bench *b, json_t *plan, struct error *err)
{
	uint16_t dlid;

	if (!b->set.path_record)
		return 0;
	if (cm_record_from_json(json_object_get(plan, "path_record"), &b->by_cm.record))
		return error_set(err, EXIT_PEER, EPROTO, "a plan with a path record that makes no sense");
	dlid = b->by_cm.record.dlid;
	b->by_cm.record.dlid = b->by_cm.record.slid;
	b->by_cm.record.slid = dlid;
	return 0;
}

int bench_cm_take_plan(struct bench *b, struct control *c, json_t *plan, struct error *err)
{
	const struct candidate *port = bench_port(b);
	const char *device;
	uint8_t number;

	if (take_record(b, plan, err))
		return -1;
	if (!b->set.rdma_cm)
		return 0;
	if (cm_open(&b->by_cm.cm, b->set.transport == TRANSPORT_UD, err) ||
	    cm_addresses(&b->by_cm.addresses, c->fd, err) ||
	    cm_listen(&b->by_cm.cm, &b->by_cm.addresses, bench_qps(b), err))
		return -1;
	device = cm_listens_on(&b->by_cm.cm, &number);
	if (!strcmp(device, port->device) && number == port->port)
		return 0;
	return error_set(err, EXIT_MISUSE, 0,
			 "the server's address %s is of %s port %u, and the plan is for %s port %u",
			 b->by_cm.addresses.local_text, device, number, port->device, port->port);
}

int bench_cm_take_accept(struct bench *b, json_t *accept)
{
	if (!b->set.rdma_cm ||
	    !cm_offer_from_json(json_object_get(accept, "rdma_cm"), &b->by_cm.cm.offer))
		return 0;
	return error_set(b->err, EXIT_PEER, EPROTO, "the server accepts and offers no port of rdma_cm");
}

/* What the record names in place of options and ports. */
void bench_cm_apply_record(struct bench *b)
{
	const struct candidate *port = bench_port(b);
	const struct cm_record *r = &b->by_cm.record;

	if (!b->set.path_record)
		return;
	error_note(b->err, "path record: SL %u, MTU %u, LID 0x%04x to 0x%04x, P_Key 0x%04x", r->sl,
		   r->mtu, r->slid, r->dlid, r->pkey);
	b->path.sl = r->sl;
	if (b->set.load.sl == OPTION_AUTO)
		b->path.load_sl = r->sl;
	if (port->link != LINK_IB)
		return;
	b->path.path_bits = (uint8_t)(r->slid - port->lid);
	/* endpoint_connect() adds the path bits, as for LIDs of ports. */
	b->remote.lid = (uint16_t)(r->dlid - b->path.path_bits);
}

int bench_cm_connect(struct bench *b)
{
	struct cm_watch w = { &b->control, b->deadline };
	struct cm_job job = {
		.endpoint = &b->endpoint,
		.path = &b->path,
		.remote = &b->remote,
		.addresses = &b->by_cm.addresses,
		.server = b->server,
		.gid_fixed = option_given(&b->set, "gid-index"),
		.idle_ns = STAGE_NS,
	};

	return cm_connect(&b->by_cm.cm, &job, &w, b->err);
}

void bench_cm_close(struct bench *b, bool good)
{
	if (good)
		cm_disconnect(&b->by_cm.cm, b->server);
	cm_close(&b->by_cm.cm);
}

void bench_cm_show_attributes(const struct bench *b)
{
	char first[900] = "", text[900];

	for (unsigned int i = 0; i < b->endpoint.qp_count; i++) {
		struct ibv_qp *qp = b->endpoint.qps[i];

		if (endpoint_attributes_text(qp, text, sizeof(text)) || !strcmp(text, first))
			continue;
		/* The first, and whichever is not like it. */
		error_note(b->err, "QP 0x%06x attributes: %s", qp->qp_num, text);
		if (i == 0)
			snprintf(first, sizeof(first), "%s", text);
	}
}
