/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of a registration: a WRITE that has begun is over when ibv_dereg_mr returns, the pages
 * go back to the system and read as zeros when they are used again, memory that could not be moved
 * whole is as it was, a key is dead even when its place in the table is in use again.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../../softverbs/qp.h"
#include "two.h"

#define BIG (8u << 20)
#define ROUNDS 40
#define CAUGHT 10

struct rounds {
	struct addr to;
	volatile uint64_t go, done;
};

static struct rounds *rounds;

struct request {		/* one that has begun: it holds the lock of the responder's QP */
	struct sv_qp_sh *qp;
	int begun, over;
};

static void *go_on(void *arg)
{
	struct request *r = arg;

	sv_lock(&r->qp->lock);
	__atomic_store_n(&r->begun, 1, __ATOMIC_RELEASE);
	usleep(200000);
	__atomic_store_n(&r->over, 1, __ATOMIC_RELEASE);
	sv_unlock(&r->qp->lock);
	return NULL;
}

static int dereg_waits(void)
{
	struct request r = { 0 };
	pthread_t thread;
	struct end a, b;

	pair_open(&a, &b, IBV_QPT_RC, 4096, NULL);
	r.qp = sv_qp(b.qp)->sh;
	CHECK(!pthread_create(&thread, NULL, go_on, &r));
	while (!__atomic_load_n(&r.begun, __ATOMIC_ACQUIRE))
		usleep(100);
	CHECK(!ibv_dereg_mr(b.mr));
	CHECK(__atomic_load_n(&r.over, __ATOMIC_ACQUIRE));
	CHECK(!pthread_join(thread, NULL));
	b.mr = NULL;
	end_close(&a);
	end_close(&b);
	return 0;
}

/* One WRITE of 8 MiB a round, all of it the number of the round; 0 ends it. */
static int writer(void)
{
	struct ibv_wc wc;
	struct end e;

	pin(0);
	two_open(&e, 0, IBV_QPT_RC, 4, BIG, NULL);
	for (uint64_t n = 1; n <= ROUNDS; n++) {
		while (rounds->go != n && !two->done)
			sched_yield();
		if (two->done)
			break;
		for (uint64_t *w = (uint64_t *)(void *)e.buf; w < (uint64_t *)(e.buf + BIG); w++)
			*w = n;
		CHECK(!post(&e, IBV_WR_RDMA_WRITE, n, e.buf, BIG, &rounds->to, 0,
			    IBV_SEND_SIGNALED));
		CHECK(reap(&e, &wc, 20) && !wc.status);
		rounds->done = n;
	}
	end_close(&e);
	return 0;
}

static int owner(void)
{
	volatile uint64_t *first, *last;
	int caught = 0;
	struct end e;

	pin(1);
	two_open(&e, 1, IBV_QPT_RC, 4, BIG, NULL);
	first = (volatile uint64_t *)(void *)e.buf;
	last = (volatile uint64_t *)(void *)(e.buf + BIG - 8);
	for (uint64_t n = 1; n <= ROUNDS && caught < CAUGHT; n++) {
		bool midway;

		rounds->to = end_addr(&e);
		rounds->go = n;
		while (*first != n)
			sched_yield();
		midway = *last != n;
		CHECK(!ibv_dereg_mr(e.mr));
		CHECK(*last == n);	/* all that was on its way has arrived */
		caught += midway;
		while (rounds->done != n)
			sched_yield();
		e.mr = ibv_reg_mr(e.pd, e.buf, BIG, IBV_ACCESS_LOCAL_WRITE |
				  IBV_ACCESS_REMOTE_WRITE);
		CHECK(e.mr);
	}
	two->done = 1;
	end_close(&e);
	return 0;
}

static void test_dereg_waits(void **state)
{
	(void)state;
	assert_int_equal(in_child("soft0", dereg_waits), 0);
}

/* The same from outside; how many rounds catch a WRITE midway depends on the machine. */
static void test_dereg_under_writes(void **state)
{
	(void)state;
	assert_int_equal(two_run("soft0", writer, "soft0", owner), 0);
}

static long pool_bytes(void)
{
	extern int sv_pool_fd(void);
	struct stat st;

	CHECK(!fstat(sv_pool_fd(), &st));
	return st.st_blocks * 512;
}

#define PIECES 64
#define PIECE (2u << 20)

