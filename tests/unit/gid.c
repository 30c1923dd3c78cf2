/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GIDs: text forms, families, link-local, subnets, and how good two of them are together. */
#include "unit.h"

#include <errno.h>

#include "gid.h"

static union ibv_gid gid(const char *text)
{
	union ibv_gid g;

	if (gid_parse(text, &g))
		fail_msg("%s is no GID", text);
	return g;
}

/* IPv4-mapped in dotted form, IPv6 compressed and in small letters, as ip and ibv_devinfo do. */
static void test_text(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "::ffff:10.0.0.1", "::ffff:10.0.0.1" },
		{ "::ffff:0a4d:0001", "::ffff:10.77.0.1" },
		{ "fe80:0000:0000:0000:0000:0000:0000:0001", "fe80::1" },
		{ "FE80::5054:FF:FE12:3456", "fe80::5054:ff:fe12:3456" },
		{ "2001:db8:0:1::10", "2001:db8:0:1::10" },
		{ "::", "::" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};
	char out[GID_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		union ibv_gid g = gid(rows[i].in);

		gid_text(&g, out);
		assert_string_equal(out, rows[i].out);
	}
}

static void test_not_a_gid(void **state)
{
	static const char *const bad[] = { "", "10.0.0.1", "fe80::1%eth0", "fe80::1::2", "g::",
					   " ::1", "::1 ", "fe80:::1", "1:2:3:4:5:6:7:8:9",
					   "::ffff:256.0.0.1", "00000::1" };
	union ibv_gid g;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		if (gid_parse(bad[i], &g) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
}

/* The first byte of the text is the first byte of the GID, on every CPU. */
static void test_bytes(void **state)
{
	static const uint8_t want[16] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44,
					  0x55, 0x66, 0x77 };
	union ibv_gid g = gid("fe80::11:2233:4455:6677");

	(void)state;
	assert_memory_equal(g.raw, want, 16);
}

static void test_types(void **state)
{
	static const char *const names[] = { "IB", "RoCE v1", "RoCE v2" };
	static const char *const bad[] = { "", "ib", "RoCE", "RoCE v3", "RoCE v2 " };
	enum gid_type t;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_int_equal(gid_type_parse(names[i], &t), 0);
		assert_int_equal(t, i);
		assert_string_equal(gid_type_name(t), names[i]);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(gid_type_parse(bad[i], &t), -EINVAL);
	/* What libibverbs reports is taken over by value. */
	assert_int_equal(GID_TYPE_IB, IBV_GID_TYPE_IB);
	assert_int_equal(GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V1);
	assert_int_equal(GID_TYPE_ROCE_V2, IBV_GID_TYPE_ROCE_V2);
}

