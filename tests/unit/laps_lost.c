/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Laps whose answer never came, and laps with something between them: which samples are left, and in
 * which order. What tells them apart is in laps_number.c.
 */
#include "run.h"

#include "deadline.h"

static int poll_nothing(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)n;
	(void)wc;
	return 0;
}

static struct ibv_context ctx = { .ops = { .poll_cq = poll_nothing } };
static struct ibv_cq cq = { .context = &ctx };
static struct endpoint_cqs cqs = { .send = &cq, .recv = &cq };
static struct lane lane = { .next = &lane, .cqs = &cqs };

static bool lost_at(uint64_t lap, const uint64_t *lost, int count)
{
	for (int i = 0; i < count; i++)
		if (lost[i] == lap)
			return true;
	return false;
}

static struct run *open_lossy(uint64_t warmup, uint64_t laps, bool detail, bool paced,
			      const uint64_t *lost, int count)
{
	struct run *t = run_open_paced(warmup, laps, detail, paced);

	memcpy(script.lost, lost, (size_t)count * sizeof(*lost));
	script.lost_count = count;
	t->r.lane = &lane;
	t->wait.loss_ns = NS_PER_MS;
	t->wait.run_deadline = DEADLINE_NEVER;
	wait_init(&t->wait);
	return t;
}

static const struct {
	uint64_t lost[LOST_MAX];
	int count;
} losses[] = {
	{ { 0 }, 0 },	     { { 3 }, 1 },	{ { 4 }, 1 },	      { { 12 }, 1 },
	{ { 5, 6, 7 }, 3 },  { { 3, 12 }, 2 },	{ { 3, 8, 10, 12 }, 4 },
};

/* Ten laps after a warm-up of three: the samples of lost ones are gone, the others keep order. */
static void test_client(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(losses); i++) {
		struct run *t = open_lossy(3, 10, false, false, losses[i].lost, losses[i].count);
		uint64_t n = 0;

		client(t);
		assert_int_equal(t->res.laps, 10);
		assert_int_equal(t->res.lost, losses[i].count);
		assert_int_equal(t->res.samples, 10 - losses[i].count);
		assert_int_equal(t->wait.end, WAIT_OK);
		for (uint64_t k = 3; k < 13; k++)
			if (!lost_at(k, losses[i].lost, losses[i].count))
				assert_int_equal(t->res.sample[n++], sample(k));
		assert_int_equal(n, t->res.samples);
		run_close(t);
	}
}

/* Those of the warm-up are no part of the count; the first exchange is told unless it was one. */
static void test_warmup(void **state)
{
	static const uint64_t lost[] = { 0, 2 };
	struct run *t = open_lossy(3, 5, false, false, lost, 2);

	(void)state;
	client(t);
	assert_int_equal(t->res.warmup, 3);
	assert_int_equal(t->res.laps, 5);
	assert_int_equal(t->res.lost, 0);
	assert_int_equal(t->res.samples, 5);
	assert_int_equal(t->res.first_exchange, 0);
	run_close(t);
	t = open_lossy(3, 5, false, false, &lost[1], 1);
	client(t);
	assert_int_equal(t->res.first_exchange, sample(0));
	run_close(t);
}

static void test_all_lost(void **state)
{
	static const uint64_t lost[] = { 0, 1, 2 };
	struct run *t = open_lossy(0, 3, false, false, lost, 3);

	(void)state;
	client(t);
	assert_int_equal(t->res.laps, 3);
	assert_int_equal(t->res.lost, 3);
	assert_int_equal(t->res.samples, 0);
	assert_int_equal(t->res.first_exchange, 0);
	run_close(t);
}

static void test_detail(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(losses); i++) {
		struct run *t = open_lossy(3, 10, true, false, losses[i].lost, losses[i].count);
		uint64_t n = 0;

		client(t);
		assert_int_equal(t->res.samples, 10 - losses[i].count);
		for (uint64_t k = 3; k < 13; k++) {
			if (lost_at(k, losses[i].lost, losses[i].count))
				continue;
			assert_int_equal(t->res.sample[n], sample(k));
			assert_int_equal(t->res.to_seen[n], 7 + k);
			assert_int_equal(t->res.gap[n++], 500 + k);
		}
		run_close(t);
	}
}

/* A run by time: what is lost is not counted, and the lap after it begins anew. */
static void test_histogram(void **state)
{
	static const uint64_t lost[] = { 10, 50, 51 };
	struct run *t = open_lossy(3, 0, false, false, lost, 3);
	uint64_t sum = 0;

	(void)state;
	script.stop_at = 103;
	client(t);
	for (uint64_t k = 3; k < 103; k++)
		sum += lost_at(k, lost, 3) || k == 10 ? 0 : sample(k);
	assert_int_equal(t->res.laps, 100);
	assert_int_equal(t->res.lost, 3);
	assert_int_equal(t->res.samples, 97);
	assert_true(t->res.stats.mean * 97 > (double)sum - 0.5);
	assert_true(t->res.stats.mean * 97 < (double)sum + 0.5);
	run_close(t);
}

/* Paced: from post to seen, and what lies between two laps is in no sample. */
static void test_paced(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(losses); i++) {
		struct run *t = open_lossy(3, 10, false, true, losses[i].lost, losses[i].count);
		uint64_t n = 0;

		client(t);
		check_call(1, RECORD_PACED, 3, 13);
		assert_int_equal(t->res.laps, 10);
		assert_int_equal(t->res.samples, 10 - losses[i].count);
		for (uint64_t k = 3; k < 13; k++)
			if (!lost_at(k, losses[i].lost, losses[i].count))
				assert_int_equal(t->res.sample[n++], 7 + k);
		assert_int_equal(t->res.first_exchange, 7);
		run_close(t);
	}
}

static void test_paced_histogram(void **state)
{
	for (uint64_t warmup = 0; warmup < 4; warmup += 3) {
		struct run *t = run_open_paced(warmup, 0, false, true);

		(void)state;
		script.stop_at = warmup + 50;
		client(t);
		assert_int_equal(t->res.laps, 50);
		assert_int_equal(t->res.samples, 50);
		assert_int_equal(t->res.stats.min, 7 + warmup);
		assert_int_equal(t->res.stats.max, 7 + warmup + 49);
		assert_int_equal(t->res.first_exchange, 7);
		run_close(t);
	}
}

/* A server between whose answers lies what the client did has laps and no samples. */
static void test_paced_server(void **state)
{
	struct run *t = run_open_paced(3, 10, false, true);

	(void)state;
	server(t, 13, 3);
	assert_int_equal(t->res.laps, 10);
	assert_int_equal(t->res.samples, 0);
	run_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),	       cmocka_unit_test(test_warmup),
		cmocka_unit_test(test_all_lost),       cmocka_unit_test(test_detail),
		cmocka_unit_test(test_histogram),      cmocka_unit_test(test_paced),
		cmocka_unit_test(test_paced_histogram), cmocka_unit_test(test_paced_server),
	};

	return cmocka_run_group_tests_name("laps_lost", tests, NULL, NULL);
}
