/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connecting by rdma_cm, over one that answers at once: every event is acked and every id destroyed
 * whatever goes wrong; the QPs get our attributes and not rdma_cm's.
 */
#include "fake_cm.h"

#include <sys/socket.h>

#include "cm_parts.h"
#include "deadline.h"
#include "endpoint_connect.h"

#define QPS 300
#define FIRST_QPN 0x500

static struct ibv_qp_attr last[IBV_QPS_RTS + 1]; /* of each state */
static struct ibv_ah_attr last_ah;
static unsigned int modified;

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
	(void)qp;
	(void)mask;
	last[a->qp_state] = *a;
	modified++;
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a)
{
	(void)pd;
	last_ah = *a;
	return (struct ibv_ah *)calloc(1, sizeof(struct ibv_ah));
}

/* Both ends of a control connection, and all that a job points to. */
struct setup {
	struct control near, far;
	struct ibv_qp qps[QPS], *qp_list[QPS];
	uint32_t qpns[QPS], psns[QPS], rkeys[QPS];
	struct endpoint endpoint;
	struct endpoint_address remote;
	struct endpoint_path path;
	struct cm_addresses addresses;
	struct cm_job job;
	struct cm_watch watch;
	struct cm cm;
	struct error err;
};

static void begin(struct setup *s, bool server, bool ud, unsigned int qps)
{
	int fds[2];

	memset(s, 0, sizeof(*s));
	memset(&fake, 0, sizeof(fake));
	fake.fails_of = fake.spoil = -1;
	fake.first_qpn = FIRST_QPN;
	fake.ud = ud;
	modified = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	control_init(&s->near);
	control_init(&s->far);
	control_adopt(&s->near, fds[0]);
	control_adopt(&s->far, fds[1]);
	error_init(&s->err, "cm");
	s->err.stage = "connect-qp";
	for (unsigned int i = 0; i < qps; i++) {
		s->qps[i].qp_num = 0x100 + i;
		s->qps[i].qp_type = ud ? IBV_QPT_UD : IBV_QPT_RC;
		s->qp_list[i] = &s->qps[i];
		s->qpns[i] = FIRST_QPN + i;
		s->psns[i] = 1000 + i;
	}
	s->endpoint = (struct endpoint){ .qps = s->qp_list, .psns = s->psns, .qp_count = qps };
	s->remote = (struct endpoint_address){ .has_gid = true, .qpns = s->qpns, .psns = s->psns,
					       .rkeys = s->rkeys, .qp_count = qps };
	s->path = (struct endpoint_path){
		.port = 1, .sl = 2, .traffic_class = 104, .hop_limit = 64, .gid_index = 1,
		.mtu = 1024, .timeout = 14, .retry_count = 6, .rnr_retry = 5, .min_rnr_timer = 12,
		.max_rd_atomic = 3, .max_dest_rd_atomic = 4, .qkey = RDMA_UDP_QKEY,
	};
	s->addresses.local.ss_family = s->addresses.peer.ss_family = AF_INET;
	s->job = (struct cm_job){ &s->endpoint, &s->path, &s->remote, &s->addresses, server, false,
				  5 * NS_PER_S };
	s->watch = (struct cm_watch){ &s->near, deadline_in(5 * NS_PER_S) };
	assert_int_equal(cm_open(&s->cm, ud, &s->err), 0);
	memset(s->cm.offer.token, 7, CM_TOKEN);
}

/* The peer's end is up at once. */
static void peer_is_up(struct setup *s)
{
	struct error e;

	error_init(&e, "far");
	control_send(&s->far, control_message("connected"), deadline_in(NS_PER_S), &e);
}

static void end(struct setup *s)
{
	cm_close(&s->cm);
	assert_int_equal(fake.gets, fake.acks);
	assert_int_equal(fake.made, fake.destroyed);
	for (unsigned int i = 0; i < s->endpoint.ah_count; i++)
		free(s->endpoint.ahs[i]);
	free(s->endpoint.ahs);
	control_close(&s->near);
	control_close(&s->far);
	error_free(&s->err);
}

