/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fork, exec, threads, and memory that goes away behind the back of its registration. */
#include <pthread.h>

#include "soft.h"

/* Data beside a registration, in the same pages, is the child's too, and a copy. */
static int beside(void)
{
	char *heap = malloc(20000);
	struct end e;
	struct ibv_mr *mr;
	int status;
	pid_t pid;

	strcpy(heap, "before");
	end_open(&e, "soft0");
	mr = ibv_reg_mr(e.pd, heap + 100, 10000, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr);
	strcpy(heap + 15000, "behind");
	pid = fork();
	if (!pid) {
		char *more = malloc(100000);

		CHECK(!strcmp(heap, "before") && !strcmp(heap + 15000, "behind"));
		strcpy(heap, "child");
		memset(more, 1, 100000);
		free(more);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(!strcmp(heap, "before"));
	CHECK(!ibv_dereg_mr(mr));
	/* Not registered any more: ordinary memory, all of it the child's as a copy. */
	strcpy(heap + 5000, "inside");
	pid = fork();
	if (!pid) {
		CHECK(!strcmp(heap + 5000, "inside"));
		strcpy(heap + 5000, "child");
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(!strcmp(heap + 5000, "inside"));
	free(heap);
	end_close(&e);
	return 0;
}

/* Registered pages are the parent's alone: a child that touches them is told so by a signal. */
static int apart(void)
{
	struct end a, b;
	int status;
	pid_t pid;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	b.buf[0] = 1;
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);	/* sanitizers catch it */
		b.buf[0] = 2;
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && b.buf[0] == 1);
	end_close(&a);
	end_close(&b);
	return 0;
}

/* The child may open the device for itself, and the parent's QPs work on. */
static int both(void)
{
	struct end a, b, c, d;
	struct addr to;
	struct ibv_wc wc;
	int status;
	pid_t pid;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	pid = fork();
	if (!pid) {
		pair_open(&c, &d, IBV_QPT_RC, 8192, NULL);
		to = end_addr(&d);
		CHECK(!post(&c, IBV_WR_RDMA_WRITE, 1, c.buf, 8, &to, 0, IBV_SEND_SIGNALED));
		CHECK(reap(&c, &wc, 5) && !wc.status);
		end_close(&c);
		end_close(&d);
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	to = end_addr(&b);
	strcpy((char *)a.buf, "parent");
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5) && !wc.status && !strcmp((char *)b.buf, "parent"));
	end_close(&a);
	end_close(&b);
	return 0;
}

static int spawn(void)
{
	struct end a, b;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	CHECK(system("exit 7") == 7 << 8);
	end_close(&a);
	end_close(&b);
	return 0;
}

/* Unmapped while registered: a WRITE lands in the orphaned pages, the new neighbour is safe. */
static int orphan(void)
{
	struct end a, b;
	struct addr to;
	struct ibv_wc wc;
	uint8_t *again;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
	munmap(b.buf, 8192);
	again = mmap(b.buf, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0);
	CHECK(again == b.buf);
	memset(again, 0x11, 8192);
	memset(a.buf, 0x22, 8192);
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8192, &to, 0, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5));
	for (int i = 0; i < 8192; i++)
		CHECK(again[i] == 0x11);
	/* The sender's memory may be gone as well: no crash. */
	munmap(a.buf, 8192);
	a.buf = NULL;
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 2, (void *)(uintptr_t)a.mr->addr, 64, &to, 0,
		    IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5));
	end_close(&a);
	end_close(&b);
	return 0;
}

/* Registered twice, overlapping; either key reaches the same bytes, in any order of dereg. */
static int overlap(void)
{
	struct end a, b;
	struct ibv_mr *mr;
	struct addr to;
	struct ibv_wc wc;

	pair_open(&a, &b, IBV_QPT_RC, 65536, NULL);
	mr = ibv_reg_mr(b.pd, b.buf + 4096, 8192, IBV_ACCESS_LOCAL_WRITE |
			IBV_ACCESS_REMOTE_WRITE);
	CHECK(mr);
	to = end_addr(&b);
	CHECK(!ibv_dereg_mr(b.mr));
	b.mr = NULL;
	to.rkey = mr->rkey;
	strcpy((char *)a.buf, "overlap");
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 5000, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5) && !wc.status);
	CHECK(!strcmp((char *)b.buf + 5000, "overlap"));
	CHECK(!ibv_dereg_mr(mr));
	CHECK(!strcmp((char *)b.buf + 5000, "overlap"));
	end_close(&a);
	end_close(&b);
	return 0;
}

static int odd_memory(void)
{
	struct end a, b;
	struct addr to;
	struct ibv_wc wc;
	FILE *f = tmpfile();
	uint8_t stack[300], *file;
	struct ibv_mr *ms, *mf;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	CHECK(f && !ftruncate(fileno(f), 8192));
	file = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	CHECK(file != MAP_FAILED);
	ms = ibv_reg_mr(a.pd, stack, sizeof(stack), IBV_ACCESS_LOCAL_WRITE);
	mf = ibv_reg_mr(b.pd, file, 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(ms && mf);
	memset(stack, 0x5a, sizeof(stack));
	sge = (struct ibv_sge){ (uintptr_t)stack, sizeof(stack), ms->lkey };
	to = end_addr(&b);
	wr.wr.rdma.remote_addr = (uintptr_t)file + 4000;
	wr.wr.rdma.rkey = mf->rkey;
	CHECK(!ibv_post_send(a.qp, &wr, &bad));
	CHECK(reap(&a, &wc, 5) && !wc.status);
	CHECK(!memcmp(file + 4000, stack, sizeof(stack)) && !file[4300]);
	/* From one kind to the other, and none that is not there. */
	wr.wr.rdma.remote_addr = to.va;
	wr.wr.rdma.rkey = to.rkey;
	CHECK(!ibv_post_send(a.qp, &wr, &bad));
	CHECK(reap(&a, &wc, 5) && !wc.status && !memcmp(b.buf, stack, sizeof(stack)));
	CHECK(!ibv_reg_mr(a.pd, (void *)4096, 4096, IBV_ACCESS_LOCAL_WRITE) && errno == EFAULT);
	CHECK(!ibv_dereg_mr(ms) && !ibv_dereg_mr(mf));
	end_close(&a);
	end_close(&b);
	return 0;
}

#define CASE(f)                                                                                    \
	static void test_##f(void **state)                                                         \
	{                                                                                          \
		(void)state;                                                                       \
		assert_int_equal(in_child("soft0", f), 0);                                         \
	}
CASE(beside)

static void test_both(void **state)
{
	(void)state;
#ifdef __SANITIZE_THREAD__
	skip();		/* it allows no threads after a fork */
#endif
	assert_int_equal(in_child("soft0", both), 0);
}

CASE(apart)
CASE(spawn)
CASE(orphan)
CASE(overlap)
CASE(odd_memory)

static void test_odd_memory_pvm(void **state)
{
	(void)state;
	assert_int_equal(in_child("soft0:mode=pvm", odd_memory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside),	   cmocka_unit_test(test_both),
		cmocka_unit_test(test_apart),	   cmocka_unit_test(test_spawn),
		cmocka_unit_test(test_orphan),	   cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_odd_memory), cmocka_unit_test(test_odd_memory_pvm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
