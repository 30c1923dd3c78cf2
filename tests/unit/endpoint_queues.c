/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues and limits of a device, over a fake of the few verbs that make them. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>

#include "endpoint_parts.h"

#define CQS_MAX 64

static struct {
	struct ibv_cq cq[CQS_MAX];
	int entries[CQS_MAX];
	struct ibv_comp_channel *channels[CQS_MAX], channel;
	int count, alive, fail_at; /* fail_at: this CQ is refused; 0: none */
	int pipe[2];
	struct ibv_srq srq;
	unsigned int srq_depth;
	int srqs;
} fake;

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	(void)ctx;
	(void)cq_context;
	(void)vector;
	if (fake.count + 1 == fake.fail_at) {
		errno = ENOMEM;
		return NULL;
	}
	assert_true(fake.count < CQS_MAX);
	fake.entries[fake.count] = cqe;
	fake.channels[fake.count] = channel;
	fake.alive++;
	return &fake.cq[fake.count++];
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	assert_true(cq >= fake.cq && cq < fake.cq + CQS_MAX);
	fake.alive--;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	(void)ctx;
	assert_int_equal(pipe(fake.pipe), 0);
	fake.channel.fd = fake.pipe[0];
	return &fake.channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	assert_ptr_equal(channel, &fake.channel);
	assert_int_equal(fake.alive, 0);
	close(fake.pipe[0]);
	close(fake.pipe[1]);
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	(void)pd;
	fake.srq_depth = attr->attr.max_wr;
	fake.srqs++;
	return &fake.srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	assert_ptr_equal(srq, &fake.srq);
	fake.srqs--;
	return 0;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	(void)device;
	return "fake0";
}

struct world {
	struct endpoint e;
	struct endpoint_wish wish;
	struct ibv_device_attr limits;
	struct ibv_context ctx;
	struct error err;
};

static struct world w;

static void begin(unsigned int qps, unsigned int tx, unsigned int rx)
{
	memset(&fake, 0, sizeof(fake));
	memset(&w, 0, sizeof(w));
	error_init(&w.err, "x");
	w.e.ctx = &w.ctx;
	w.limits = (struct ibv_device_attr){ .max_qp = 1000, .max_qp_wr = 500, .max_srq_wr = 400,
					     .max_cqe = 1000, .max_mr_size = 1 << 20 };
	w.wish = (struct endpoint_wish){ .qps = qps, .tx_depth = tx, .rx_depth = rx,
					 .limits = &w.limits };
}

static int opened(void)
{
	struct capture c;
	char said[512];
	int rc;

	capture_begin(&c);
	rc = endpoint_check_limits(&w.e, &w.wish, &w.err) || endpoint_open_cqs(&w.e, &w.wish, &w.err);
	capture_end(&c, said, sizeof(said));
	if (!rc && !w.wish.load)
		assert_int_equal(strstr(said, "fake0") != NULL, w.e.cqs_count > 1);
	return rc ? -1 : 0;
}

static void end(void)
{
	error_init(&w.err, "x");
	assert_int_equal(endpoint_close(&w.e, &w.err), 0);
	assert_int_equal(fake.alive, 0);
	assert_int_equal(fake.srqs, 0);
}

