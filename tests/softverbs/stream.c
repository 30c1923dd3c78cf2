/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A long stream of SENDs between two processes, each message numbered: none lost, none twice,
 * none out of order, whole; with credits on RC, and with RNR waits. SOFT_MESSAGES (default
 * 100000; the goal is 10^8). The memory of either process is the same at the end as early on.
 */
#include "two.h"

#define DEPTH 2048		/* messages for a turn, on a busy machine */
#define WALKED (5 * DEPTH)	/* after so many every ring has been walked to its end */

static uint64_t messages;
static const struct knobs knobs = { 14, 7, 7, 1 };

/* KiB, counted in the page tables: the sums of statm lag behind by up to a batch a CPU. */
static long resident(void)
{
	char line[128];
	long kib = -1;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	while (f && kib < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "Rss: %ld", &kib) != 1)
			kib = -1;
	CHECK(kib > 0);
	fclose(f);
	return kib;
}

static int sender(void)
{
	struct end e;
	struct ibv_wc wc;
	long early = 0;
	uint64_t *word, warm = messages / 10 > WALKED ? messages / 10 : WALKED;

	two_open(&e, 0, IBV_QPT_RC, DEPTH, DEPTH * 64, &knobs);
	for (uint64_t n = 0; n < messages; n++) {
		word = (uint64_t *)(void *)(e.buf + n % DEPTH * 64);
		if (n % 16 == 0 && n)
			CHECK(reap(&e, &wc, 30) && !wc.status && wc.wr_id == n - 1);
		for (int i = 0; i < 8; i++)
			word[i] = n;
		CHECK(!post(&e, IBV_WR_SEND, n, word, 64, NULL, 0,
			    n % 16 == 15 ? IBV_SEND_SIGNALED : 0));
		if (n == warm)
			early = resident();
		if (n % 65536 == 0)
			alarm(60);
	}
	CHECK(early && resident() <= early + 256);
	while (!two->done)
		usleep(1000);
	end_close(&e);
	return 0;
}

static int receiver(void)
{
	struct end e;
	struct ibv_wc wc[32];

	two_open(&e, 1, IBV_QPT_RC, DEPTH, DEPTH * 64, &knobs);
	for (uint64_t i = 0; i < DEPTH; i++)
		CHECK(!post_recv(&e, i, e.buf + i * 64, 64));
	for (uint64_t n = 0; n < messages;) {
		int got = ibv_poll_cq(e.cq, 32, wc);

		CHECK(got >= 0);
		for (int i = 0; i < got; i++, n++) {
			uint64_t *word = (uint64_t *)(void *)(e.buf + wc[i].wr_id * 64);

			CHECK(!wc[i].status && wc[i].byte_len == 64);
			for (int k = 0; k < 8; k++)
				CHECK(word[k] == n);
			CHECK(!post_recv(&e, wc[i].wr_id, word, 64));
			if (n % 65536 == 0)
				alarm(60);
		}
	}
	two->done = 1;
	end_close(&e);
	return 0;
}

static void run(const char *spec, uint64_t n)
{
	const char *wish = getenv("SOFT_MESSAGES");

	messages = wish ? strtoull(wish, NULL, 10) : n;
	assert_int_equal(two_run(spec, sender, spec, receiver), 0);
}

static void test_stream(void **state)
{
	(void)state;
	run("soft0", 100000);
}

static void test_stream_pvm(void **state)
{
	(void)state;
	run("soft0:mode=pvm", 20000);
}

static void test_stream_faults(void **state)
{
	(void)state;
	run("soft0:drop=0.0001,rnr=0.001,seed=5", 20000);
}

int main(void)
{
	struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_stream_pvm),
		cmocka_unit_test(test_stream_faults),
	};

	if (getenv("SOFT_MESSAGES")) {	/* the long run is one of the plain kind */
		const struct CMUnitTest only[] = { cmocka_unit_test(test_stream) };

		return cmocka_run_group_tests(only, NULL, NULL);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
