/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bytes of every control message, as the driver builds it: the same on every CPU, word size
 * and release of this protocol. A vector that must change means another PROTOCOL, or a field that
 * older ends can do without.
 */
#include "unit.h"

#include <sys/socket.h>

#undef VERBSPERF_VERSION
#define VERBSPERF_VERSION "9.8.7"

/* The builders are private to the driver. */
#include "../../common/bench_agree.c"
#include "../../common/bench_run.c"
#include "../../common/bench_laps.c"

int gethostname(char *name, size_t len)
{
	snprintf(name, len, "host-a");
	return 0;
}

int uname(struct utsname *u)
{
	snprintf(u->release, sizeof(u->release), "6.1.0-9");
	return 0;
}

/* What ibv_query_device_ex comes to on a device without more: it has no clock. */
int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	(void)ctx;
	(void)attr;
	return 0;
}

static const struct bench_program program = {
	.options = { .name = "rdma_lat",
		     .mask = FOR_PAIR | FOR_LAT | FOR_CLOCK | FOR_IMM | FOR_RECV | FOR_LOSSY,
		     .argument = "HOST" },
};

struct ends {
	struct bench b;
	struct candidate ours[2], theirs[1];
	struct ibv_context ctx;
	uint32_t qpn, psn, rkey;
	struct error err;
	int peer; /* the other end's socket */
};

static void fill_candidates(struct ends *e)
{
	struct candidate *roce = &e->ours[0], *ib = &e->ours[1];

	*roce = (struct candidate){ .device = "rxe0", .port = 1, .link = LINK_ETHERNET, .mtu = 1024,
				    .grh = true, .max_dest_rd_atomic = 128, .max_rd_atomic = 64,
				    .gid_count = 2, .pkeys = { 0xffff }, .pkey_count = 1 };
	roce->gids[0] = (struct gid_entry){ .index = 0, .type = GID_TYPE_ROCE_V2, .prefix_len = 64,
					    .netdev = "eth0" };
	roce->gids[1] = (struct gid_entry){ .index = 1, .type = GID_TYPE_ROCE_V2, .prefix_len = 24,
					    .netdev = "eth0" };
	assert_int_equal(gid_parse("fe80::5054:ff:fe12:3456", &roce->gids[0].gid), 0);
	assert_int_equal(gid_parse("::ffff:10.77.0.1", &roce->gids[1].gid), 0);
	*ib = (struct candidate){ .device = "mlx5_0", .port = 2, .link = LINK_IB, .lid = 0xc00b,
				  .lmc = 3, .mtu = 4096, .prefix = 0xfe80000000000000ull,
				  .max_dest_rd_atomic = 16, .max_rd_atomic = 16,
				  .pkeys = { 0xffff, 0x8001, 0 }, .pkey_count = 3 };
	e->theirs[0] = *roce;
	strcpy(e->theirs[0].device, "rxe1");
}

static void fill_address(struct ends *e)
{
	struct endpoint_address *a = &e->b.local;

	e->qpn = 0xa51234;
	e->psn = 0x00beef;
	a->lid = 0xc00b;
	a->has_gid = true;
	a->gid = e->ours[0].gids[1];
	e->rkey = 0xfedcba98;
	a->stride = 0x3000;
	a->vaddr = 0x80007f0012345000ull;
	a->qpns = &e->qpn;
	a->psns = &e->psn;
	a->rkeys = &e->rkey;
	a->qp_count = 1;
}

static void fill_facts(struct ends *e)
{
	struct bench *b = &e->b;

	strcpy(b->facts.name, "rxe0");
	strcpy(b->facts.firmware, "1.2");
	b->facts.software = "rxe";
	b->facts.numa_node = -1;
	b->cert = (struct clock_cert){ .name = "tsc", .hz = 2.5e9, .ppm = 0.25, .trusted = true,
				       .invariant_known = true, .invariant = true, .why = "invariant",
				       .read_ns = 12.5, .resolution_ns = 1 };
}

