/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kill -9 of a peer under traffic, at random moments: the survivor gets RETRY_EXC_ERR in the time
 * of the formula, everything behind it flushed, and takes the segment away when it was the last.
 * SOFT_KILLS sets the number (default 20).
 */
#include "soft.h"

#define FORMULA (4.096e-6 * 1024 * 4)	/* timeout 10, 3 retries */

struct shared {
	struct addr a, b;
	volatile int have_a, have_b, connected, go;
};

static struct shared *sh;
static const struct knobs knobs = { 10, 3, 7, 12 };	/* a slow receiver is no error here */

static void peer(void)
{
	struct end b;
	struct ibv_wc wc;

	alarm(60);
	end_open(&b, "soft0");
	end_memory(&b, 65536);
	end_qp(&b, IBV_QPT_RC, 64);
	sh->b = end_addr(&b);
	sh->have_b = 1;
	while (!sh->have_a)
		usleep(100);
	for (int i = 0; i < 64; i++)
		CHECK(!post_recv(&b, 0, b.buf, 4096));
	end_connect(&b, &sh->a, &knobs);
	sh->connected = 1;
	for (;;)
		if (reap(&b, &wc, 0.001))
			CHECK(!post_recv(&b, 0, b.buf, 4096));
}

/* Some of each operation until one fails; the time from the first post after the death. */
static int traffic(struct end *a, double *spent)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_SEND_WITH_IMM
	};
	struct ibv_wc wc;

	for (int i = 0;; i++) {
		double t0 = seconds();

		CHECK(!post(a, ops[i % 4], (uint64_t)i, a->buf, 1 + (uint32_t)i % 4096, &sh->b, 0,
			    IBV_SEND_SIGNALED));
		CHECK(!post(a, IBV_WR_RDMA_WRITE, 77, a->buf, 8, &sh->b, 0, IBV_SEND_SIGNALED));
		CHECK(reap(a, &wc, 20));
		*spent = seconds() - t0;
		if (wc.status)
			return (int)wc.status;
		CHECK(reap(a, &wc, 20));
		*spent = seconds() - t0;
		if (wc.status)
			return (int)wc.status;
	}
}

static int survive(void)
{
	struct end a;
	struct ibv_wc wc;
	double spent;
	pid_t pid;

	memset(sh, 0, sizeof(*sh));
	pid = fork();
	if (!pid)
		peer();
	end_open(&a, "soft0");
	end_memory(&a, 65536);
	end_qp(&a, IBV_QPT_RC, 64);
	sh->a = end_addr(&a);
	sh->have_a = 1;
	while (!sh->connected)
		usleep(100);
	end_connect(&a, &sh->b, &knobs);
	if (!fork()) {
		usleep((useconds_t)(rand() % 3000));
		kill(pid, SIGKILL);
		_exit(0);
	}
	CHECK(traffic(&a, &spent) == IBV_WC_RETRY_EXC_ERR);
	/* The upper end is generous to a busy machine. */
	CHECK(spent > FORMULA * 0.99 && spent < FORMULA * 4 + 2);
	while (reap(&a, &wc, 0.01))
		CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
	while (wait(NULL) > 0)
		;
	end_close(&a);
	return 0;
}

static void test_kill(void **state)
{
	int n = getenv("SOFT_KILLS") ? atoi(getenv("SOFT_KILLS")) : 20;

	(void)state;
	for (int i = 0; i < n; i++) {
		srand((unsigned int)i);
		assert_int_equal(in_child("soft0", survive), 0);
	}
}

/* The survivor was the last process and took the segment away. */
/* Dies while it writes and sends into the survivor, at times with the survivor's locks in hand. */
static void attacker(void)
{
	struct end b;
	struct ibv_wc wc;

	alarm(60);
	end_open(&b, "soft0");
	end_memory(&b, 65536);
	end_qp(&b, IBV_QPT_RC, 64);
	sh->b = end_addr(&b);
	sh->have_b = 1;
	while (!sh->have_a)
		usleep(100);
	end_connect(&b, &sh->a, &knobs);
	sh->connected = 1;
	while (!sh->go)		/* else its retries may be used up before the other is ready */
		usleep(100);
	for (int i = 0;; i++) {
		CHECK(!post(&b, i % 2 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, 1, b.buf, 65536 >> i % 4 * 4,
			    &sh->a, 0, IBV_SEND_SIGNALED));
		CHECK(reap(&b, &wc, 20) && !wc.status);
	}
}

/* The survivor goes on: it can post, poll, and take everything down. */
static int outlive(void)
{
	struct end a;
	struct ibv_wc wc;
	double until;
	pid_t pid;

	memset(sh, 0, sizeof(*sh));
	pid = fork();
	if (!pid)
		attacker();
	end_open(&a, "soft0");
	end_memory(&a, 65536);
	end_qp(&a, IBV_QPT_RC, 64);
	sh->a = end_addr(&a);
	sh->have_a = 1;
	while (!sh->connected)
		usleep(100);
	for (int i = 0; i < 64; i++)
		CHECK(!post_recv(&a, 0, a.buf, 65536));
	end_connect(&a, &sh->b, &knobs);
	sh->go = 1;
	until = seconds() + 0.001 * (rand() % 20);
	while (seconds() < until)
		if (ibv_poll_cq(a.cq, 1, &wc) == 1)
			CHECK(!post_recv(&a, 0, a.buf, 65536));
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	while (reap(&a, &wc, 0.001))
		CHECK(!wc.status);
	CHECK(!post(&a, IBV_WR_SEND, 9, a.buf, 8, NULL, 0, IBV_SEND_SIGNALED));
	do {
		CHECK(reap(&a, &wc, 20));
	} while (wc.wr_id != 9);
	CHECK(wc.status == IBV_WC_RETRY_EXC_ERR);
	end_close(&a);
	return 0;
}

static void test_outlive(void **state)
{
	int n = getenv("SOFT_KILLS") ? atoi(getenv("SOFT_KILLS")) : 20;

	(void)state;
	for (int i = 0; i < n; i++) {
		srand((unsigned int)i);
		assert_int_equal(in_child("soft0", outlive), 0);
	}
}

static void test_clean(void **state)
{
	char path[64];
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		setenv("SOFTVERBS", "soft0", 1);
		snprintf(path, sizeof(path), "k%d", (int)getpid());
		setenv("SOFTVERBS_FABRIC", path, 1);
		alarm(60);
		exit(survive());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	snprintf(path, sizeof(path), "/dev/shm/softverbs-%u-k%d", (unsigned int)geteuid(),
		 (int)pid);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_outlive),
		cmocka_unit_test(test_clean),
	};

	sh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
