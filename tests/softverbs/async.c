/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* async=SEED and complete=post: what can go wrong on hardware goes wrong here too. */
#include "soft.h"

static struct end a, b;
static struct addr to;

static void open_pair(void)
{
	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
}

/* A buffer that is changed before the completion arrives changed, an inline one does not. */
static int reuse(void)
{
	struct ibv_wc wc;
	int changed = 0;

	open_pair();
	for (int i = 0; i < 50; i++) {
		strcpy((char *)a.buf, "first");
		CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
		strcpy((char *)a.buf, "later");
		CHECK(reap(&a, &wc, 5) && !wc.status);
		changed += !strcmp((char *)b.buf, "later");
		strcpy((char *)a.buf, "first");
		CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0,
			    IBV_SEND_SIGNALED | IBV_SEND_INLINE));
		strcpy((char *)a.buf, "later");
		CHECK(reap(&a, &wc, 5) && !wc.status);
		CHECK(!strcmp((char *)b.buf, "first"));
	}
	return changed < 10;
}

/* The queue is full until a completion was polled, and completions keep their order. */
static int full(void)
{
	struct ibv_wc wc;
	uint64_t next = 0;
	int n = 0, together = 0;

	open_pair();
	while (!post(&a, IBV_WR_RDMA_WRITE, (uint64_t)n, a.buf, 8, &to, 0, IBV_SEND_SIGNALED))
		n++;
	CHECK(n == 64);
	CHECK(reap(&a, &wc, 5) && wc.wr_id == next++);
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 64, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
	while (next < 65) {
		struct ibv_wc many[65];
		int got = ibv_poll_cq(a.cq, 65, many);

		CHECK(got >= 0);
		together += got > 1;
		for (int i = 0; i < got; i++)
			CHECK(!many[i].status && many[i].wr_id == next++);
	}
	return !together;	/* in batches */
}

/* Nothing is lost when the program sleeps instead of polling. */
static int sleeper(void)
{
	struct ibv_wc wc;

	open_pair();
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0, 0));
	strcpy((char *)a.buf, "seen");
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0, 0));
	for (int i = 0; i < 2000 && strcmp((char *)b.buf, "seen"); i++)
		usleep(1000);
	CHECK(!strcmp((char *)b.buf, "seen"));
	CHECK(!reap(&a, &wc, 0.01));
	return 0;
}

/* complete=post: the completion is there at once, the data only after the delay. */
static int early(void)
{
	struct ibv_wc wc;
	double t0;

	open_pair();
	strcpy((char *)a.buf, "data");
	t0 = seconds();
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
	CHECK(ibv_poll_cq(a.cq, 1, &wc) == 1 && !wc.status);
	CHECK(b.buf[0] == 0 || seconds() - t0 > 0.1);
	while (strcmp((char *)b.buf, "data") && seconds() - t0 < 5)
		CHECK(ibv_poll_cq(a.cq, 1, &wc) == 0);
	CHECK(!strcmp((char *)b.buf, "data"));
	return seconds() - t0 < 0.1;
}

/*
 * A slot is free once a completion that covers it was polled, though its data is still to come:
 * 40 times the depth is posted before the first byte arrives, and all arrives, in order.
 */
static int early_full(void)
{
	volatile uint64_t *got;
	struct ibv_wc wc;
	uint64_t n = 0;

	open_pair();
	got = (volatile uint64_t *)(void *)b.buf;
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 64; i++, n++) {
			*(uint64_t *)(void *)a.buf = n + 1;
			CHECK(!post(&a, IBV_WR_RDMA_WRITE, n, a.buf, 8, &to, n % 1000 * 8,
				    IBV_SEND_INLINE | (i % 16 == 15 ? IBV_SEND_SIGNALED : 0)));
		}
		CHECK(post(&a, IBV_WR_RDMA_WRITE, n, a.buf, 8, &to, 0, 0) == ENOMEM);
		for (int i = 0; i < 4; i++)
			CHECK(ibv_poll_cq(a.cq, 1, &wc) == 1 && !wc.status);
		CHECK(wc.wr_id == n - 1);
	}
	for (double t0 = seconds(); got[(n - 1) % 1000] != n && seconds() - t0 < 20;)
		CHECK(ibv_poll_cq(a.cq, 1, &wc) == 0);
	for (uint64_t i = n - 1000; i < n; i++)
		CHECK(got[i % 1000] == i + 1);
	end_close(&a);
	end_close(&b);
	return 0;
}

/* An unreliable order between two QPs: with 2000 tries each one is first at times. */
static int out_of_step(void)
{
	static struct end c, d;
	struct addr to2;
	struct ibv_wc wc;
	int first = 0, second = 0;

	open_pair();
	pair_open(&c, &d, IBV_QPT_RC, 8192, NULL);
	to2 = end_addr(&d);
	for (int i = 0; i < 200; i++) {
		CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
		CHECK(!post(&c, IBV_WR_RDMA_WRITE, 2, c.buf, 8, &to2, 0, IBV_SEND_SIGNALED));
		for (int got = 0; !got;) {
			if (ibv_poll_cq(a.cq, 1, &wc) == 1) {
				first++;
				got = reap(&c, &wc, 5);
			} else if (ibv_poll_cq(c.cq, 1, &wc) == 1) {
				second++;
				got = reap(&a, &wc, 5);
			}
		}
	}
	return !first || !second;
}

#define CASE(f, spec)                                                                              \
	static void test_##f(void **state)                                                         \
	{                                                                                          \
		(void)state;                                                                       \
		assert_int_equal(in_child(spec, f), 0);                                            \
	}
CASE(reuse, "soft0:async=1")
CASE(full, "soft0:async=2")
CASE(sleeper, "soft0:async=3")
CASE(early, "soft0:complete=post,delay=100ms")
CASE(early_full, "soft0:complete=post,delay=500ms")
CASE(out_of_step, "soft0:async=4")

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reuse),	cmocka_unit_test(test_full),
		cmocka_unit_test(test_sleeper), cmocka_unit_test(test_early),
		cmocka_unit_test(test_early_full),
		cmocka_unit_test(test_out_of_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
