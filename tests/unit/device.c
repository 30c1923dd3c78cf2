/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of the devices is arithmetic: path MTUs, and a GID table that cannot be used. */
#include "unit.h"

#include "device.h"

static void test_mtu(void **state)
{
	static const struct {
		enum ibv_mtu code;
		uint16_t bytes;
	} rows[] = { { IBV_MTU_256, 256 },   { IBV_MTU_512, 512 },   { IBV_MTU_1024, 1024 },
		     { IBV_MTU_2048, 2048 }, { IBV_MTU_4096, 4096 } };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(mtu_bytes(rows[i].code), rows[i].bytes);
		assert_int_equal(mtu_from_bytes(rows[i].bytes), rows[i].code);
	}
	assert_int_equal(mtu_bytes((enum ibv_mtu)0), 0);
	assert_int_equal(mtu_bytes((enum ibv_mtu)6), 0);
	assert_int_equal(mtu_bytes((enum ibv_mtu)200), 0);
}

static void test_no_mtu(void **state)
{
	(void)state;
	for (uint64_t b = 0; b < 10000; b++) {
		bool power = (b & (b - 1)) == 0;

		assert_int_equal(mtu_from_bytes(b) != 0, power && b >= 256 && b <= 4096);
	}
	assert_int_equal(mtu_from_bytes((1ull << 32) + 256), 0);
	assert_int_equal(mtu_from_bytes(UINT64_MAX), 0);
}

static void test_gids_unusable(void **state)
{
	struct candidate c = { .link = LINK_ETHERNET, .device = "rxe0", .port = 1 };
	char why[256] = "";

	(void)state;
	/* In a container the interface is in another namespace: all GIDs read as zeros. */
	assert_true(device_gids_unusable(&c, why, sizeof(why)));
	assert_contains(why, "GID table is empty");
	assert_contains(why, "network namespace");
	c.gid_count = 16;
	*why = '\0';
	assert_true(device_gids_unusable(&c, why, sizeof(why)));
	assert_contains(why, "GID table is empty");
	*why = '\0';
	c.gids[15].gid.raw[15] = 1;
	assert_false(device_gids_unusable(&c, why, sizeof(why)));
	assert_string_equal(why, "");
	/* An InfiniBand port works by its LID. */
	c.gids[15].gid.raw[15] = 0;
	c.link = LINK_IB;
	assert_false(device_gids_unusable(&c, why, sizeof(why)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mtu),
		cmocka_unit_test(test_no_mtu),
		cmocka_unit_test(test_gids_unusable),
	};

	return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
