/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Last byte last: who sees the last word of a WRITE sees all of it, whole, both ways memory is
 * reached. Two processes; the writer fills each message with its number, the reader polls the
 * last word and looks at all the others. SOFT_CHECKS sets the messages a size (default: hundreds
 * or thousands).
 */

#include "soft.h"

#define SLOTS 256		/* so far the writer is ahead, at most: on a busy machine a turn */

struct shared {
	struct addr a, b;
	volatile int have_a, have_b, connected;
	volatile uint64_t seen;
};

static struct shared *sh;
static uint32_t size;
static uint64_t checks;

static int writer(void)
{
	struct end a;
	struct ibv_wc wc;
	uint64_t *words;

	pin(0);
	end_open(&a, "soft0");
	end_memory(&a, 65536);
	end_qp(&a, IBV_QPT_RC, 16);
	sh->a = end_addr(&a);
	sh->have_a = 1;
	while (!sh->have_b)
		usleep(100);
	end_connect(&a, &sh->b, NULL);
	while (!sh->connected)
		usleep(100);
	words = (uint64_t *)(void *)a.buf;
	for (uint64_t n = 1; n <= checks; n++) {
		for (unsigned int spin = 0; sh->seen + SLOTS < n; spin++)
			if (spin % 1000 == 999)
				sched_yield();
		for (uint32_t i = 0; i < size / 8; i++)
			words[i] = n;
		CHECK(!post(&a, IBV_WR_RDMA_WRITE, n, a.buf, size, &sh->b, n % SLOTS * size,
			    IBV_SEND_SIGNALED));
		CHECK(reap(&a, &wc, 5) && !wc.status);
	}
	end_close(&a);
	return 0;
}

static int reader(void)
{
	struct end b;
	uint64_t bad = 0;

	pin(1);
	end_open(&b, "soft0");
	end_memory(&b, SLOTS * 65536);
	end_qp(&b, IBV_QPT_RC, 16);
	sh->b = end_addr(&b);
	sh->have_b = 1;
	while (!sh->have_a)
		usleep(100);
	end_connect(&b, &sh->a, NULL);
	sh->connected = 1;
	for (uint64_t n = 1; n <= checks; n++) {
		volatile uint64_t *words = (uint64_t *)(void *)(b.buf + n % SLOTS * size);
		volatile uint64_t *last = &words[size / 8 - 1];
		uint64_t before = n > SLOTS ? n - SLOTS : 0, v;

		for (unsigned int spin = 0;
		     (v = __atomic_load_n(last, __ATOMIC_ACQUIRE)) != n; spin++) {
			CHECK(v == before);	/* never torn */
			if (spin % 1000 == 999)
				sched_yield();
		}
		for (uint32_t i = 0; i < size / 8; i++)
			bad += words[i] != n;
		sh->seen = n;
	}
	if (bad)
		fprintf(stderr, "size %u: %llu words early\n", size, (unsigned long long)bad);
	end_close(&b);
	return bad != 0;
}

static int both(void)
{
	int status;
	pid_t pid;

	memset(sh, 0, sizeof(*sh));
	alarm(0);
	pid = fork();
	if (!pid)
		exit(writer());
	if (reader())
		return 1;
	return waitpid(pid, &status, 0) != pid || status;
}

static void check(const char *spec, uint32_t bytes, uint64_t n)
{
	const char *wish = getenv("SOFT_CHECKS");

	size = bytes;
	checks = wish ? strtoull(wish, NULL, 10) : n;
	assert_int_equal(in_child(spec, both), 0);
}

static void test_shared(void **state)
{
	(void)state;
	check("soft0", 64, 5000);
	check("soft0", 4096, 5000);
	check("soft0", 65536, 500);
}

static void test_pvm(void **state)
{
	(void)state;
	check("soft0:mode=pvm", 64, 2000);
	check("soft0:mode=pvm", 4096, 2000);
	check("soft0:mode=pvm", 65536, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_pvm),
	};

	sh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
