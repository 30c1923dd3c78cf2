/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Planted faults of the data path: each does what it says, to the request it names. */
#include <poll.h>

#include "soft.h"

static struct end a, b;
static struct addr to;

static void open_pair(enum ibv_qp_type type)
{
	pair_open(&a, &b, type, 8192, NULL);
	to = end_addr(&b);
}

static int write_one(uint64_t id)
{
	struct ibv_wc wc;

	CHECK(!post(&a, IBV_WR_RDMA_WRITE, id, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5) && wc.wr_id == id);
	return (int)wc.status;
}

static int err_at(void)
{
	open_pair(IBV_QPT_RC);
	CHECK(write_one(1) == IBV_WC_SUCCESS);
	CHECK(write_one(2) == IBV_WC_REM_OP_ERR);
	CHECK(write_one(3) == IBV_WC_WR_FLUSH_ERR);
	end_close(&a);
	end_close(&b);
	return 0;
}

static int drop_rc(void)
{
	double t0;

	open_pair(IBV_QPT_RC);
	t0 = seconds();
	CHECK(write_one(1) == IBV_WC_SUCCESS);	/* lost twice, comes with the third try */
	CHECK(seconds() - t0 > 2 * 4.096e-6 * 1024 * 0.99);
	t0 = seconds();
	CHECK(write_one(2) == IBV_WC_SUCCESS);
	CHECK(seconds() - t0 < 0.5);
	return 0;
}

/* How many of n sends arrive when nothing is sent twice by the transport. */
static int arrivals(int n)
{
	struct ibv_wc wc;
	int got = 0;

	open_pair(IBV_QPT_UC);
	for (int i = 0; i < 32; i++)
		CHECK(!post_recv(&b, (uint64_t)i, b.buf, 64));
	for (int i = 0; i < n; i++) {
		CHECK(!post(&a, IBV_WR_SEND, 0, a.buf, 8, NULL, 0, IBV_SEND_SIGNALED));
		CHECK(reap(&a, &wc, 5) && !wc.status);
	}
	while (reap(&b, &wc, 0.01)) {
		CHECK(!wc.status && wc.byte_len == 8);
		got++;
	}
	return got;
}

static int drop_uc(void)
{
	return arrivals(10) != 7;
}

static int dup_uc(void)
{
	return arrivals(10) != 11;
}

static int all_uc(void)
{
	return arrivals(10) != 0;
}

static int flip(void)
{
	open_pair(IBV_QPT_RC);
	memset(a.buf, 0x40, 16);
	for (int i = 0; i < 3; i++) {
		CHECK(write_one(1) == IBV_WC_SUCCESS);
		for (int k = 0; k < 8; k++)
			CHECK(b.buf[k] == (i == 1 && k == 5 ? 0x41 : 0x40));
	}
	return a.buf[5] != 0x40;
}

/* What the second request brings is changed where it arrives, and nowhere else. */
static int flip_answer(enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_wc wc;

	open_pair(IBV_QPT_RC);
	for (int i = 0; i < 3; i++) {
		memset(a.buf, 0, 4096);
		memset(b.buf, 0x40, 4096);
		CHECK(!post(&a, op, 1, a.buf, len, &to, 0, IBV_SEND_SIGNALED));
		CHECK(reap(&a, &wc, 5) && !wc.status);
		for (uint32_t k = 0; k < 4096; k++)
			CHECK(a.buf[k] == (k >= len ? 0 : i == 1 && k == 5 ? 0x41 : 0x40));
		for (int k = 8; k < 4096; k++)
			CHECK(b.buf[k] == 0x40);
		CHECK(b.buf[5] == 0x40);
	}
	end_close(&a);
	end_close(&b);
	return 0;
}

static int flip_read(void)
{
	return flip_answer(IBV_WR_RDMA_READ, 4000);
}

static int flip_atomic(void)
{
	return flip_answer(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
}

static int rnr(void)
{
	struct ibv_wc wc;
	double t0;

	open_pair(IBV_QPT_RC);
	CHECK(!post_recv(&b, 1, b.buf, 64));
	t0 = seconds();
	CHECK(!post(&a, IBV_WR_SEND, 7, a.buf, 8, NULL, 0, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5) && !wc.status);
	return seconds() - t0 < 2 * 0.64e-3 * 0.99;
}

static int death(void)
{
	open_pair(IBV_QPT_RC);
	write_one(1);
	write_one(2);
	write_one(3);
	return 0;
}

static int event(void)
{
	struct ibv_async_event e;
	struct pollfd p;

	open_pair(IBV_QPT_RC);
	p = (struct pollfd){ .fd = a.ctx->async_fd, .events = POLLIN };
	write_one(1);
	CHECK(poll(&p, 1, 0) == 0);
	write_one(2);
	CHECK(poll(&p, 1, 1000) == 1);
	CHECK(!ibv_get_async_event(a.ctx, &e));
	CHECK(e.event_type == IBV_EVENT_PATH_MIG && e.element.qp == a.qp);
	ibv_ack_async_event(&e);
	end_close(&a);	/* hangs when the event was not counted right */
	end_close(&b);
	return 0;
}

static int stall(void)
{
	double t0;

	open_pair(IBV_QPT_RC);
	write_one(1);
	t0 = seconds();
	write_one(2);
	return seconds() - t0 < 0.02;
}

static int hang(void)
{
	open_pair(IBV_QPT_RC);
	write_one(1);
	return 0;
}

#define CASE(name, spec, f, rc)                                                                    \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		assert_int_equal(in_child(spec, f), rc);                                           \
	}

CASE(err, "soft0:err=rem_op_err@2", err_at, 0)
CASE(drop_rc, "soft0:drop=2@1", drop_rc, 0)
CASE(drop_uc, "soft0:drop=3@4", drop_uc, 0)
CASE(drop_all, "soft0:drop=1", all_uc, 0)
CASE(dup, "soft0:dup=1@3", dup_uc, 0)
CASE(corrupt, "soft0:corrupt=3@2", drop_uc, 0)
CASE(flip, "soft0:flip=2@5", flip, 0)
CASE(flip_read, "soft0:flip=2@5", flip_read, 0)
CASE(flip_read_pvm, "soft0:flip=2@5|3@4000,mode=pvm", flip_read, 0)
CASE(flip_atomic, "soft0:flip=2@5|3@8", flip_atomic, 0)
CASE(flip_atomic_pvm, "soft0:flip=2@5,mode=pvm", flip_atomic, 0)
CASE(rnr, "soft0:rnr=2@1", rnr, 0)
CASE(die, "soft0:die@2", death, 128 + SIGKILL)
CASE(event, "soft0:event=path_mig@2", event, 0)
CASE(stall, "soft0:stall=20ms@2", stall, 0)

/* Stopped, not dead: alive to the kernel, and goes on when told. */
static void test_hang(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		setenv("SOFTVERBS", "soft0:hang@1", 1);
		alarm(60);
		exit(hang());
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_err),	cmocka_unit_test(test_drop_rc),
		cmocka_unit_test(test_drop_uc), cmocka_unit_test(test_drop_all),
		cmocka_unit_test(test_dup),	cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_flip),	cmocka_unit_test(test_rnr),
		cmocka_unit_test(test_die),	cmocka_unit_test(test_event),
		cmocka_unit_test(test_stall),	cmocka_unit_test(test_hang),
		cmocka_unit_test(test_flip_read), cmocka_unit_test(test_flip_read_pvm),
		cmocka_unit_test(test_flip_atomic), cmocka_unit_test(test_flip_atomic_pvm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
