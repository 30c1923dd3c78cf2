/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Candidates and choices over the wire; what a peer may send instead is refused whole. */
#include "unit.h"

#include <errno.h>

#include "candidate.h"

/* Two ports that use every field. */
static struct candidate_list two_ports(void)
{
	struct candidate_list l = { .v = calloc(2, sizeof(*l.v)), .count = 2 };

	l.v[0] = (struct candidate){ .device = "rxe0", .port = 1, .link = LINK_ETHERNET, .mtu = 1024,
				     .grh = true, .max_rd_atomic = 64, .max_dest_rd_atomic = 128,
				     .pkeys = { 0xffff, 0, 0x8001 }, .pkey_count = 3,
				     .gid_count = 2 };
	l.v[0].gids[0] = (struct gid_entry){ .index = 3, .type = GID_TYPE_ROCE_V1, .prefix_len = 64,
					     .netdev = "eth0" };
	l.v[0].gids[1] = (struct gid_entry){ .index = 255, .type = GID_TYPE_ROCE_V2,
					     .prefix_len = 24 };
	assert_int_equal(gid_parse("fe80::1", &l.v[0].gids[0].gid), 0);
	assert_int_equal(gid_parse("::ffff:10.0.0.1", &l.v[0].gids[1].gid), 0);
	l.v[1] = (struct candidate){ .device = "mlx5_0", .port = 255, .link = LINK_IB, .lid = 0xffff,
				     .lmc = 7, .mtu = 4096, .prefix = 0xfedcba9876543210ull,
				     .max_rd_atomic = 65535, .pkeys = { 0x7fff }, .pkey_count = 1 };
	return l;
}

static json_t *through_text(json_t *v)
{
	char *text = json_dumps(v, JSON_ENCODE_ANY);
	json_t *back = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(back);
	json_decref(v);
	free(text);
	return back;
}

static void test_round_trip(void **state)
{
	struct candidate_list l = two_ports(), back;
	json_t *v = through_text(candidates_to_json(&l));

	(void)state;
	assert_int_equal(candidates_from_json(v, &back), 0);
	assert_int_equal(back.count, 2);
	assert_memory_equal(back.v, l.v, 2 * sizeof(*l.v));
	json_decref(v);
	candidates_free(&back);
	candidates_free(&l);
}

static void test_empty_and_full(void **state)
{
	static struct candidate many[CANDIDATES_MAX + 1];
	struct candidate_list l = { many, 0 }, back;
	json_t *v = candidates_to_json(&l);

	(void)state;
	assert_int_equal(candidates_from_json(v, &back), 0);
	assert_int_equal(back.count, 0);
	json_decref(v);
	candidates_free(&back);
	for (int i = 0; i <= CANDIDATES_MAX; i++) {
		many[i] = (struct candidate){ .device = "d", .port = 1, .mtu = 256 };
		many[i].gid_count = CANDIDATE_GIDS_MAX;
		many[i].pkey_count = CANDIDATE_PKEYS_MAX;
	}
	l.count = CANDIDATES_MAX;
	v = candidates_to_json(&l);
	assert_int_equal(candidates_from_json(v, &back), 0);
	assert_int_equal(back.count, CANDIDATES_MAX);
	json_decref(v);
	candidates_free(&back);
	l.count = CANDIDATES_MAX + 1;
	v = candidates_to_json(&l);
	assert_int_equal(candidates_from_json(v, &back), -EINVAL);
	assert_null(back.v);
	json_decref(v);
}

/* Candidate @at with @key (in its first GID for "gids.") set to @json, or deleted for NULL. */
static void hostile(size_t at, const char *key, const char *json)
{
	struct candidate_list l = two_ports(), back = { NULL, 7 };
	json_t *v = candidates_to_json(&l), *o = json_array_get(v, at);

	if (!strncmp(key, "gids.", 5)) {
		o = json_array_get(json_object_get(o, "gids"), 0);
		key += 5;
	}
	if (json)
		assert_int_equal(json_object_set_new(o, key, json_loads(json, JSON_DECODE_ANY,
									NULL)), 0);
	else
		json_object_del(o, key);
	if (candidates_from_json(v, &back) != -EINVAL || back.v || back.count)
		fail_msg("%s: %s was taken", key, json ? json : "nothing");
	json_decref(v);
	candidates_free(&l);
}

