/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads on one QP and one CQ: each WR completes once, nothing is lost; clean under TSan. */
#include <pthread.h>
#include <sched.h>

#include "soft.h"

#define THREADS 4
#define EACH 2000

static struct end a, b;
static struct addr to;
static unsigned char seen[THREADS * EACH];
static int left = THREADS * EACH;

static void poll_some(void)
{
	struct ibv_wc wc[8];
	int n = ibv_poll_cq(a.cq, 8, wc);

	CHECK(n >= 0);
	for (int i = 0; i < n; i++) {
		CHECK(!wc[i].status && wc[i].wr_id < THREADS * EACH);
		CHECK(!__atomic_exchange_n(&seen[wc[i].wr_id], 1, __ATOMIC_RELAXED));
		__atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED);
	}
}

static void *poster(void *arg)
{
	uint64_t id = (uint64_t)(uintptr_t)arg * EACH;

	for (int i = 0; i < EACH; i++, id++)
		while (post(&a, i % 2 ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_RDMA_WRITE, id,
			    a.buf + 64 * (uintptr_t)arg, 8, &to, 0, IBV_SEND_SIGNALED))
			poll_some();
	while (__atomic_load_n(&left, __ATOMIC_RELAXED))
		poll_some();
	return NULL;
}

static int run(void)
{
	pthread_t t[THREADS];

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, poster, (void *)i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS * EACH; i++)
		CHECK(seen[i]);
	end_close(&a);
	end_close(&b);
	return 0;
}

static volatile int stop, posting;

static void *writer(void *arg)
{
	struct ibv_wc wc;

	(void)arg;
	while (!stop) {
		posting = 1;
		CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 65536, &to, 0, IBV_SEND_SIGNALED));
		CHECK(reap(&a, &wc, 20));
	}
	return NULL;
}

/* When dereg_mr has returned nobody writes there any more. */
static int no_late_write(void)
{
	pthread_t t;

	for (int i = 0; i < 30; i++) {
		pair_open(&a, &b, IBV_QPT_RC, 65536, NULL);
		to = end_addr(&b);
		memset(a.buf, 1, 65536);
		stop = posting = 0;
		CHECK(!pthread_create(&t, NULL, writer, NULL));
		while (!posting || !b.buf[65535])
			sched_yield();
		CHECK(!ibv_dereg_mr(b.mr));
		memset(b.buf, 2, 65536);
		for (int k = 0; k < 65536; k++)
			CHECK(b.buf[k] == 2);
		stop = 1;
		pthread_join(t, NULL);
		b.mr = NULL;
		end_close(&a);
		end_close(&b);
	}
	return 0;
}

/* Objects made and unmade by several threads while others use theirs. */
static void *maker(void *arg)
{
	struct end e, f;
	struct addr x;
	struct ibv_wc wc;

	(void)arg;
	for (int i = 0; i < 20; i++) {
		pair_open(&e, &f, IBV_QPT_RC, 8192, NULL);
		x = end_addr(&f);
		CHECK(!post(&e, IBV_WR_RDMA_WRITE, 1, e.buf, 8, &x, 0, IBV_SEND_SIGNALED));
		CHECK(reap(&e, &wc, 20) && !wc.status);
		end_close(&e);
		end_close(&f);
	}
	return NULL;
}

static int makers(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, maker, NULL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static void test_one_qp(void **state)
{
	(void)state;
	assert_int_equal(in_child("soft0", run), 0);
}

static void test_one_qp_async(void **state)
{
	(void)state;
	assert_int_equal(in_child("soft0:async=5", run), 0);
}

static void test_no_late_write(void **state)
{
	(void)state;
#ifdef __SANITIZE_THREAD__
	skip();		/* the program's own bytes race by intent */
#endif
	assert_int_equal(in_child("soft0", no_late_write), 0);
}

static void test_makers(void **state)
{
	(void)state;
	assert_int_equal(in_child("soft0", makers), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_qp),
		cmocka_unit_test(test_one_qp_async),
		cmocka_unit_test(test_makers),
		cmocka_unit_test(test_no_late_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
