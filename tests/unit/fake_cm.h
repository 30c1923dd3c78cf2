/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A librdmacm that answers at once, in the place of the real one: each call leaves the event that
 * should follow, or the one that is planted. It counts what was got and acked, made and destroyed.
 */
#ifndef TESTS_FAKE_CM_H
#define TESTS_FAKE_CM_H

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <sys/eventfd.h>

#include "unit.h"

#define FAKE_EVENTS 4096

static struct {
	struct rdma_cm_event queue[FAKE_EVENTS];
	unsigned int head, tail, gets, acks, made, destroyed, requests, answers, most_open;
	unsigned int accepts, rejects, establishes;
	int spoil;                     /* events of this type are replaced; -1: none */
	enum rdma_cm_event_type by;
	int status;
	int fails_of;                  /* the state for which rdma_init_qp_attr fails, or -1 */
	uint32_t first_qpn;            /* of the peer: QP i has this one + i */
	bool ud, iwarp;
} fake;

static inline void fake_push(struct rdma_cm_id *id, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *e = &fake.queue[fake.tail++ % FAKE_EVENTS];
	bool spoilt = (int)type == fake.spoil;

	*e = (struct rdma_cm_event){ .id = id, .event = spoilt ? fake.by : type,
				     .status = spoilt ? fake.status : 0 };
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *c = calloc(1, sizeof(*c));

	c->fd = eventfd(0, 0);
	return c;
}

void rdma_destroy_event_channel(struct rdma_event_channel *c)
{
	close(c->fd);
	free(c);
}

int rdma_create_id(struct rdma_event_channel *c, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	*id = calloc(1, sizeof(**id));
	(*id)->channel = c;
	(*id)->context = context;
	(*id)->ps = ps;
	fake.made++;
	return 0;
}

/* The real one waits for ever for the ack of an event that was got. */
int rdma_destroy_id(struct rdma_cm_id *id)
{
	assert_int_equal(fake.gets, fake.acks);
	fake.destroyed++;
	free(id);
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *c, struct rdma_cm_event **e)
{
	(void)c;
	if (fake.head == fake.tail) {
		errno = EAGAIN;
		return -1;
	}
	*e = &fake.queue[fake.head++ % FAKE_EVENTS];
	fake.gets++;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *e)
{
	memset(e, 0xa5, sizeof(*e)); /* nobody looks at it any more */
	fake.acks++;
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst, int ms)
{
	(void)src;
	(void)dst;
	(void)ms;
	fake_push(id, RDMA_CM_EVENT_ADDR_RESOLVED);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	(void)ms;
	fake_push(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return 0;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *p)
{
	uintptr_t i = (uintptr_t)id->context;

	assert_int_equal(p->private_data_len, 24);
	fake.requests++;
	if (fake.requests - fake.answers > fake.most_open)
		fake.most_open = fake.requests - fake.answers;
	fake_push(id, fake.ud || fake.iwarp ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE);
	if (fake.ud)
		fake.queue[(fake.tail - 1) % FAKE_EVENTS].param.ud = (struct rdma_ud_param){
			.qp_num = fake.first_qpn + (uint32_t)i, .qkey = 77,
			.ah_attr = { .is_global = 1, .grh.sgid_index = 1 },
		};
	return 0;
}

int rdma_establish(struct rdma_cm_id *id)
{
	(void)id;
	fake.establishes++;
	fake.answers++;
	return 0;
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *p)
{
	assert_true(p->qp_num);
	fake.accepts++;
	if (!fake.ud)
		fake_push(id, RDMA_CM_EVENT_ESTABLISHED);
	return 0;
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	(void)id;
	(void)data;
	(void)len;
	fake.rejects++;
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	fake_push(id, RDMA_CM_EVENT_DISCONNECTED);
	errno = EINVAL; /* the peer went first: no matter */
	return -1;
}

/* What the kernel gives for RoCE, with the values that no run should have. */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *a, int *mask)
{
	*mask = IBV_QP_STATE;
	if ((int)a->qp_state == fake.fails_of) {
		errno = EINVAL;
		return -1;
	}
	a->port_num = 1;
	a->qkey = RDMA_UDP_QKEY;
	a->path_mtu = IBV_MTU_256;
	a->timeout = 20;
	a->min_rnr_timer = 0;
	a->dest_qp_num = fake.first_qpn + (uint32_t)(uintptr_t)id->context;
	a->ah_attr = (struct ibv_ah_attr){
		.is_global = 1, .sl = 5, .static_rate = 3, .port_num = 1,
		.grh = { .sgid_index = 1, .flow_label = 0x12345, .hop_limit = 1 },
	};
	return 0;
}

#endif
