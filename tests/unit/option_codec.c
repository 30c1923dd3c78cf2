/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options whose value has a grammar of its own: rates, loads, flow labels; as text and as JSON. */
#include "unit.h"

#include <errno.h>

#include "option_codec.h"
#include "options.h"

union value {
	struct option_rate rate;
	struct option_load load;
	struct option_flow flow;
	struct option_mcast mcast;
	unsigned char bytes[64];
};

static const struct {
	const struct option_codec *codec;
	const char *text, *written; /* NULL: refused */
} rows[] = {
	{ &option_rate_codec, "", "" },
	{ &option_rate_codec, "10Gb/s", "10000000000b/s" },
	{ &option_rate_codec, "10Gbit/s", "10000000000b/s" },
	{ &option_rate_codec, "800MB/s", "6400000000b/s" },
	{ &option_rate_codec, "1.5Gb/s", "1500000000b/s" },
	{ &option_rate_codec, "1KiB/s", "8192b/s" },
	{ &option_rate_codec, "2M/s", "2000000/s" },
	{ &option_rate_codec, "7", "7/s" },
	{ &option_rate_codec, "1b/s", "1b/s" },
	{ &option_rate_codec, "1000Tb/s", "1000000000000000b/s" },
	{ &option_rate_codec, "1001Tb/s", NULL },
	{ &option_rate_codec, "0", NULL },
	{ &option_rate_codec, "0Gb/s", NULL },
	{ &option_rate_codec, "0.5/s", NULL },
	{ &option_rate_codec, "-1Gb/s", NULL },
	{ &option_rate_codec, "+1Gb/s", NULL },
	{ &option_rate_codec, " 1Gb/s", NULL },
	{ &option_rate_codec, "1Gb/s ", NULL },
	{ &option_rate_codec, "1G b/s", NULL },
	{ &option_rate_codec, "1Gx/s", NULL },
	{ &option_rate_codec, "Gb/s", NULL },
	{ &option_rate_codec, "nan", NULL },
	{ &option_rate_codec, "inf", NULL },
	{ &option_rate_codec, "1e9b/s", NULL },
	{ &option_rate_codec, "99999999999999999999999", NULL },
	{ &option_load_codec, "", "" },
	{ &option_load_codec, "10Gb/s", "10000000000b/s" },
	{ &option_load_codec, "10Gb/s,sl=1,tc=104", "10000000000b/s,sl=1,tc=104" },
	{ &option_load_codec, "1M/s,tc=0", "1000000/s,tc=0" },
	{ &option_load_codec, "1M/s,tc=255,sl=15", "1000000/s,sl=15,tc=255" },
	{ &option_load_codec, "1M/s,sl=0x3", "1000000/s,sl=3" },
	{ &option_load_codec, "1M/s,sl=16", NULL },
	{ &option_load_codec, "1M/s,tc=256", NULL },
	{ &option_load_codec, "1M/s,sl=-1", NULL },
	{ &option_load_codec, "1M/s,sl=", NULL },
	{ &option_load_codec, "1M/s,sl", NULL },
	{ &option_load_codec, "1M/s,vl=1", NULL },
	{ &option_load_codec, "1M/s,", NULL },
	{ &option_load_codec, "1M/s,,sl=1", NULL },
	{ &option_load_codec, "1M/s,sl=1,", NULL },
	{ &option_load_codec, "1M/s;sl=1", NULL },
	{ &option_load_codec, ",sl=1", NULL },
	{ &option_load_codec, "sl=1", NULL },
	{ &option_flow_codec, "0", "0" },
	{ &option_flow_codec, "5", "5" },
	{ &option_flow_codec, "0x400+", "1024+" },
	{ &option_flow_codec, "1048575", "1048575" },
	{ &option_flow_codec, "1048575+", "1048575+" },
	{ &option_flow_codec, "1048576", NULL },
	{ &option_flow_codec, "18446744073709551616", NULL },
	{ &option_flow_codec, "", NULL },
	{ &option_flow_codec, "+", NULL },
	{ &option_flow_codec, "+5", NULL },
	{ &option_flow_codec, "5++", NULL },
	{ &option_flow_codec, "5 +", NULL },
	{ &option_flow_codec, "5+ ", NULL },
	{ &option_flow_codec, "-5", NULL },
	{ &option_flow_codec, "0x+", NULL },
	{ &option_mcast_codec, "", "" },
	{ &option_mcast_codec, "239.255.86.80", "239.255.86.80" },
	{ &option_mcast_codec, "ff12::7", "ff12::7" },
	{ &option_mcast_codec, "239.255.86.80 ", NULL },
	{ &option_mcast_codec, "host", NULL },
	{ &option_mcast_codec, "fe80::1%eth0", NULL },
};

