/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sizes: 10,000 QPs in one process, much memory registered (SOFT_MIB, default 64, the goal is
 * 1024), many processes (SOFT_PROCESSES), 64 at once (default 64) and one after the other (default
 * 100). Objects and memory are all given back.
 */
#include <sys/stat.h>

#include "soft.h"

#define QPS 10000

static int qps(void)
{
	static struct ibv_qp *qp[QPS];
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC, .cap = { 128, 128, 1, 1, 0 } };
	struct end e;

	end_open(&e, "soft0");
	for (int round = 0; round < 2; round++) {
		e.cq = ibv_create_cq(e.ctx, 1000, NULL, NULL, 0);
		CHECK(e.cq);
		a.send_cq = a.recv_cq = e.cq;
		for (int i = 0; i < QPS; i++) {
			qp[i] = ibv_create_qp(e.pd, &a);
			CHECK(qp[i]);
		}
		for (int i = 0; i < QPS; i++)
			CHECK(!ibv_destroy_qp(qp[i]));
		CHECK(!ibv_destroy_cq(e.cq));
	}
	e.cq = NULL;
	end_close(&e);
	return 0;
}

static int memory(void)
{
	struct end a, b;
	struct addr to;
	struct ibv_wc wc;
	size_t len = (size_t)(getenv("SOFT_MIB") ? atoi(getenv("SOFT_MIB")) : 64) << 20;

	end_open(&a, "soft0");
	end_open(&b, "soft0");
	end_memory(&a, 4096);
	end_memory(&b, len);
	end_qp(&a, IBV_QPT_RC, 4);
	end_qp(&b, IBV_QPT_RC, 4);
	to = end_addr(&a);
	end_connect(&b, &to, NULL);
	to = end_addr(&b);
	end_connect(&a, &to, NULL);
	strcpy((char *)a.buf, "the end");
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, len - 8, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5) && !wc.status && !strcmp((char *)b.buf + len - 8, "the end"));
	end_close(&a);
	end_close(&b);
	return 0;
}

/* Registering again and again neither fills tables nor memory, and old keys are dead. */
static int mrs(void)
{
	struct end a, b;
	struct addr to;
	struct ibv_wc wc;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
	for (int i = 0; i < 2000; i++) {
		uint32_t old = b.mr->rkey;

		CHECK(!ibv_dereg_mr(b.mr));
		b.mr = ibv_reg_mr(b.pd, b.buf, 8192, IBV_ACCESS_LOCAL_WRITE |
				  IBV_ACCESS_REMOTE_WRITE);
		CHECK(b.mr && b.mr->rkey != old);
	}
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5) && wc.status == IBV_WC_REM_ACCESS_ERR);
	end_close(&a);
	end_close(&b);
	return 0;
}

/* Memory that was registered and unmapped, again and again, is given back to the system. */
static int pool(void)
{
	extern int sv_pool_fd(void);
	struct stat st;
	struct end e;

	end_open(&e, "soft0");
	for (int i = 0; i < 300; i++) {
		end_memory(&e, 2 << 20);
		memset(e.buf, 1, e.len);
		CHECK(!ibv_dereg_mr(e.mr));
		munmap(e.buf, e.len);
	}
	e.mr = NULL;
	e.buf = NULL;
	CHECK(!fstat(sv_pool_fd(), &st) && st.st_blocks * 512 < 256 << 20);
	end_close(&e);
	return 0;
}

static int exchange(void)
{
	struct end a, b;
	struct addr to;
	struct ibv_wc wc;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 20) && !wc.status);
	end_close(&a);
	end_close(&b);
	return 0;
}

/* n processes, so many of them at any time; each ends well. */
static int crowd(int n, int at_a_time)
{
	int running = 0, status;

	alarm(0);
	while (n || running) {
		pid_t pid;

		if (n && running < at_a_time) {
			pid = fork();
			if (!pid) {
				alarm(120);
				exit(exchange());
			}
			CHECK(pid > 0);
			n--;
			running++;
		} else {
			CHECK(wait(&status) > 0 && status == 0);
			running--;
		}
	}
	return 0;
}

static int wished(int otherwise)
{
	return getenv("SOFT_PROCESSES") ? atoi(getenv("SOFT_PROCESSES")) : otherwise;
}

static int at_once(void)
{
	return crowd(wished(64), 64);
}

static int in_turn(void)
{
	return crowd(wished(100), 1);
}

#define CASE(f)                                                                                    \
	static void test_##f(void **state)                                                         \
	{                                                                                          \
		(void)state;                                                                       \
		assert_int_equal(in_child("soft0", f), 0);                                         \
	}
CASE(qps)
CASE(memory)
CASE(mrs)
CASE(pool)
CASE(at_once)
CASE(in_turn)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_qps),	cmocka_unit_test(test_memory),
		cmocka_unit_test(test_mrs),	cmocka_unit_test(test_pool),
		cmocka_unit_test(test_at_once), cmocka_unit_test(test_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
