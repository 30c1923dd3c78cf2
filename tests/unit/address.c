/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses of an end: as printed since 2005, and over the wire. */
#include "unit.h"

#include <errno.h>

#include "endpoint.h"

static uint32_t qpns[2] = { 0x320406, 0xffffff }, psns[2] = { 0xeb1f3e, 0 };
static uint32_t rkeys[2] = { 0x01f60032, 0x01f60033 };

static struct endpoint_address address(void)
{
	return (struct endpoint_address){ .lid = 0xb,
					  .vaddr = 0x6000000000014001ull,
					  .qpns = qpns,
					  .psns = psns,
					  .rkeys = rkeys,
					  .stride = 0x3000,
					  .qp_count = 2 };
}

static struct endpoint_address address_with_gid(void)
{
	struct endpoint_address a = address();

	a.has_gid = true;
	a.gid.index = 1;
	a.gid.type = GID_TYPE_ROCE_V2;
	assert_int_equal(gid_parse("::ffff:10.0.0.1", &a.gid.gid), 0);
	return a;
}

static void test_text(void **state)
{
	struct endpoint_address a = address();
	char out[256];

	(void)state;
	endpoint_address_text(&a, 0, out, sizeof(out));
	assert_string_equal(out, "LID 0x000b, QPN 0x320406, PSN 0xeb1f3e, RKey 0x01f60032, "
				 "VAddr 0x6000000000014001");
	a = address_with_gid();
	endpoint_address_text(&a, 1, out, sizeof(out));
	assert_string_equal(out,
			    "LID 0x000b, QPN 0xffffff, PSN 0x000000, RKey 0x01f60033, "
			    "VAddr 0x6000000000017001, GID ::ffff:10.0.0.1 (index 1, RoCE v2)");
	for (size_t cap = 1; cap < sizeof(out); cap++) {
		memset(out, '!', sizeof(out));
		endpoint_address_text(&a, 0, out, cap);
		assert_true(strlen(out) < cap);
		assert_int_equal(out[cap], '!');
	}
}

static void check_same(const struct endpoint_address *a, const struct endpoint_address *b)
{
	assert_int_equal(a->lid, b->lid);
	assert_true(a->stride == b->stride);
	assert_memory_equal(a->rkeys, b->rkeys, a->qp_count * sizeof(*a->rkeys));
	assert_true(a->vaddr == b->vaddr);
	assert_int_equal(a->qp_count, b->qp_count);
	assert_memory_equal(a->qpns, b->qpns, a->qp_count * sizeof(*a->qpns));
	assert_memory_equal(a->psns, b->psns, a->qp_count * sizeof(*a->psns));
	assert_int_equal(a->has_gid, b->has_gid);
	assert_int_equal(a->gid.index, b->gid.index);
	assert_int_equal(a->gid.type, b->gid.type);
	assert_memory_equal(&a->gid.gid, &b->gid.gid, 16);
}

static void round_trip(struct endpoint_address a)
{
	json_t *v = endpoint_address_to_json(&a), *back;
	struct endpoint_address b;
	char *text = json_dumps(v, 0);

	back = json_loads(text, 0, NULL);
	assert_int_equal(endpoint_address_from_json(back, a.qp_count, &b), 0);
	check_same(&a, &b);
	endpoint_address_free(&b);
	endpoint_address_free(&b);
	json_decref(v);
	json_decref(back);
	free(text);
}

static void test_round_trip(void **state)
{
	struct endpoint_address a = address();
	uint32_t most[1];

	(void)state;
	round_trip(a);
	round_trip(address_with_gid());
	a.lid = 0xffff;
	most[0] = UINT32_MAX;
	a.rkeys = most;
	a.stride = INT64_MAX;
	a.vaddr = UINT64_MAX;
	a.qp_count = 1;
	round_trip(a);
	a.lid = 0;
	most[0] = 0;
	a.stride = 0;
	a.vaddr = 0;
	round_trip(a);
}

#define QPS ",\"qps\":[[1,2,5],[3,4,6]]"
#define START "{\"lid\":11,\"vaddr\":\"0x0000000000001000\",\"stride\":12"