static void test_kinds(void **state)
{
	static const struct {
		const char *text;
		bool zero, v4, local;
	} rows[] = {
		{ "::", true, false, false },
		{ "::1", false, false, false },
		{ "::ffff:10.0.0.1", false, true, false },
		{ "::ffff:0.0.0.0", false, true, false },
		{ "::ffff:169.254.1.2", false, true, true },
		{ "::ffff:169.253.1.2", false, true, false },
		{ "::ffff:168.254.1.2", false, true, false },
		{ "::fffe:10.0.0.1", false, false, false },
		{ "1::ffff:10.0.0.1", false, false, false },
		{ "fe80::1", false, false, true },
		{ "febf:ffff::1", false, false, true },
		{ "fec0::1", false, false, false },
		{ "fe7f::1", false, false, false },
		{ "ff80::1", false, false, false },
		{ "2001:db8::1", false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		union ibv_gid g = gid(rows[i].text);

		if (gid_is_zero(&g) != rows[i].zero || gid_is_ipv4(&g) != rows[i].v4 ||
		    gid_is_link_local(&g) != rows[i].local)
			fail_msg("%s", rows[i].text);
	}
}

static struct gid_entry entry(const char *text, uint8_t prefix_len, enum gid_type type)
{
	return (struct gid_entry){ .gid = gid(text), .prefix_len = prefix_len, .type = type };
}

static void test_subnets(void **state)
{
	static const struct {
		const char *a;
		uint8_t a_len;
		const char *b;
		uint8_t b_len;
		bool same;
	} rows[] = {
		{ "::ffff:10.0.0.1", 24, "::ffff:10.0.0.2", 24, true },
		{ "::ffff:10.0.0.1", 24, "::ffff:10.0.1.1", 24, false },
		{ "::ffff:10.0.0.1", 16, "::ffff:10.0.1.1", 16, true },
		{ "::ffff:10.0.0.1", 16, "::ffff:10.0.1.1", 24, false }, /* the longer one */
		{ "::ffff:10.0.0.1", 24, "::ffff:10.0.1.1", 16, false },
		{ "::ffff:10.0.0.1", 0, "::ffff:10.0.0.2", 0, true }, /* unknown: /24 */
		{ "::ffff:10.0.0.1", 0, "::ffff:10.0.1.2", 0, false },
		{ "::ffff:10.0.0.1", 0, "::ffff:10.0.1.2", 16, true },
		{ "::ffff:10.0.0.1", 31, "::ffff:10.0.0.2", 31, false },
		{ "::ffff:10.0.0.2", 31, "::ffff:10.0.0.3", 31, true },
		{ "::ffff:10.0.0.127", 25, "::ffff:10.0.0.128", 25, false },
		{ "::ffff:10.0.0.1", 32, "::ffff:10.0.0.2", 32, false },
		{ "::ffff:10.0.0.1", 32, "::ffff:10.0.0.1", 32, true },
		{ "::ffff:10.0.0.1", 1, "::ffff:127.0.0.1", 1, true },
		{ "::ffff:10.0.0.1", 1, "::ffff:128.0.0.1", 1, false },
		{ "::ffff:10.0.0.1", 128, "::ffff:10.0.0.2", 128, false }, /* from a peer */
		{ "2001:db8::1", 64, "2001:db8::2", 64, true },
		{ "2001:db8::1", 64, "2001:db8:0:1::2", 64, false },
		{ "2001:db8::1", 0, "2001:db8:0:1::2", 0, false },
		{ "2001:db8::1", 48, "2001:db8:0:1::2", 48, true },
		{ "2001:db8::1", 128, "2001:db8::2", 128, false },
		{ "2001:db8::1", 128, "2001:db8::1", 128, true },
		{ "2001:db8::1", 127, "2001:db8::", 127, true },
		{ "fe80::1", 64, "fe80::2", 64, true },
		{ "::ffff:10.0.0.1", 24, "2001:db8::1", 64, false },
		{ "::ffff:10.0.0.1", 1, "::", 1, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gid_entry a = entry(rows[i].a, rows[i].a_len, GID_TYPE_ROCE_V2);
		struct gid_entry b = entry(rows[i].b, rows[i].b_len, GID_TYPE_ROCE_V2);

		if (gid_same_subnet(&a, &b) != rows[i].same ||
		    gid_same_subnet(&b, &a) != rows[i].same)
			fail_msg("row %zu: %s/%u and %s/%u", i, rows[i].a, rows[i].a_len, rows[i].b,
				 rows[i].b_len);
	}
}

/* A length that only IPv6 can have, sent by a peer: no more than the address is compared. */
static void test_long_prefix(void **state)
{
	struct gid_entry a = entry("::ffff:10.0.0.1", 128, GID_TYPE_ROCE_V2), b = a;

	(void)state;
	b.type = GID_TYPE_ROCE_V1;
	strcpy(b.netdev, "eth0");
	assert_true(gid_same_subnet(&a, &b));
}

#define V1 GID_TYPE_ROCE_V1
#define V2 GID_TYPE_ROCE_V2

/* Pairs from the best to the worst that works. */
static void test_rank_order(void **state)
{
	static const struct {
		const char *a, *b;
		enum gid_type type;
	} rows[] = {
		{ "::ffff:10.0.0.1", "::ffff:10.0.0.2", V2 },
		{ "2001:db8::1", "2001:db8::2", V2 },
		{ "::ffff:10.0.0.1", "::ffff:10.0.0.2", V1 },
		{ "2001:db8::1", "2001:db8::2", V1 },
		{ "::ffff:169.254.0.1", "::ffff:169.254.0.2", V2 },
		{ "fe80::1", "fe80::2", V2 },
		{ "::ffff:169.254.0.1", "::ffff:169.254.0.2", V1 },
		{ "fe80::1", "fe80::2", V1 },
		{ "::ffff:10.0.0.1", "::ffff:10.9.0.2", V2 }, /* routed */
		{ "2001:db8::1", "2001:db9::2", V2 },
	};
	int last = 1 << 30;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gid_entry a = entry(rows[i].a, 0, rows[i].type);
		struct gid_entry b = entry(rows[i].b, 0, rows[i].type);
		int rank = gid_pair_rank(&a, &b);

		if (rank <= 0 || rank >= last || gid_pair_rank(&b, &a) != rank)
			fail_msg("row %zu: rank %d after %d", i, rank, last);
		last = rank;
	}
}

static void test_rank_never(void **state)
{
	static const struct {
		const char *a;
		enum gid_type a_type;
		const char *b;
		enum gid_type b_type;
	} rows[] = {
		{ "::ffff:10.0.0.1", V2, "::ffff:10.0.0.2", V1 },
		{ "fe80::1", V1, "fe80::2", V2 },
		{ "fe80::1", V1, "fe80::2", GID_TYPE_IB },
		{ "::ffff:10.0.0.1", V2, "2001:db8::1", V2 },
		{ "fe80::1", V2, "2001:db8::1", V2 },
		{ "::ffff:169.254.0.1", V2, "::ffff:10.0.0.1", V2 },
		{ "::", V2, "::", V2 },
		{ "::", V2, "2001:db8::1", V2 },
		{ "::ffff:10.0.0.1", V1, "::ffff:10.9.0.2", V1 }, /* only v2 is routed */
		{ "2001:db8::1", V1, "2001:db9::1", V1 },
		{ "fe80::1", V2, "fe80:0:0:1::2", V2 }, /* nothing is routed to link-local */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gid_entry a = entry(rows[i].a, 0, rows[i].a_type);
		struct gid_entry b = entry(rows[i].b, 0, rows[i].b_type);

		if (gid_pair_rank(&a, &b) || gid_pair_rank(&b, &a))
			fail_msg("row %zu: rank %d", i, gid_pair_rank(&a, &b));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	   cmocka_unit_test(test_not_a_gid),
		cmocka_unit_test(test_bytes),	   cmocka_unit_test(test_types),
		cmocka_unit_test(test_kinds),	   cmocka_unit_test(test_subnets),
		cmocka_unit_test(test_long_prefix), cmocka_unit_test(test_rank_order),
		cmocka_unit_test(test_rank_never),
	};

	return cmocka_run_group_tests_name("gid", tests, NULL, NULL);
}
