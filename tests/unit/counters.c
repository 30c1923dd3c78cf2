/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of a made-up device: read, subtracted, named; a peer's; the lines of the report. */
#include "counters.h"

#include "deadline.h"
#include "reports.h"
#include "tree.h"

#define DEVICE "sys/class/infiniband/mlx5_0/"
#define PORT DEVICE "ports/1/"

static int setup(void **state)
{
	char *root = malloc(TREE_ROOT);

	tree_open(root);
	*state = root;
	return 0;
}

static int teardown(void **state)
{
	tree_close(*state);
	free(*state);
	return 0;
}

static char *dumped(json_t *v)
{
	char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);

	assert_non_null(text);
	json_decref(v);
	return text;
}

static void check_json(json_t *v, const char *want)
{
	char *text = dumped(v);

	assert_string_equal(text, want);
	free(text);
}

static void test_read(void **state)
{
	static const struct counter due[] = {
		{ "largest", UINT64_MAX }, { "of_device", 5 }, { "out_of_sequence", 12 },
		{ "port_xmit_data", 4 }, { "symbol_error", 0 },
	};
	const char *root = *state;
	struct counters c;

	tree_file(root, PORT "counters/symbol_error", "0\n");
	tree_file(root, PORT "counters/port_xmit_data", "4\n");
	tree_file(root, PORT "counters/port_rcv_data", "N/A (no PMA)\n");
	tree_file(root, PORT "counters/negative", "-1\n");
	tree_file(root, PORT "counters/empty", "");
	tree_file(root, PORT "counters/text", "12 apples\n");
	tree_file(root, PORT "counters/too_large", "18446744073709551616\n");
	tree_file(root, PORT "counters/largest", "18446744073709551615\n");
	tree_file(root, PORT "counters/folder", NULL);
	tree_file(root, PORT "hw_counters/out_of_sequence", "12\n");
	tree_file(root, PORT "hw_counters/lifespan", "10\n");
	/* mlx5 has the same names in both places. */
	tree_file(root, DEVICE "hw_counters/out_of_sequence", "99\n");
	tree_file(root, DEVICE "hw_counters/of_device", "5\n");
	tree_file(root, DEVICE "hw_counters/lifespan", "12\n");
	tree_file(root, DEVICE "ports/2/counters/of_port_2", "7\n");
	counters_read(&c, root, "mlx5_0", 1);
	assert_int_equal(c.count, COUNT(due));
	for (size_t i = 0; i < COUNT(due); i++) {
		assert_string_equal(c.v[i].name, due[i].name);
		assert_true(c.v[i].value == due[i].value);
	}
	assert_int_equal(c.lifespan_ns, 12 * NS_PER_MS);
	counters_free(&c);
	assert_int_equal(c.count, 0);
}

static void test_none(void **state)
{
	struct counters c;
	uint64_t start;

	tree_file(*state, PORT "hw_counters", NULL);
	counters_read(&c, *state, "mlx5_0", 1);
	assert_int_equal(c.count, 0);
	counters_read(&c, *state, "soft0", 1);
	assert_null(counters_difference(&c, &c));
	start = now_ns();
	counters_wait(&c);
	counters_free(&c);
	assert_true(now_ns() - start < NS_PER_S);
}

/* A second read within the lifespan would be the first one's answer. */
static void test_wait(void **state)
{
	struct counters c = { .lifespan_ns = 30 * NS_PER_MS };
	uint64_t start = now_ns();

	counters_wait(&c);
	assert_true(now_ns() - start > 40 * NS_PER_MS); /* a jiffy of 10 ms more */
	tree_file(*state, PORT "hw_counters/lifespan", "4000000000000\n");
	counters_read(&c, *state, "mlx5_0", 1);
	assert_int_equal(c.lifespan_ns, NS_PER_S);
	counters_free(&c);
}

static void test_difference(void **state)
{
	struct counter first[] = { { "a", 1 }, { "far", 1ull << 63 | 10 }, { "gone", 1 },
				   { "less", 8 }, { "same", UINT64_MAX },
				   { "wide", 0 } };
	struct counter second[] = { { "a", 1ull << 40 }, { "far", 5 }, { "less", 7 },
				    { "new", 3 },
				    { "same", UINT64_MAX }, { "wide", UINT64_MAX } };
	struct counters before = { first, COUNT(first), 0 }, after = { second, COUNT(second), 0 };
	struct counters none = { 0 };

	(void)state;
	check_json(counters_difference(&before, &after),
		   "{\"a\":1099511627775,\"far\":null,\"gone\":null,\"less\":null,"
		   "\"new\":null,\"same\":0,\"wide\":null}");
	check_json(counters_difference(&before, &none),
		   "{\"a\":null,\"far\":null,\"gone\":null,\"less\":null,\"same\":null,\"wide\":null}");
	assert_null(counters_difference(&none, &none));
}