/* A client that is about to send its hello; nothing in it depends on the machine. */
static int setup(void **state)
{
	char *argv[] = { (char *)(uintptr_t)"rdma_lat", (char *)(uintptr_t)"host", NULL };
	struct ends *e = calloc(1, sizeof(*e));
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	error_init(&e->err, "rdma_lat");
	e->b.program = &program;
	e->b.err = &e->err;
	e->b.deadline = DEADLINE_NEVER;
	assert_int_equal(options_parse(&program.options, 2, argv, &e->b.set, &e->err), 0);
	strcpy(e->b.boot_id, "01234567-89ab-cdef-0123-456789abcdef");
	control_init(&e->b.control);
	control_adopt(&e->b.control, fds[0]);
	e->peer = fds[1];
	fill_candidates(e);
	e->b.devices.list = (struct candidate_list){ e->ours, 2 };
	e->b.devices.contexts[0] = e->b.devices.contexts[1] = &e->ctx;
	e->b.remote_ports = (struct candidate_list){ e->theirs, 1 };
	e->b.pair.client = (struct candidate_choice){ 0, 1, 0 };
	e->b.pair.server = (struct candidate_choice){ 0, 1, 0 };
	e->b.cpu.cpu = 5;
	e->b.peer_cpu = -1;
	fill_address(e);
	fill_facts(e);
	*state = e;
	return 0;
}

static int teardown(void **state)
{
	struct ends *e = *state;

	control_close(&e->b.control);
	close(e->peer);
	json_decref(e->b.local_facts);
	json_decref(e->b.remote_facts);
	free(e);
	return 0;
}

/* @length: the header's last four bytes in hex. */
static void check_bytes(const uint8_t *frame, size_t len, const char *length, const char *text)
{
	char header[2 * FRAME_HEADER + 1];

	for (int i = 0; i < FRAME_HEADER; i++)
		snprintf(header + 2 * i, 3, "%02x", frame[i]);
	if (len != FRAME_HEADER + strlen(text) || memcmp(frame + FRAME_HEADER, text, strlen(text)))
		fail_msg("%.*s\nwanted\n%s", (int)(len - FRAME_HEADER), frame + FRAME_HEADER, text);
	assert_int_equal(strncmp(header, "56504631", 8), 0);
	assert_string_equal(header + 8, length);
}

/* Takes the reference. */
static void check_message(json_t *m, const char *length, const char *text)
{
	size_t len;
	uint8_t *frame = frame_build(m, &len);

	assert_non_null(frame);
	check_bytes(frame, len, length, text);
	free(frame);
	json_decref(m);
}

/* What was sent over the control connection. */
static void check_sent(struct ends *e, const char *length, const char *text)
{
	static uint8_t frame[65536];
	ssize_t n = recv(e->peer, frame, sizeof(frame), MSG_DONTWAIT);

	assert_true(n >= FRAME_HEADER);
	check_bytes(frame, (size_t)n, length, text);
}

/* The other end's part of an exchange lies ready. */
static void peer_says(struct ends *e, json_t *m)
{
	size_t len;
	uint8_t *frame = frame_build(m, &len);

	assert_int_equal(send(e->peer, frame, len, 0), len);
	free(frame);
	json_decref(m);
}

#define GIDS                                                                                       \
	"[{\"index\":0,\"gid\":\"fe80::5054:ff:fe12:3456\",\"type\":\"RoCE v2\","                  \
	"\"prefix_len\":64,\"netdev\":\"eth0\"},"                                                  \
	"{\"index\":1,\"gid\":\"::ffff:10.77.0.1\",\"type\":\"RoCE v2\","                          \
	"\"prefix_len\":24,\"netdev\":\"eth0\"}]"

static void test_hello(void **state)
{
	struct ends *e = *state;

	check_message(hello(&e->b), "000002d0",
		      "{\"type\":\"hello\",\"protocol\":1,\"program\":\"rdma_lat\","
		      "\"release\":\"9.8.7\",\"features\":[],"
		      "\"boot_id\":\"01234567-89ab-cdef-0123-456789abcdef\",\"candidates\":["
		      "{\"device\":\"rxe0\",\"port\":1,\"link_layer\":\"Ethernet\",\"lid\":0,"
		      "\"lmc\":0,\"mtu\":1024,\"grh\":true,\"subnet_prefix\":\"0000000000000000\","
		      "\"max_rd_atomic\":64,\"max_dest_rd_atomic\":128,\"gids\":" GIDS ","
		      "\"pkeys\":[65535]},"
		      "{\"device\":\"mlx5_0\",\"port\":2,\"link_layer\":\"IB\",\"lid\":49163,"
		      "\"lmc\":3,\"mtu\":4096,\"grh\":false,\"subnet_prefix\":\"fe80000000000000\","
		      "\"max_rd_atomic\":16,\"max_dest_rd_atomic\":16,\"gids\":[],"
		      "\"pkeys\":[65535,32769,0]}]}");
}