static void ask(struct setup *s, uint32_t index, uint8_t token)
{
	struct cm_offer offer = { .port = 1 };
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;
	static uint8_t data[QPS][56];

	memset(offer.token, token, CM_TOKEN);
	cm_data_fill(data[index % QPS], &offer, index);
	rdma_create_id(s->cm.channel, &id, NULL, RDMA_PS_TCP);
	fake_push(id, RDMA_CM_EVENT_CONNECT_REQUEST);
	e = &fake.queue[(fake.tail - 1) % FAKE_EVENTS];
	if (fake.ud)
		e->param.ud = (struct rdma_ud_param){ data[index % QPS], 56, .qp_num = 0 };
	else
		e->param.conn = (struct rdma_conn_param){ data[index % QPS], 56, .qp_num = 0 };
}

static void check_ours(void)
{
	const struct ibv_qp_attr *rtr = &last[IBV_QPS_RTR], *rts = &last[IBV_QPS_RTS];

	assert_int_equal(rtr->min_rnr_timer, 12);
	assert_int_equal(rtr->path_mtu, IBV_MTU_1024);
	assert_int_equal(rtr->max_dest_rd_atomic, 4);
	assert_int_equal(rtr->ah_attr.sl, 2);
	assert_int_equal(rtr->ah_attr.static_rate, 0);
	assert_int_equal(rtr->ah_attr.grh.traffic_class, 104);
	assert_int_equal(rtr->ah_attr.grh.flow_label, 0);
	assert_int_equal(rtr->ah_attr.grh.hop_limit, 64);
	assert_int_equal(rts->timeout, 14);
	assert_int_equal(rts->retry_cnt, 6);
	assert_int_equal(rts->rnr_retry, 5);
	assert_int_equal(rts->max_rd_atomic, 3);
}

static void test_client(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s, false, false, QPS);
	peer_is_up(&s);
	assert_int_equal(cm_connect(&s.cm, &s.job, &s.watch, &s.err), 0);
	assert_int_equal(fake.establishes, QPS);
	assert_int_equal(modified, 3 * QPS);
	check_ours();
	/* Many at once, and never more than the kernel's queue of datagrams takes. */
	assert_in_range(fake.most_open, 2, 128);
	cm_disconnect(&s.cm, false);
	assert_int_equal(s.cm.down, QPS);
	end(&s);
}

static void test_server(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s, true, false, 3);
	peer_is_up(&s);
	ask(&s, 2, 7);
	ask(&s, 0, 8);   /* another token */
	ask(&s, 2, 7);   /* once more */
	ask(&s, 299, 7); /* no such QP */
	ask(&s, 0, 7);
	ask(&s, 1, 7);
	assert_int_equal(cm_connect(&s.cm, &s.job, &s.watch, &s.err), 0);
	assert_int_equal(fake.rejects, 3);
	assert_int_equal(fake.accepts, 3);
	check_ours();
	end(&s);
}

/* iWARP: QPs to INIT alone, before the kernel connects them, with our access. */
static void iwarp_end(bool server)
{
	static struct ibv_device device = { .transport_type = IBV_TRANSPORT_IWARP };
	static struct ibv_context context = { .device = &device };
	static struct setup s;

	begin(&s, server, false, 3);
	fake.iwarp = true;
	s.endpoint.ctx = &context;
	s.endpoint.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	peer_is_up(&s);
	for (uint32_t i = 0; i < 3 && server; i++)
		ask(&s, i, 7);
	assert_int_equal(cm_connect(&s.cm, &s.job, &s.watch, &s.err), 0);
	assert_int_equal(s.cm.up, 3);
	assert_int_equal(server ? fake.accepts : fake.requests, 3);
	assert_int_equal(fake.establishes, 0);
	assert_int_equal(modified, 3);
	assert_int_equal(last[IBV_QPS_INIT].qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
	end(&s);
}

static void test_iwarp(void **state)
{
	(void)state;
	memset(last, 0, sizeof(last));
	iwarp_end(false);
	memset(last, 0, sizeof(last));
	iwarp_end(true);
}

static void test_datagrams(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s, false, true, 4);
	peer_is_up(&s);
	assert_int_equal(cm_connect(&s.cm, &s.job, &s.watch, &s.err), 0);
	assert_int_equal(s.endpoint.qkey, 77);
	assert_int_equal(s.endpoint.ah_count, 4);
	assert_int_equal(last_ah.sl, 2);
	assert_int_equal(last_ah.grh.traffic_class, 104);
	end(&s);

	begin(&s, true, true, 2);
	peer_is_up(&s);
	ask(&s, 1, 7);
	ask(&s, 0, 7);
	assert_int_equal(cm_connect(&s.cm, &s.job, &s.watch, &s.err), 0);
	assert_int_equal(fake.accepts, 2);
	end(&s);
}

