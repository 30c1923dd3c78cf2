/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first request between two processes meets no page fault: the peer's memory, its queues and
 * our own view of our memory were touched when the QP reached RTS.
 */
#include <sys/resource.h>

#include "../../softverbs/peer.h"
#include "two.h"

#define LEN 65536

static long faults(void)
{
	struct rusage r;

	CHECK(!getrusage(RUSAGE_SELF, &r));
	return r.ru_minflt + r.ru_majflt;
}

static int first(void)
{
	struct ibv_wc wc;
	struct end e;
	long before, after;

	memset(&wc, 0, sizeof(wc));
	two_open(&e, 0, IBV_QPT_RC, 4, LEN, NULL);
	faults();	/* the call itself, for the first time */
	before = faults();
	CHECK(!post(&e, IBV_WR_RDMA_WRITE, 1, e.buf, LEN, &two->addr[1], 0, IBV_SEND_SIGNALED));
	while (!ibv_poll_cq(e.cq, 1, &wc))
		;
	after = faults();
	CHECK(!wc.status);
	two->done = 1;
	end_close(&e);
	if (after != before)
		fprintf(stderr, "%ld page faults\n", after - before);
	return after != before;
}

static int other(void)
{
	struct end e;

	two_open(&e, 1, IBV_QPT_RC, 4, LEN, NULL);
	while (!two->done)
		usleep(1000);
	end_close(&e);
	return 0;
}

/* The other end is not as far yet: its QP is still at RESET, or takes from a shared queue. */
static int not_ready(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct end a, b;
	struct addr to;

	for (int srq = 0; srq < 2; srq++) {
		end_open(&a, "soft0");
		end_open(&b, "soft0");
		end_qp(&a, IBV_QPT_RC, 4);
		b.cq = init.send_cq = init.recv_cq = ibv_create_cq(b.ctx, 16, NULL, NULL, 0);
		init.srq = srq ? ibv_create_srq(b.pd, &shared) : NULL;
		CHECK(!srq || init.srq);
		b.qp = ibv_create_qp(b.pd, &init);
		CHECK(b.qp);
		to = end_addr(&b);
		end_connect(&a, &to, NULL);
		CHECK(!ibv_destroy_qp(b.qp));
		b.qp = NULL;
		CHECK(!srq || !ibv_destroy_srq(init.srq));
		end_close(&a);
		end_close(&b);
	}
	return 0;
}

static void test_not_ready(void **state)
{
	(void)state;
	assert_int_equal(in_child("soft0", not_ready), 0);
}

static void test_first(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();		/* their own tables fault */
#endif
	if (madvise(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		    4096, MADV_POPULATE_WRITE))
		skip();		/* before Linux 5.14 */
	assert_int_equal(two_run("soft0", first, "soft0", other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_not_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