static void test_plan(void **state)
{
	struct ends *e = *state;

	check_message(
		plan_message(&e->b), "0000034a",
		"{\"type\":\"plan\",\"options\":{\"size\":[8],\"iters\":1000,"
		"\"duration\":null,\"run-infinitely\":false,\"interval\":null,"
		"\"transport\":\"RC\",\"imm\":false,\"gap\":null,\"load\":null,\"verify\":false,"
		"\"allow-loss\":false,\"confidence\":null,\"runs\":null,\"warmup\":100,"
		"\"full-rtt\":false,\"detail\":false,\"hw-timestamps\":false,"
		"\"tx-depth\":16,\"qps\":1,\"rx-depth\":512,\"recv-post-list\":1,\"srq\":false,"
		"\"events\":false,\"spin\":null,\"relaxed-ordering\":null,"
		"\"mr-per-qp\":false,\"inline\":null,\"reap\":\"now\",\"rdma-cm\":false,"
		"\"path-record\":false,\"mtu\":null,\"sl\":0,\"traffic-class\":0,"
		"\"flow-label\":\"0\",\"hop-limit\":64,\"path-bits\":0,\"pkey\":null,"
		"\"qp-timeout\":14,\"retry-count\":7,\"rnr-retry\":7,\"min-rnr-timer\":12},"
		"\"client\":{\"device\":\"rxe0\",\"port\":1,\"gid_index\":1,\"pkey_index\":0},"
		"\"server\":{\"device\":\"rxe1\",\"port\":1,\"gid_index\":1,\"pkey_index\":0},"
		"\"cpu\":\"auto,auto\",\"cpu_given\":false,\"client_cpu\":5,"
		"\"dump\":false}");
}

static void test_accept(void **state)
{
	struct ends *e = *state;

	assert_int_equal(send_accept(&e->b, &e->b.control, &e->err), 0);
	check_sent(e, "00000035", "{\"type\":\"accept\",\"cpu\":5,\"shared\":false,\"dump\":false}");
	e->b.cpu.cpu = -1;
	e->b.yield = true;
	assert_int_equal(send_accept(&e->b, &e->b.control, &e->err), 0);
	check_sent(e, "00000037", "{\"type\":\"accept\",\"cpu\":null,\"shared\":true,\"dump\":false}");
}

static void test_endpoints(void **state)
{
	struct ends *e = *state;

	peer_says(e, json_pack("{s:s,s:o,s:{}}", "type", "endpoints", "address",
			       endpoint_address_to_json(&e->b.local), "facts"));
	assert_int_equal(bench_exchange_endpoints(&e->b, NULL), 0);
	check_sent(e, "0000028b",
		   "{\"type\":\"endpoints\",\"address\":{\"lid\":49163,"
		   "\"vaddr\":\"0x80007f0012345000\",\"stride\":12288,"
		   "\"qps\":[[10818100,48879,4275878552]],"
		   "\"gid\":{\"gid\":\"::ffff:10.77.0.1\",\"index\":1,\"type\":\"RoCE v2\"}},"
		   "\"facts\":{\"host\":\"host-a\",\"kernel\":\"6.1.0-9\",\"device\":\"rxe0\",\"firmware\":\"1.2\","
		   "\"software\":\"rxe\",\"device_clock_khz\":null,\"port\":1,\"link_layer\":\"Ethernet\",\"mtu\":1024,"
		   "\"lid\":0,\"gid\":\"::ffff:10.77.0.1\",\"gid_index\":1,"
		   "\"gid_type\":\"RoCE v2\",\"cpu\":5,\"numa_node\":null,"
		   "\"clock\":{\"source\":\"tsc\",\"hz\":2500000000.0,\"ppm\":0.25,"
		   "\"hz_before\":null,\"hz_after\":null,\"between_ppm\":null,"
		   "\"invariant\":true,\"trusted\":true,\"why\":\"invariant\","
		   "\"independent\":false,\"read_ns\":12.5,\"resolution_ns\":1.0}}}");
	assert_int_equal(e->b.remote.qpns[0], e->qpn);
	assert_int_equal(e->b.remote.vaddr, e->b.local.vaddr);
	assert_int_equal(e->b.remote.rkeys[0], e->rkey);
	assert_int_equal(e->b.remote.stride, 0x3000);
	endpoint_address_free(&e->b.remote);
}