/* Each group's CQs hold what its QPs can have at once; no QP is without, none in two. */
static void test_groups(void **state)
{
	static const struct {
		unsigned int qps, tx, rx;
		bool srq;
		unsigned int groups, each;
	} rows[] = {
		{ 1, 16, 0, false, 1, 1 },    { 1, 500, 500, false, 1, 1 },
		{ 10, 100, 0, false, 1, 10 }, { 11, 100, 0, false, 2, 10 },
		{ 5, 16, 300, false, 2, 3 },  { 6, 16, 300, false, 2, 3 },
		{ 7, 16, 300, false, 3, 3 },  { 3, 400, 16, false, 2, 2 },
		{ 7, 10, 300, true, 1, 7 },   { 201, 10, 300, true, 3, 100 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned int left = rows[i].qps;

		begin(rows[i].qps, rows[i].tx, rows[i].rx);
		w.wish.srq = rows[i].srq;
		assert_int_equal(opened(), 0);
		assert_int_equal(w.e.cqs_count, rows[i].groups);
		assert_int_equal(w.e.qps_per_cqs, rows[i].each);
		for (unsigned int g = 0; g < rows[i].groups; g++) {
			unsigned int n = left < rows[i].each ? left : rows[i].each;
			const struct endpoint_cqs *c = &w.e.cqs[g];

			left -= n;
			assert_int_equal(fake.entries[c->send - fake.cq], n * rows[i].tx);
			if (!rows[i].rx)
				assert_ptr_equal(c->send, c->recv);
			else
				assert_int_equal(fake.entries[c->recv - fake.cq],
						 rows[i].srq ? rows[i].rx : n * rows[i].rx);
			assert_true(fake.entries[c->recv - fake.cq] <= 1000);
		}
		assert_int_equal(left, 0);
		assert_int_equal(fake.srqs, rows[i].srq);
		assert_int_equal(fake.srq_depth, rows[i].srq ? rows[i].rx : 0);
		for (unsigned int q = 0; q < rows[i].qps; q++)
			assert_ptr_equal(endpoint_cqs_of(&w.e, q), &w.e.cqs[q / rows[i].each]);
		end();
	}
}

/* The load's QP has a CQ of its own, and is in no other group. */
static void test_load(void **state)
{
	(void)state;
	begin(3, 16, 32);
	w.wish.load = true;
	w.e.qp_count = 3;
	assert_int_equal(opened(), 0);
	assert_int_equal(w.e.cqs_count, 2);
	assert_int_equal(fake.entries[w.e.cqs[0].send - fake.cq], 2 * 16);
	assert_int_equal(fake.entries[w.e.cqs[0].recv - fake.cq], 2 * 32);
	assert_int_equal(fake.entries[w.e.cqs[1].send - fake.cq], 16);
	w.e.qp_count = 0;
	end();
}

/* --events: all CQs on one channel, which never blocks. */
static void test_channel(void **state)
{
	(void)state;
	begin(7, 16, 300);
	w.wish.events = true;
	assert_int_equal(opened(), 0);
	assert_ptr_equal(w.e.channel, &fake.channel);
	for (int i = 0; i < fake.count; i++)
		assert_ptr_equal(fake.channels[i], &fake.channel);
	assert_true(fcntl(fake.channel.fd, F_GETFL) & O_NONBLOCK);
	end();
	begin(7, 16, 300);
	assert_int_equal(opened(), 0);
	assert_null(w.e.channel);
	for (int i = 0; i < fake.count; i++)
		assert_null(fake.channels[i]);
	end();
}

/* Each refusal names the option, what it asks for, the device, its limit and the limit's name. */
static void test_limits(void **state)
{
	static const struct {
		unsigned int qps, tx, rx;
		bool srq;
		size_t area;
		const char *why; /* NULL: allowed */
	} rows[] = {
		{ 1, 500, 500, false, 64, NULL },
		{ 1, 501, 0, false, 64, "--tx-depth 501: fake0 allows at most 500 (max_qp_wr)" },
		{ 1, 16, 501, false, 64, "--rx-depth 501: fake0 allows at most 500 (max_qp_wr)" },
		{ 1, 16, 401, true, 64, "--rx-depth 401: fake0 allows at most 400 (max_srq_wr)" },
		{ 1, 16, 400, true, 64, NULL },
		{ 1000, 16, 0, false, 64, NULL },
		{ 1001, 16, 0, false, 64, "--qps 1001: fake0 allows at most 1000 (max_qp)" },
		{ 1, 16, 0, false, 1 << 19, NULL },
		{ 1, 16, 0, false, (1 << 19) + 1,
		  "a memory region of 1048578 bytes is needed, fake0 allows at most 1048576 "
		  "(max_mr_size): a smaller --size" },
		{ 2, 16, 0, false, 1 << 19, "fewer --qps or --mr-per-qp" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		begin(rows[i].qps, rows[i].tx, rows[i].rx);
		w.wish.srq = rows[i].srq;
		w.e.send_area = w.e.recv_area = rows[i].area;
		assert_int_equal(endpoint_check_limits(&w.e, &w.wish, &w.err), rows[i].why ? -1 : 0);
		assert_error(&w.err, rows[i].why ? EXIT_MISUSE : EXIT_OK,
			     rows[i].why ? rows[i].why : "");
		assert_int_equal(fake.count, 0);
	}
	begin(2, 16, 0);
	w.wish.mr_per_qp = true;
	w.e.send_area = w.e.recv_area = 1 << 19;
	assert_int_equal(endpoint_check_limits(&w.e, &w.wish, &w.err), 0);
	/* A limit that the device does not tell is none. */
	begin(20000, 30000, 30000);
	memset(&w.limits, 0, sizeof(w.limits));
	assert_int_equal(endpoint_check_limits(&w.e, &w.wish, &w.err), 0);
	w.wish.limits = NULL;
	assert_int_equal(endpoint_check_limits(&w.e, &w.wish, &w.err), 0);
}

/* Not even the CQ of one QP fits. */
static void test_one_too_large(void **state)
{
	(void)state;
	begin(5, 16, 60);
	w.limits.max_cqe = 59;
	assert_int_equal(opened(), -1);
	assert_error(&w.err, EXIT_MISUSE, "a completion queue of 60 entries is needed, fake0 allows 59");
	begin(5, 16, 60);
	w.limits.max_cqe = 59;
	w.wish.srq = true;
	assert_int_equal(opened(), -1);
	assert_error(&w.err, EXIT_MISUSE, "--rx-depth 60: fake0 allows at most 59 (max_cqe)");
	begin(5, 16, 60);
	w.limits.max_cqe = 60;
	assert_int_equal(opened(), 0);
	assert_int_equal(w.e.cqs_count, 5);
	end();
}

/* A CQ that cannot be made: what was made before is taken apart again. */
static void test_failure(void **state)
{
	(void)state;
	for (int at = 1; at <= 4; at++) {
		begin(5, 16, 300);
		w.wish.events = true;
		fake.fail_at = at;
		assert_int_equal(opened(), -1);
		assert_error(&w.err, EXIT_FAILED, "ibv_create_cq of ");
		assert_int_equal(w.err.err, ENOMEM);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),	      cmocka_unit_test(test_load),
		cmocka_unit_test(test_channel),	      cmocka_unit_test(test_limits),
		cmocka_unit_test(test_one_too_large), cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests_name("endpoint_queues", tests, NULL, NULL);
}
