/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of rdma_cm is told: private data, the offer, the path record; and what it forbids. */
#include "cm_parts.h"
#include "op.h"
#include "words.h"

static const struct cm_offer offer = { 4711, { 0, 1, 2, 0xfe, 0xff, 16 } };

static void test_data(void **state)
{
	uint8_t data[56] = { 0 };
	struct cm_offer other = offer;
	uint32_t index;

	(void)state;
	cm_data_fill(data, &offer, 0x01020304);
	assert_int_equal(cm_data_check(data, sizeof(data), &offer, &index), 0);
	assert_int_equal(index, 0x01020304);
	assert_int_equal(data[CM_DATA - 1], 4);
	assert_true(cm_data_check(data, CM_DATA - 1, &offer, &index) < 0);
	other.token[CM_TOKEN - 1] ^= 1;
	assert_true(cm_data_check(data, sizeof(data), &other, &index) < 0);
	data[0] ^= 1;
	assert_true(cm_data_check(data, sizeof(data), &offer, &index) < 0);
}

static void test_offer(void **state)
{
	static const char *const bad[] = {
		"{}", "{\"port\": 1}", "{\"port\": 1, \"token\": 2}",
		"{\"port\": 0, \"token\": \"00000000000000000000000000000000\"}",
		"{\"port\": 65536, \"token\": \"00000000000000000000000000000000\"}",
		"{\"port\": 1, \"token\": \"0000000000000000000000000000000\"}",
		"{\"port\": 1, \"token\": \"000000000000000000000000000000000\"}",
		"{\"port\": 1, \"token\": \"0000000000000000000000000000000g\"}",
	};
	struct cm_offer o = { 0 };
	json_t *v = cm_offer_to_json(&offer);

	(void)state;
	assert_int_equal(cm_offer_from_json(v, &o), 0);
	assert_memory_equal(&o, &offer, sizeof(o));
	json_decref(v);
	for (unsigned int i = 0; i < COUNT(bad); i++) {
		v = json_loads(bad[i], 0, NULL);
		assert_true(cm_offer_from_json(v, &o) < 0);
		json_decref(v);
	}
	assert_true(cm_offer_from_json(NULL, &o) < 0);
}

static void test_record(void **state)
{
	static const struct {
		const char *key;
		json_int_t bad;
	} rows[] = { { "sl", 16 },      { "sl", -1 },    { "mtu", 0 },      { "mtu", 1500 },
		     { "slid", 65536 }, { "dlid", -1 },  { "pkey", 65536 }, { "mtu", 1ll << 40 } };
	const struct cm_record record = { 15, 2048, 0xffff, 7, 0x8001 };
	struct cm_record r;
	json_t *v = cm_record_to_json(&record);

	(void)state;
	assert_int_equal(cm_record_from_json(v, &r), 0);
	assert_int_equal(r.sl, 15);
	assert_int_equal(r.mtu, 2048);
	assert_int_equal(r.slid, 0xffff);
	assert_int_equal(r.dlid, 7);
	assert_int_equal(r.pkey, 0x8001);
	json_decref(v);
	for (unsigned int i = 0; i < COUNT(rows); i++) {
		v = cm_record_to_json(&record);
		json_object_set_new(v, rows[i].key, json_integer(rows[i].bad));
		assert_true(cm_record_from_json(v, &r) < 0);
		json_decref(v);
	}
}

static void test_forbidden(void **state)
{
	static const struct {
		const char *words[5], *why;
	} rows[] = {
		{ { "-R", "--transport", "UC" }, "RC and UD only" },
		{ { "-R", "--path-bits", "1" }, "--path-bits" },
		{ { "--path-record", "--path-bits", "1" }, "--path-bits" },
		{ { "--path-record", "--sl", "0" }, "--path-record takes the SL" },
		{ { "--path-record", "-R" }, "" },
		{ { "-R", "--transport", "UD", "--sl", "3" }, "" },
	};
	struct option_program p = all_options;
	char why[256];

	(void)state;
	p.mask |= FOR_LOSSY;
	for (unsigned int i = 0; i < COUNT(rows); i++) {
		const char *words[6] = { NULL };
		struct settings s;
		struct error e;

		memcpy(words, rows[i].words, sizeof(rows[i].words));
		assert_int_equal(parse(&p, words, &s, &e), 0);
		assert_int_equal(op_check(FAMILY_SEND, false, &s, why, sizeof(why)) != 0,
				 *rows[i].why != '\0');
		assert_contains(why, rows[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_offer),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_forbidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