/* Each fact of an end has its place in the manual page, nested ones too. */
static void check_documented(json_t *facts)
{
	const char *key;
	json_t *v;

	json_object_foreach(facts, key, v) {
		assert_contains(BENCH_TEXT_JSON, key);
		check_documented(v);
	}
}

static void test_facts(void **state)
{
	struct ends *e = *state;
	json_t *facts = bench_facts_json(&e->b);

	assert_true(json_object_size(facts) > 10);
	check_documented(facts);
	json_decref(facts);
}

/* The barrier: ready from the client, go from the server, which then spins. */
static void test_barrier(void **state)
{
	struct ends *e = *state;

	peer_says(e, control_message("go"));
	assert_int_equal(bench_barrier(&e->b), 0);
	check_sent(e, "00000010", "{\"type\":\"ready\"}");
	e->b.server = true;
	peer_says(e, control_message("ready"));
	assert_int_equal(bench_barrier(&e->b), 0);
	check_sent(e, "0000000d", "{\"type\":\"go\"}");
}

static void test_done(void **state)
{
	struct lap_result res = { .warmup = 100 };
	struct lap_run r = { .laps = 1ull << 40, .number = 7 };

	(void)state;
	check_message(done_message(&r, &res), "00000048",
		      "{\"type\":\"done\",\"laps\":1099511627776,\"warmup\":100,"
		      "\"number\":1099511627783}");
	check_message(control_message("interrupt"), "00000014", "{\"type\":\"interrupt\"}");
}

static void test_results(void **state)
{
	struct lap_result res = { .samples = 999 };
	struct ends *e = *state;

	peer_says(e, json_pack("{s:s,s:i,s:i,s:b}", "type", "results", "samples", 1000, "lost", 3,
			       "interrupted", 1));
	assert_int_equal(exchange_results(&e->b, &res), 0);
	check_sent(e, "00000046",
		   "{\"type\":\"results\",\"samples\":999,\"laps\":0,\"lost\":0,\"interrupted\":false}");
	assert_true(e->b.interrupted);
	assert_int_equal(res.lost, 0);
}

/* Only the client knows what was lost; without --allow-loss both ends fail by it. */
static void test_results_lost(void **state)
{
	struct lap_result res = { .warmup = 100, .laps = 1000, .samples = 998,
				  .lost = 2 };
	struct ends *e = *state;

	peer_says(e, json_pack("{s:s,s:i,s:i,s:b}", "type", "results", "samples", 997, "lost", 0,
			       "interrupted", 0));
	assert_int_equal(exchange_results(&e->b, &res), 0);
	check_sent(e, "00000049",
		   "{\"type\":\"results\",\"samples\":998,\"laps\":1100,\"lost\":2,\"interrupted\":false}");
	assert_int_equal(judge_loss(&e->b, &res), -1);
	assert_error(&e->err, EXIT_DATA, "2 of 1000 exchanges were lost");
	error_init(&e->err, "rdma_lat");
	e->b.server = true;
	e->b.set.allow_loss = true;
	peer_says(e, json_pack("{s:s,s:i,s:i,s:b}", "type", "results", "samples", 1000, "lost", 3,
			       "interrupted", 0));
	res.lost = 0;
	assert_int_equal(exchange_results(&e->b, &res), 0);
	assert_int_equal(res.lost, 3);
	assert_int_equal(judge_loss(&e->b, &res), 0);
}

static void test_abort(void **state)
{
	struct ends *e = *state;

	e->err.stage = "connect-qp";
	error_set(&e->err, EXIT_FAILED, 22, "QP 0x%06x to \"RTR\"", 17);
	control_abort(&e->b.control, &e->err);
	check_sent(e, "0000006b",
		   "{\"type\":\"abort\",\"stage\":\"connect-qp\",\"errno\":22,\"code\":1,"
		   "\"text\":\"QP 0x000011 to \\\"RTR\\\": Invalid argument\"}");
}

#define WITH_ENDS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ENDS(test_hello),	   WITH_ENDS(test_plan),    WITH_ENDS(test_accept),
		WITH_ENDS(test_endpoints), WITH_ENDS(test_barrier), WITH_ENDS(test_done),
		WITH_ENDS(test_results),   WITH_ENDS(test_abort),   WITH_ENDS(test_facts),
		WITH_ENDS(test_results_lost),
	};

	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