static const struct {
	bool server;
	int spoil;
	enum rdma_cm_event_type by;
	int status, fails_of;
	bool wrong_qpn;
	const char *why;
} failures[] = {
	{ false, RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, -1, false,
	  "ADDR_ERROR: Connection timed out" },
	{ false, RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_ERROR, -EINVAL, -1, false,
	  "ROUTE_ERROR: Invalid" },
	{ false, RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_REJECTED, 8, -1, false,
	  "reason 8 (nobody listens there)" },
	{ false, RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, -1, false,
	  "UNREACHABLE" },
	{ false, RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, -1, false,
	  "DEVICE_REMOVAL" },
	{ false, -1, 0, 0, IBV_QPS_INIT, false, "rdma_init_qp_attr: Invalid" },
	{ false, -1, 0, 0, IBV_QPS_RTR, false, "rdma_init_qp_attr: Invalid" },
	{ false, -1, 0, 0, -1, true, "QPN 0x000501 is not the one that it told, 0x000500" },
	{ true, RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_REJECTED, 28, -1, false,
	  "reason 28 (the peer refused it)" },
	{ true, RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL, -1, false,
	  "CONNECT_ERROR" },
	{ true, -1, 0, 0, IBV_QPS_RTR, false, "rdma_init_qp_attr: Invalid" },
};

static void test_failures(void **state)
{
	static struct setup s;

	(void)state;
	for (unsigned int i = 0; i < COUNT(failures); i++) {
		begin(&s, failures[i].server, false, 2);
		fake.spoil = failures[i].spoil;
		fake.by = failures[i].by;
		fake.status = failures[i].status;
		fake.fails_of = failures[i].fails_of;
		fake.first_qpn += failures[i].wrong_qpn;
		if (failures[i].server) {
			ask(&s, 0, 7);
			ask(&s, 1, 7);
		}
		assert_int_equal(cm_connect(&s.cm, &s.job, &s.watch, &s.err), -1);
		assert_contains(s.err.text, failures[i].why);
		/* Events that nobody got are the kernel's to forget; ids that came with them too. */
		for (; fake.head < fake.tail; fake.head++)
			if (fake.queue[fake.head % FAKE_EVENTS].event == RDMA_CM_EVENT_CONNECT_REQUEST)
				rdma_destroy_id(fake.queue[fake.head % FAKE_EVENTS].id);
		end(&s);
	}
}

/* The peer's own word is the reason when what was under way is spoilt by its end. */
static void test_peer_first(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s, false, false, 1);
	fake.spoil = RDMA_CM_EVENT_CONNECT_RESPONSE;
	fake.by = RDMA_CM_EVENT_REJECTED;
	fake.status = 28;
	control_close(&s.far);
	assert_int_equal(cm_connect(&s.cm, &s.job, &s.watch, &s.err), -1);
	assert_error(&s.err, EXIT_PEER, "lost at stage connect-qp");
	end(&s);
}

static void test_deadline(void **state)
{
	static struct setup s;

	(void)state;
	begin(&s, true, false, 1);
	s.watch.deadline = deadline_in(20 * NS_PER_MS);
	assert_int_equal(cm_connect(&s.cm, &s.job, &s.watch, &s.err), -1);
	assert_error(&s.err, EXIT_TIMED_OUT, "rdma_cm has 0 of 1 connections");
	end(&s);

	begin(&s, true, false, 1);
	s.job.idle_ns = 20 * NS_PER_MS;
	assert_int_equal(cm_connect(&s.cm, &s.job, &s.watch, &s.err), -1);
	assert_error(&s.err, EXIT_TIMED_OUT, "rdma_cm has 0 of 1 connections");
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),     cmocka_unit_test(test_server),
		cmocka_unit_test(test_datagrams),  cmocka_unit_test(test_failures),
		cmocka_unit_test(test_peer_first), cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_iwarp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
