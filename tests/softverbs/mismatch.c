/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two ends described differently: what a fabric does with each kind of disagreement. */
#include "two.h"

static enum ibv_wc_status want;
static uint32_t length;

static int client(void)
{
	struct end e;
	struct ibv_wc wc;

	two_open(&e, 0, IBV_QPT_RC, 8, 8192, NULL);
	CHECK(!post(&e, IBV_WR_RDMA_WRITE, 1, e.buf, length, &two->addr[1], 0,
		    IBV_SEND_SIGNALED));
	CHECK(reap(&e, &wc, 20));
	if (wc.status != want)
		fprintf(stderr, "%s, not %s\n", ibv_wc_status_str(wc.status),
			ibv_wc_status_str(want));
	CHECK(wc.status == want);
	two->done = 1;
	end_close(&e);
	return 0;
}

static int server(void)
{
	struct end e;

	two_open(&e, 1, IBV_QPT_RC, 8, 8192, NULL);
	while (!two->done)
		usleep(1000);
	end_close(&e);
	return 0;
}

static void expect(const char *a, const char *b, enum ibv_wc_status status, uint32_t len)
{
	want = status;
	length = len;
	assert_int_equal(two_run(a, client, b, server), 0);
}

static void test_same(void **state)
{
	(void)state;
	expect("soft0", "soft0", IBV_WC_SUCCESS, 4096);
	expect("soft0:lid=3", "soft0:lid=4", IBV_WC_SUCCESS, 4096);
	expect("soft0:link=eth", "soft0:link=eth", IBV_WC_SUCCESS, 4096);
	expect("soft0:link=eth,gids=::ffff:10.0.0.1", "soft0:link=eth,gids=::ffff:10.0.0.2",
	       IBV_WC_SUCCESS, 4096);
	expect("soft0:mode=pvm", "soft0", IBV_WC_SUCCESS, 4096);
	expect("soft0", "soft0:mode=pvm", IBV_WC_SUCCESS, 4096);
}

static void test_pkey(void **state)
{
	(void)state;
	expect("soft0:pkeys=0x8001", "soft0:pkeys=0x8002", IBV_WC_RETRY_EXC_ERR, 8);
	expect("soft0:pkeys=0x8001", "soft0:pkeys=0x1", IBV_WC_SUCCESS, 8);
	expect("soft0:pkeys=0x1", "soft0:pkeys=0x1", IBV_WC_RETRY_EXC_ERR, 8);
}

static void test_port(void **state)
{
	(void)state;
	expect("soft0", "soft0:state=down", IBV_WC_RETRY_EXC_ERR, 8);
	expect("soft0:state=down", "soft0", IBV_WC_RETRY_EXC_ERR, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_pkey),
		cmocka_unit_test(test_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