/* What is written is read again as the same; a refusal leaves the value alone. */
static void test_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		union value v, before, again;
		char text[128], twice[128];
		int rc;

		memset(&v, rows[i].written ? 0 : 0x5a, sizeof(v));
		before = v;
		rc = rows[i].codec->read(rows[i].text, &v);
		if (rc != (rows[i].written ? 0 : -EINVAL))
			fail_msg("\"%s\": %d", rows[i].text, rc);
		if (!rows[i].written) {
			if (memcmp(&v, &before, sizeof(v)))
				fail_msg("\"%s\" was refused and changed something", rows[i].text);
			continue;
		}
		rows[i].codec->write(&v, text, sizeof(text));
		assert_string_equal(text, rows[i].written);
		memset(&again, 0, sizeof(again));
		assert_int_equal(rows[i].codec->read(text, &again), 0);
		rows[i].codec->write(&again, twice, sizeof(twice));
		assert_string_equal(twice, text);
	}
}

/* The values behind the text. */
static void test_values(void **state)
{
	union value v;

	(void)state;
	memset(&v, 0xff, sizeof(v));
	assert_int_equal(option_rate_codec.read("2M/s", &v), 0);
	assert_true(v.rate.messages == 2000000 && v.rate.bits == 0);
	assert_int_equal(option_rate_codec.read("1MB/s", &v), 0);
	assert_true(v.rate.messages == 0 && v.rate.bits == 8000000);
	assert_int_equal(option_rate_codec.read("", &v), 0);
	assert_true(v.rate.messages == 0 && v.rate.bits == 0);
	assert_int_equal(option_load_codec.read("1Gb/s,tc=9", &v), 0);
	assert_true(v.load.rate.bits == 1000000000 && v.load.rate.messages == 0);
	assert_true(v.load.sl == OPTION_AUTO && v.load.traffic_class == 9);
	assert_int_equal(option_load_codec.read("", &v), 0);
	assert_true(v.load.rate.bits == 0 && v.load.sl == 0 && v.load.traffic_class == 0);
	assert_int_equal(option_flow_codec.read("7+", &v), 0);
	assert_true(v.flow.label == 7 && v.flow.counts);
	assert_int_equal(option_flow_codec.read("8", &v), 0);
	assert_true(v.flow.label == 8 && !v.flow.counts);
}

/* Longer than any value: refused, and nothing is written behind the end. */
static void test_long_text(void **state)
{
	static const struct option_codec *const all[] = { &option_rate_codec, &option_load_codec,
							  &option_flow_codec, &option_mcast_codec };
	static char text[70000];
	union value v;

	(void)state;
	for (size_t len = 64; len < sizeof(text); len = len * 2 + 1)
		for (size_t i = 0; i < COUNT(all); i++) {
			memset(text, '1', len);
			text[len] = '\0';
			memset(&v, 0, sizeof(v));
			assert_int_equal(all[i]->read(text, &v), -EINVAL);
			memcpy(text, "1M/s,sl=1", 9);
			assert_int_equal(all[i]->read(text, &v), -EINVAL);
		}
}

static void test_small_buffer(void **state)
{
	union value v;
	char out[64], whole[64];

	(void)state;
	assert_int_equal(option_load_codec.read("10Gb/s,sl=15,tc=255", &v), 0);
	option_load_codec.write(&v, whole, sizeof(whole));
	for (size_t cap = 1; cap <= strlen(whole); cap++) {
		memset(out, '!', sizeof(out));
		option_load_codec.write(&v, out, cap);
		assert_true(strlen(out) < cap);
		for (size_t k = cap; k < sizeof(out); k++)
			assert_int_equal(out[k], '!');
	}
}

static void json_case(const char *name, const char *json, const char *due)
{
	const struct option_record *o = &option_table[option_index(name)];
	json_t *v = json_loads(json, JSON_DECODE_ANY, NULL), *back;
	struct settings s;
	char *text;
	int rc;

	assert_non_null(v);
	memset(&s, 0, sizeof(s));
	rc = option_from_json(o, v, &s);
	if (rc != (due ? 0 : -EINVAL))
		fail_msg("--%s %s: %d", name, json, rc);
	if (due) {
		back = option_to_json(o, &s);
		text = json_dumps(back, JSON_ENCODE_ANY);
		assert_string_equal(text, due);
		free(text);
		json_decref(back);
	}
	json_decref(v);
}

static void test_json(void **state)
{
	(void)state;
	json_case("rate", "\"10Gb/s\"", "\"10000000000b/s\"");
	json_case("rate", "null", "null");
	json_case("rate", "\"\"", NULL);
	json_case("rate", "10", NULL);
	json_case("rate", "true", NULL);
	json_case("rate", "[\"10Gb/s\"]", NULL);
	json_case("rate", "{\"bits\":5}", NULL);
	json_case("rate", "\"10Gb/s\\n\"", NULL);
	json_case("load", "\"1M/s,tc=4\"", "\"1000000/s,tc=4\"");
	json_case("load", "null", "null");
	json_case("load", "\"1M/s,tc=400\"", NULL);
	json_case("flow-label", "\"3+\"", "\"3+\"");
	json_case("flow-label", "null", NULL);
	json_case("flow-label", "3", NULL);
	json_case("flow-label", "\"\"", NULL);
	json_case("flow-label", "\"1048576\"", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	     cmocka_unit_test(test_values),
		cmocka_unit_test(test_long_text),    cmocka_unit_test(test_small_buffer),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests_name("option_codec", tests, NULL, NULL);
}