static void test_from_peer(void **state)
{
	static const char *const bad[] = { "null", "{}", "[]", "[1]", "7", "{\"a\":-1}",
					   "{\"a\":\"1\"}", "{\"a\":1,\"b\":{}}", "{\"a\":1.5}" };
	json_t *v = json_loads("{\"a\":1,\"b\":null}", 0, NULL), *taken = counters_from_peer(v);

	(void)state;
	json_decref(v);
	check_json(taken, "{\"a\":1,\"b\":null}");
	assert_null(counters_from_peer(NULL));
	for (size_t i = 0; i < COUNT(bad); i++) {
		v = json_loads(bad[i], JSON_DECODE_ANY, NULL);
		assert_non_null(v);
		assert_null(counters_from_peer(v));
		json_decref(v);
	}
	v = json_object();
	for (int i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "c%d", i);
		json_object_set_new(v, name, json_integer(i));
	}
	assert_null(counters_from_peer(v));
	json_decref(v);
}

/* One of each driver at least; traffic and congestion are no errors. */
static void test_names(void **state)
{
	static const char *const errors[] = {
		"symbol_error", "port_xmit_discards", "out_of_sequence", "vport_out_of_sequence",
		"local_ack_timeout_err", "rnr_nak_retry_err", "sq_num_to", "rq_num_udsdprd",
		"completer_retry_err", "rcvd_seq_err", "rcvd_rnr_err", "retry_exceeded_err",
		"to_retransmits", "seq_err_naks_rcvd", "tcpRetransSegs", "ip4InDiscards",
		"RcResend", "RxICrcErr",
	};
	static const char *const fine[] = {
		"port_xmit_data", "port_rcv_packets", "port_xmit_wait", "rx_write_requests",
		"sent_pkts", "rcvd_pkts", "ack_deferred", "rdma_sends", "active_qps", "tx_pkts",
		"np_cnp_sent", "ip4InOctets", "lifespan", "", "vport_", "symbol_errors",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(errors); i++)
		if (!counter_error(errors[i]) || !*counter_error(errors[i]))
			fail_msg("%s has no meaning", errors[i]);
	for (size_t i = 0; i < COUNT(fine); i++)
		if (counter_error(fine[i]))
			fail_msg("%s is taken for an error", fine[i]);
}

/* What the report of these counters says; both may be NULL. */
static void check_lines(const char *local, const char *remote, bool verbose, const char *want)
{
	struct fixture *f = fixture_open();
	char *text;

	f->r.local_counters = local ? json_loads(local, 0, NULL) : NULL;
	f->r.remote_counters = remote ? json_loads(remote, 0, NULL) : NULL;
	f->set.verbose = verbose;
	text = fixture_text(f, report_counters);
	assert_string_equal(text, want);
	free(text);
	json_decref(f->r.local_counters);
	json_decref(f->r.remote_counters);
	fixture_close(f);
}

static void test_lines(void **state)
{
	static const char *const moved =
		"{\"sent_pkts\":400,\"completer_retry_err\":3,\"rcvd_seq_err\":0,"
		"\"retry_exceeded_err\":null,\"rcvd_rnr_err\":9007199254740993}";

	(void)state;
	check_lines(NULL, NULL, true, "");
	check_lines("{\"sent_pkts\":400,\"rcvd_seq_err\":0}", NULL, false, "");
	check_lines(moved, NULL, false,
		    "counters, local: completer_retry_err 3 (requests were sent again), "
		    "rcvd_rnr_err 9007199254740993 (the peer had no receive posted (RNR NAK))\n");
	check_lines(NULL, "{\"symbol_error\":1}", false,
		    "counters, remote: symbol_error 1 (minor errors of the physical link)\n");
	check_lines("{\"rcvd_seq_err\":2}", "{\"out_of_seq_request\":2,\"bad\\u001b[2J\":1}", true,
		    "counters, local: rcvd_seq_err 2 (the peer missed packets (sequence NAK)); "
		    "remote: out_of_seq_request 2 (packets arrived out of sequence)\n"
		    "  local counter rcvd_seq_err = 2\n"
		    "  remote counter out_of_seq_request = 2\n"
		    "  remote counter bad?[2J = 1\n");
	check_lines("{\"rcvd_seq_err\":null}", NULL, true, "  local counter rcvd_seq_err = -\n");
}

/* They stand in the text after the table, and in the document. */
static void test_report(void **state)
{
	struct fixture *f = fixture_open();
	char *text;
	json_t *doc;

	(void)state;
	f->r.remote_counters = json_loads("{\"symbol_error\":1}", 0, NULL);
	text = fixture_text(f, report_text);
	assert_contains(strstr(text, "    bytes "), "\ncounters, remote: symbol_error 1 (");
	free(text);
	doc = report_json(&f->r);
	check_json(json_incref(json_object_get(doc, "counters")),
		   "{\"local\":null,\"remote\":{\"symbol_error\":1}}");
	json_decref(doc);
	json_decref(f->r.remote_counters);
	fixture_close(f);
}

#define WITH_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(test_read),
		WITH_TREE(test_none),
		WITH_TREE(test_wait),
		cmocka_unit_test(test_difference),
		cmocka_unit_test(test_from_peer),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