static void test_hostile_types(void **state)
{
	static const char *const keys[] = { "device", "port", "link_layer", "lid", "lmc", "mtu", "grh",
					    "subnet_prefix", "max_rd_atomic", "max_dest_rd_atomic",
					    "gids", "pkeys", "gids.index", "gids.gid", "gids.type",
					    "gids.prefix_len", "gids.netdev" };
	static const char *const values[] = { NULL, "null", "{}", "1.5", "-1", "4294967297",
					      "9223372036854775807", "\"\\u00e9\"", "[[]]" };

	(void)state;
	for (size_t k = 0; k < COUNT(keys); k++)
		for (size_t i = 0; i < COUNT(values); i++) {
			bool text = !strcmp(keys[k], "device") || !strcmp(keys[k], "gids.netdev");

			/* Any text is a name, once it is cleaned. */
			if (!text || !values[i] || values[i][0] != '"')
				hostile(0, keys[k], values[i]);
		}
}

static void test_hostile_values(void **state)
{
	static const struct {
		const char *key, *json;
	} rows[] = {
		{ "port", "0" }, { "port", "256" }, { "lid", "65536" }, { "lmc", "8" },
		{ "mtu", "255" }, { "mtu", "1500" }, { "mtu", "8192" }, { "mtu", "0" },
		{ "link_layer", "\"InfiniBand\"" }, { "link_layer", "\"\"" },
		{ "subnet_prefix", "\"\"" }, { "subnet_prefix", "\"-000000000000001\"" },
		{ "subnet_prefix", "\" 00000000000001\"" }, { "subnet_prefix", "\"0x00000000000001\"" },
		{ "subnet_prefix", "\"fe8000000000000g\"" },
		{ "subnet_prefix", "\"fe800000000000000\"" },
		{ "max_rd_atomic", "65536" }, { "max_dest_rd_atomic", "4294967296" },
		{ "grh", "1" }, { "pkeys", "[65536]" }, { "pkeys", "[\"1\"]" }, { "pkeys", "{}" },
		{ "gids", "[1]" }, { "gids", "{\"a\":1}" }, { "gids.index", "65536" },
		{ "gids.prefix_len", "129" }, { "gids.gid", "\"10.0.0.1\"" },
		{ "gids.gid", "\"fe80::1%eth0\"" }, { "gids.type", "\"roce v2\"" },
		{ "device", "\"0123456789012345678901234567890123456789012345678901234567890123\"" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		hostile(0, rows[i].key, rows[i].json);
	/* A bad second one: the first goes too. */
	hostile(1, "port", "0");
}

static void test_too_many(void **state)
{
	struct candidate_list l = two_ports(), back;
	json_t *v = candidates_to_json(&l), *gids = json_array(), *pkeys = json_array();

	(void)state;
	for (int i = 0; i <= CANDIDATE_PKEYS_MAX; i++)
		json_array_append_new(pkeys, json_integer(i));
	for (int i = 0; i <= CANDIDATE_GIDS_MAX; i++)
		json_array_append_new(gids, json_deep_copy(json_array_get(
			json_object_get(json_array_get(v, 0), "gids"), 0)));
	json_object_set_new(json_array_get(v, 1), "pkeys", pkeys);
	assert_int_equal(candidates_from_json(v, &back), -EINVAL);
	json_array_remove(pkeys, 0);
	assert_int_equal(candidates_from_json(v, &back), 0);
	candidates_free(&back);
	json_object_set_new(json_array_get(v, 1), "gids", gids);
	assert_int_equal(candidates_from_json(v, &back), -EINVAL);
	json_array_remove(gids, 0);
	assert_int_equal(candidates_from_json(v, &back), 0);
	candidates_free(&back);
	json_decref(v);
	candidates_free(&l);
}

static void test_no_list(void **state)
{
	static const char *const bad[] = { "null", "{}",     "1",    "\"x\"",
					   "[1]",  "[null]", "[[]]", "[{}]" };
	struct candidate_list back;

	(void)state;
	assert_int_equal(candidates_from_json(NULL, &back), -EINVAL);
	for (size_t i = 0; i < COUNT(bad); i++) {
		json_t *v = json_loads(bad[i], JSON_DECODE_ANY, NULL);

		assert_int_equal(candidates_from_json(v, &back), -EINVAL);
		assert_null(back.v);
		json_decref(v);
	}
}

/* Names go to a terminal. */
static void test_names_cleaned(void **state)
{
	struct candidate_list l = two_ports(), back;
	json_t *v = candidates_to_json(&l);

	(void)state;
	json_object_set_new(json_array_get(v, 0), "device", json_string("r\033[1m\n"));
	json_object_set_new(json_array_get(json_object_get(json_array_get(v, 0), "gids"), 0),
			    "netdev", json_string("a-name-of-an-interface\033"));
	assert_int_equal(candidates_from_json(v, &back), 0);
	assert_string_equal(back.v[0].device, "r?[1m?");
	assert_string_equal(back.v[0].gids[0].netdev, "a-name-of-an-in");
	json_decref(v);
	candidates_free(&back);
	candidates_free(&l);
}

static void test_choices(void **state)
{
	static const struct candidate_choice choices[] = { { 0, 0, 0 }, { 0, 1, 2 }, { 1, -1, 0 } };
	struct candidate_list l = two_ports();

	(void)state;
	for (size_t i = 0; i < COUNT(choices); i++) {
		json_t *v = through_text(candidate_choice_to_json(&l, &choices[i]));
		struct candidate_choice back;

		assert_int_equal(candidate_choice_from_json(v, &l, &back), 0);
		assert_memory_equal(&back, &choices[i], sizeof(back));
		json_decref(v);
	}
	candidates_free(&l);
}

static void test_hostile_choices(void **state)
{
	static const char *const bad[] = {
		"null", "[]", "{}",
		"{\"device\":\"rxe0\",\"port\":1,\"gid_index\":3}",
		"{\"device\":\"rxe1\",\"port\":1,\"gid_index\":3,\"pkey_index\":0}",
		"{\"device\":\"rxe0\",\"port\":2,\"gid_index\":3,\"pkey_index\":0}",
		"{\"device\":\"rxe0\",\"port\":4294967297,\"gid_index\":3,\"pkey_index\":0}",
		"{\"device\":\"rxe0\",\"port\":1,\"gid_index\":0,\"pkey_index\":0}",
		"{\"device\":\"rxe0\",\"port\":1,\"gid_index\":-1,\"pkey_index\":0}",
		"{\"device\":\"rxe0\",\"port\":1,\"gid_index\":4294967299,\"pkey_index\":0}",
		"{\"device\":\"rxe0\",\"port\":1,\"gid_index\":3,\"pkey_index\":3}",
		"{\"device\":\"rxe0\",\"port\":1,\"gid_index\":3,\"pkey_index\":-1}",
		"{\"device\":\"rxe0\",\"port\":1,\"gid_index\":3,\"pkey_index\":4294967296}",
		"{\"device\":\"rxe0\",\"port\":\"1\",\"gid_index\":3,\"pkey_index\":0}",
		"{\"device\":\"mlx5_0\",\"port\":255,\"gid_index\":-2,\"pkey_index\":0}",
		"{\"device\":\"mlx5_0\",\"port\":255,\"gid_index\":0,\"pkey_index\":0}",
	};
	struct candidate_list l = two_ports(), none = { NULL, 0 };
	struct candidate_choice c;

	(void)state;
	assert_int_equal(candidate_choice_from_json(NULL, &l, &c), -EINVAL);
	for (size_t i = 0; i < COUNT(bad); i++) {
		json_t *v = json_loads(bad[i], JSON_DECODE_ANY, NULL);

		assert_non_null(v);
		if (candidate_choice_from_json(v, &l, &c) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
		assert_int_equal(candidate_choice_from_json(v, &none, &c), -EINVAL);
		json_decref(v);
	}
	candidates_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_empty_and_full),
		cmocka_unit_test(test_hostile_types),  cmocka_unit_test(test_hostile_values),
		cmocka_unit_test(test_too_many),       cmocka_unit_test(test_no_list),
		cmocka_unit_test(test_names_cleaned),  cmocka_unit_test(test_choices),
		cmocka_unit_test(test_hostile_choices),
	};

	return cmocka_run_group_tests_name("candidate_json", tests, NULL, NULL);
}
