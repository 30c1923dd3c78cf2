/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What becomes of a loop's records: samples by position, counts on both ends, detail. */
#include "run.h"

static void test_client(void **state)
{
	static const uint64_t warmups[] = { 0, 1, 3, 100 }, laps[] = { 1, 2, 5, 1000 };

	(void)state;
	for (size_t i = 0; i < COUNT(warmups); i++)
		for (size_t k = 0; k < COUNT(laps); k++) {
			struct run *t = run_open(warmups[i], laps[k], false);

			client(t);
			check(t, warmups[i], laps[k], laps[k]);
			assert_int_equal(script.call_count, warmups[i] ? 2 : 1);
			check_call(script.call_count - 1, RECORD_STAMPS, warmups[i],
				   warmups[i] + laps[k]);
			assert_false(t->res.full);
			run_close(t);
		}
}

static void test_server(void **state)
{
	static const uint64_t warmups[] = { 0, 1, 3, 100 }, laps[] = { 1, 2, 5, 1000 };

	(void)state;
	for (size_t i = 0; i < COUNT(warmups); i++)
		for (size_t k = 0; k < COUNT(laps); k++) {
			struct run *t = run_open(warmups[i], laps[k], false);

			server(t, warmups[i] + laps[k], warmups[i]);
			check(t, warmups[i], laps[k], laps[k] - 1);
			check_call(0, RECORD_STAMPS, 0, warmups[i] + laps[k]);
			run_close(t);
		}
}

/* The warm-up that ran out of time: fewer laps, cut by position, all measured ones still done. */
static void test_capped_warmup(void **state)
{
	struct run *t = run_open(100, 50, false);

	(void)state;
	script.warming = true;
	script.stop_warmup_at = 7;
	client(t);
	check(t, 7, 50, 50);
	check_call(1, RECORD_STAMPS, 7, 57);
	run_close(t);
	t = run_open(100, 50, false);
	script.stop_at = 57;
	server(t, 57, 7);
	check(t, 7, 50, 49);
	run_close(t);
}

/* A run by time: N laps counted on the client, N - 1 on the server, whatever the warm-up did. */
static void test_histogram(void **state)
{
	static const uint64_t warmups[] = { 0, 1, 2, 100 };

	(void)state;
	for (size_t i = 0; i < COUNT(warmups); i++)
		for (uint64_t done = warmups[i] ? 1 : 0; done <= warmups[i]; done += 1 + done / 3) {
			struct run *t = run_open(warmups[i], 0, false);

			assert_non_null(t->store.histogram);
			script.warming = warmups[i] != 0;
			script.stop_warmup_at = done;
			script.stop_at = done + 200;
			client(t);
			assert_null(t->res.sample);
			check(t, done, 200, 200);
			run_close(t);
			t = run_open(warmups[i], 0, false);
			script.stop_at = done + 200;
			server(t, done + 200, done);
			check(t, done, 200, 199);
			run_close(t);
		}
}

/* A run by time that ends within what the server keeps of the warm-up. */
static void test_short_histogram(void **state)
{
	(void)state;
	for (uint64_t laps = 0; laps < 6; laps++) {
		struct run *t = run_open(4, 0, false);

		script.stop_at = laps;
		server(t, laps, 1);
		check(t, 1, laps > 1 ? laps - 1 : 0, laps > 2 ? laps - 2 : 0);
		run_close(t);
	}
}

static void test_detail(void **state)
{
	struct run *t = run_open(3, 20, true);

	(void)state;
	client(t);
	check(t, 3, 20, 20);
	check_call(1, RECORD_DETAIL, 3, 23);
	for (uint64_t k = 0; k < 20; k++) {
		assert_int_equal(t->res.to_seen[k], 7 + 3 + k);
		assert_int_equal(t->res.gap[k], 503 + k);
	}
	run_close(t);
	/* From answer k to the mark of the next lap, which comes 9 before its answer. */
	t = run_open(3, 20, true);
	server(t, 23, 3);
	check(t, 3, 20, 19);
	for (uint64_t k = 0; k < 19; k++) {
		assert_int_equal(t->res.to_seen[k], sample(3 + k) - 9);
		assert_int_equal(t->res.gap[k], 503 + k + 1);
	}
	run_close(t);
	t = run_open(3, 20, false);
	client(t);
	assert_null(t->res.to_seen);
	assert_null(t->res.gap);
	run_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_capped_warmup),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_short_histogram),
		cmocka_unit_test(test_detail),
	};

	return cmocka_run_group_tests_name("laps", tests, NULL, NULL);
}