/* What was registered and unmapped is no longer held by the pool, and nobody sees it again. */
static int pages_back(void)
{
	static uint8_t *p[PIECES];
	static struct ibv_mr *mr[PIECES];
	struct end e;

	end_open(&e, "soft0");
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < PIECES; i++) {
			p[i] = mmap(NULL, PIECE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			mr[i] = ibv_reg_mr(e.pd, p[i], PIECE, IBV_ACCESS_LOCAL_WRITE);
			CHECK(mr[i]);
			for (size_t at = 0; at < PIECE; at += 4096)
				CHECK(p[i][at] == 0);	/* never touched */
			memset(p[i], 0xa5, PIECE);
		}
		CHECK(pool_bytes() >= (long)PIECES * PIECE);
		for (int i = 0; i < PIECES; i++) {
			CHECK(!ibv_dereg_mr(mr[i]));
			munmap(p[i], PIECE);
		}
		end_memory(&e, 4096);	/* a registration looks for what was lost, if that is much */
		CHECK(!ibv_dereg_mr(e.mr));
		munmap(e.buf, e.len);
		CHECK(pool_bytes() < (long)PIECES * PIECE / 2);
	}
	e.mr = NULL;
	e.buf = NULL;
	end_close(&e);
	return 0;
}

#define PART (24u << 20)

static void check_words(const uint8_t *p, uint64_t from)
{
	const uint64_t *w = (const uint64_t *)(const void *)p;

	for (uint64_t i = 0; i < PART / 8; i++)
		CHECK(w[i] == from + i);
}

/* Memory of which only a part could be moved keeps what it holds, and can be registered later. */
static int half_moved(void)
{
	struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY }, little = { 10u << 20, RLIM_INFINITY };
	struct end a, b;
	struct ibv_wc wc;
	struct addr to;
	uint64_t *w;

	pair_open(&a, &b, IBV_QPT_RC, 4096, NULL);
	CHECK(!ibv_dereg_mr(b.mr));
	munmap(b.buf, b.len);
	b.len = PART;
	b.buf = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	w = (uint64_t *)(void *)b.buf;
	for (uint64_t i = 0; i < PART / 8; i++)
		w[i] = i;
	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &little));	/* as if the machine's memory ran out */
	b.mr = ibv_reg_mr(b.pd, b.buf, PART, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(!b.mr && errno == EFBIG);
	check_words(b.buf, 0);
	for (uint64_t i = 0; i < PART / 8; i++)
		w[i] = i + 1;
	CHECK(!setrlimit(RLIMIT_FSIZE, &most));
	b.mr = ibv_reg_mr(b.pd, b.buf, PART, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(b.mr);
	check_words(b.buf, 1);
	to = end_addr(&b);
	for (uint64_t at = 0; at < PART; at += PART / 16) {
		*(uint64_t *)(void *)a.buf = at / 8 + 1;
		CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, at, IBV_SEND_SIGNALED));
		CHECK(reap(&a, &wc, 5) && !wc.status);
	}
	check_words(b.buf, 1);
	end_close(&a);
	end_close(&b);
	return 0;
}

/* Through the table once: the place is used again, and the old key does not open it. */
static int old_key(void)
{
	struct end a, b;
	struct ibv_wc wc;
	struct addr to;
	uint32_t old;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
	old = to.rkey;
	CHECK(!ibv_dereg_mr(b.mr));
	for (int i = 0; i < 2 * SV_MRS; i++) {
		b.mr = ibv_reg_mr(b.pd, b.buf, 0, 0);
		CHECK(b.mr);
		if (b.mr->rkey >> 8 == old >> 8)
			break;
		CHECK(!ibv_dereg_mr(b.mr));
	}
	CHECK(b.mr->rkey >> 8 == old >> 8 && b.mr->rkey != old);
	CHECK(!ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, NULL,
			    b.buf, 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	to.rkey = b.mr->rkey;
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5) && !wc.status);
	to.rkey = old;
	CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
	CHECK(reap(&a, &wc, 5) && wc.status == IBV_WC_REM_ACCESS_ERR);
	end_close(&a);
	end_close(&b);
	return 0;
}

static void test_pages_back(void **state)
{
	(void)state;
	assert_int_equal(in_child("soft0", pages_back), 0);
}

static void test_half_moved(void **state)
{
	(void)state;
	assert_int_equal(in_child("soft0", half_moved), 0);
}

static void test_old_key(void **state)
{
	(void)state;
	assert_int_equal(in_child("soft0", old_key), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dereg_waits),
		cmocka_unit_test(test_dereg_under_writes),
		cmocka_unit_test(test_pages_back),
		cmocka_unit_test(test_half_moved),
		cmocka_unit_test(test_old_key),
	};

	rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
