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
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_first) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
