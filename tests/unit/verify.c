/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pattern of --verify: every flipped bit is found, at its offset; no two messages are alike. */
#include "unit.h"
#include "verify.h"

#define SIZE 300

static void test_every_bit(void **state)
{
	unsigned char m[SIZE];

	(void)state;
	for (size_t size = 1; size <= SIZE; size += size < 20 ? 1 : 7) {
		uint64_t key = verify_key(9, 3, size);

		verify_fill(m, size, key);
		assert_int_equal(verify_check(m, size, key), size);
		for (size_t bit = 0; bit < 8 * size; bit++) {
			m[bit / 8] ^= (unsigned char)(1 << bit % 8);
			assert_int_equal(verify_check(m, size, key), bit / 8);
			assert_int_equal(verify_byte(key, bit / 8) ^ 1 << bit % 8, m[bit / 8]);
			m[bit / 8] ^= (unsigned char)(1 << bit % 8);
		}
	}
}

/* Neither the bytes before nor those behind are touched. */
static void test_bounds(void **state)
{
	unsigned char m[SIZE + 2];

	(void)state;
	for (size_t size = 1; size <= 64; size++) {
		memset(m, 0xee, sizeof(m));
		verify_fill(m + 1, size, 5);
		assert_int_equal(m[0], 0xee);
		assert_int_equal(m[1 + size], 0xee);
	}
}

/* Another seed, lane or sequence: another message, from its first eight bytes on. */
static void test_different(void **state)
{
	unsigned char m[8];

	(void)state;
	for (unsigned int lane = 0; lane < 64; lane++)
		for (uint64_t seq = 0; seq < 64; seq++) {
			verify_fill(m, 8, verify_key(1, lane, seq));
			assert_true(verify_check(m, 8, verify_key(2, lane, seq)) < 8);
			assert_true(verify_check(m, 8, verify_key(1, lane + 1, seq)) < 8);
			assert_true(verify_check(m, 8, verify_key(1, lane, seq + 1)) < 8);
			assert_true(verify_check(m, 8, verify_key(1, (unsigned int)seq, lane)) < 8 ||
				    seq == lane);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_different),
	};

	return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
