/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The MGID of a group's address. */
#include "unit.h"

#include <errno.h>

#include "mcast.h"

static void test_gid(void **state)
{
	static const struct {
		const char *address;
		enum gid_type type;
		const char *mgid;
	} rows[] = {
		{ "239.255.86.80", GID_TYPE_ROCE_V2, "::ffff:239.255.86.80" },
		{ "224.0.0.1", GID_TYPE_ROCE_V2, "::ffff:224.0.0.1" },
		{ "239.255.86.80", GID_TYPE_ROCE_V1, "ff0e::ffff:efff:5650" },
		{ "239.255.86.80", GID_TYPE_IB, "ff0e::ffff:efff:5650" },
		{ "ff02::1:3", GID_TYPE_ROCE_V2, "ff02::1:3" },
		{ "ff12:401b:ffff::1", GID_TYPE_IB, "ff12:401b:ffff::1" },
	};
	union ibv_gid got, want;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(mcast_gid(rows[i].address, rows[i].type, &got), 0);
		assert_int_equal(gid_parse(rows[i].mgid, &want), 0);
		assert_memory_equal(&got, &want, sizeof(got));
	}
}

static void test_no_group(void **state)
{
	static const char *const texts[] = { "", "10.0.0.1", "223.255.255.255", "240.0.0.0", "fe80::1", "::1",
					     "::ffff:239.1.1.1", "239.1.1", "239.1.1.1.1", "group" };
	union ibv_gid got;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(mcast_gid(texts[i], GID_TYPE_ROCE_V2, &got), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_gid), cmocka_unit_test(test_no_group) };

	return cmocka_run_group_tests_name("mcast", tests, NULL, NULL);
}