static void test_hostile(void **state)
{
	static const char *const bad[] = {
		"null", "[]", "{}", "1",
		"{\"stride\":12,\"vaddr\":\"0x1000\"" QPS "}",
		"{\"lid\":11,\"vaddr\":\"0x1000\"" QPS "}",
		"{\"lid\":11,\"stride\":12" QPS "}",
		"{\"lid\":-1,\"stride\":12,\"vaddr\":\"0x1000\"" QPS "}",
		"{\"lid\":65536,\"stride\":12,\"vaddr\":\"0x1000\"" QPS "}",
		"{\"lid\":4294967296,\"stride\":12,\"vaddr\":\"0x1000\"" QPS "}",
		"{\"lid\":\"11\",\"stride\":12,\"vaddr\":\"0x1000\"" QPS "}",
		"{\"lid\":11,\"stride\":-1,\"vaddr\":\"0x1000\"" QPS "}",
		"{\"lid\":11,\"stride\":\"12\",\"vaddr\":\"0x1000\"" QPS "}",
		"{\"lid\":11,\"stride\":12.0,\"vaddr\":\"0x1000\"" QPS "}",
		"{\"lid\":11,\"stride\":12,\"vaddr\":4096" QPS "}",
		"{\"lid\":11,\"stride\":12,\"vaddr\":\"\"" QPS "}",
		"{\"lid\":11,\"stride\":12,\"vaddr\":\"0x\"" QPS "}",
		"{\"lid\":11,\"stride\":12,\"vaddr\":\"-1\"" QPS "}",
		"{\"lid\":11,\"stride\":12,\"vaddr\":\"0x-1\"" QPS "}",
		"{\"lid\":11,\"stride\":12,\"vaddr\":\" 0x1\"" QPS "}",
		"{\"lid\":11,\"stride\":12,\"vaddr\":\"0x10000000000000000\"" QPS "}",
		"{\"lid\":11,\"stride\":12,\"vaddr\":\"4096\"" QPS "}",
		START "}",
		START ",\"qps\":[]}",
		START ",\"qps\":[[1,2,5]]}",
		START ",\"qps\":[[1,2,5],[3,4,6],[5,6,7]]}",
		START ",\"qps\":{\"a\":[1,2,5],\"b\":[3,4,6]}}",
		START ",\"qps\":[[1,2,5],3]}",
		START ",\"qps\":[[1,2,5],[3]]}",
		START ",\"qps\":[[1,2,5],[3,4]]}",
		START ",\"qps\":[[1,2,5],[16777216,4,6]]}",
		START ",\"qps\":[[1,2,5],[3,16777216,6]]}",
		START ",\"qps\":[[1,2,5],[-3,4,6]]}",
		START ",\"qps\":[[1,2,5],[3,-4,6]]}",
		START ",\"qps\":[[1,2,5],[3,\"4\",6]]}",
		START ",\"qps\":[[1,2,5],[4294967299,4,6]]}",
		START ",\"qps\":[[1,2,5],[3,4,-1]]}",
		START ",\"qps\":[[1,2,5],[3,4,4294967296]]}",
		START ",\"qps\":[[1,2,5],[3,4,\"6\"]]}",
		START QPS ",\"gid\":null}",
		START QPS ",\"gid\":\"::1\"}",
		START QPS ",\"gid\":{\"gid\":\"::1\",\"index\":1}}",
		START QPS ",\"gid\":{\"gid\":\"10.0.0.1\",\"index\":1,\"type\":\"RoCE v2\"}}",
		START QPS ",\"gid\":{\"gid\":\"::1\",\"index\":-1,\"type\":\"RoCE v2\"}}",
		START QPS ",\"gid\":{\"gid\":\"::1\",\"index\":65536,\"type\":\"RoCE v2\"}}",
		START QPS ",\"gid\":{\"gid\":\"::1\",\"index\":4294967297,\"type\":\"RoCE v2\"}}",
		START QPS ",\"gid\":{\"gid\":\"::1\",\"index\":1,\"type\":\"RoCE v4\"}}",
	};
	struct endpoint_address a;

	(void)state;
	assert_int_equal(endpoint_address_from_json(NULL, 2, &a), -EINVAL);
	for (size_t i = 0; i < COUNT(bad); i++) {
		json_t *v = json_loads(bad[i], JSON_DECODE_ANY, NULL);

		assert_non_null(v);
		if (endpoint_address_from_json(v, 2, &a) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
		assert_null(a.qpns);
		assert_null(a.psns);
		assert_null(a.rkeys);
		json_decref(v);
	}
}

/* The control: without a fault the same text is fine, and what is unknown does not hurt. */
static void test_fine(void **state)
{
	json_t *v =
		json_loads(START QPS ",\"gid\":{\"gid\":\"::1\",\"index\":1,\"type\":\"RoCE v2\"},"
				     "\"from_tomorrow\":1}",
			   0, NULL);
	struct endpoint_address a;

	(void)state;
	assert_int_equal(endpoint_address_from_json(v, 2, &a), 0);
	assert_int_equal(a.vaddr, 0x1000);
	assert_int_equal(a.qpns[1], 3);
	assert_int_equal(a.psns[1], 4);
	assert_int_equal(a.rkeys[1], 6);
	assert_int_equal(a.stride, 12);
	endpoint_address_free(&a);
	json_decref(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_fine),
	};

	return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
