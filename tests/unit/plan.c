/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The plan: what it holds, how two ends compare, what is refused, what memory a run needs. */
#include "unit.h"

#include <errno.h>

#include "plan.h"

static const struct option_program lat = {
	.name = "prog", .summary = "tests", .mask = ~0u,
	.argument = "HOST",
};

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void parse(const char *const *words, struct settings *s)
{
	char *argv[32] = { (char *)(uintptr_t)"prog" };
	struct error e;
	int argc = 1;

	for (; *words; words++)
		argv[argc++] = (char *)(uintptr_t)*words;
	error_init(&e, "prog");
	if (options_parse(&lat, argc, argv, s, &e))
		fail_msg("%s", e.text);
}

/* What a client with these options sends. */
static json_t *plan_of(const char *const *words)
{
	struct settings s;
	json_t *plan;
	char *text;

	parse(words, &s);
	plan = plan_to_json(&lat, &s);
	text = json_dumps(plan, 0);
	json_decref(plan);
	plan = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	assert_non_null(plan);
	return plan;
}

/* A server with these options gets that plan, which is released. */
static int apply(const char *const *server, json_t *plan, char why[1024])
{
	struct settings s;
	int rc;

	parse(server, &s);
	rc = plan_apply(&lat, plan, &s, why, 1024);
	json_decref(plan);
	return rc;
}

/* Every option of scope plan is there, and no other. */
static void test_contents(void **state)
{
	json_t *plan = plan_of(WORDS("host"));
	size_t n = 0;

	(void)state;
	for (const struct option_record *o = option_table; o->name; o++) {
		bool due = o->scope == SCOPE_PLAN && o->type != OPTION_ALL_SIZES;

		n += due;
		if (due != (json_object_get(plan, o->name) != NULL))
			fail_msg("--%s", o->name);
	}
	assert_int_equal(json_object_size(plan), n);
	json_decref(plan);
}

/* A server without options takes everything; what is local to it stays. */
static void test_server_takes_all(void **state)
{
	const char *const client[] = { "host", "-s",	     "1,64,4k",	 "-D", "1500ms", "--warmup",
				       "7",    "--full-rtt", "--detail", "-t", "3",	 "-I",
				       "12",   "--reap",     "late",	 "-m", "1024",	 "-S",
				       "3",    "--pkey",     "0x8001",	 "-u", "9",	 "-U",
				       "-p",   "1",	     NULL };
	struct settings c, s;
	json_t *ours, *theirs, *plan = plan_of(client);
	char why[1024];

	(void)state;
	parse(client, &c);
	parse(WORDS("-p", "2", "-H"), &s);
	assert_int_equal(plan_apply(&lat, plan, &s, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	ours = plan_to_json(&lat, &s);
	theirs = plan_to_json(&lat, &c);
	assert_true(json_equal(ours, theirs));
	assert_int_equal(s.duration_ns, 1500000000);
	assert_int_equal(s.sizes.v[2], 4096);
	assert_int_equal(s.port, 2);
	assert_true(s.sorted && !s.unsorted);
	json_decref(ours);
	json_decref(theirs);
	json_decref(plan);
}

static void test_differences(void **state)
{
	static const struct {
		const char *client[8], *server[8], *why; /* NULL: they agree */
	} rows[] = {
		{ { "h" }, { NULL }, NULL },
		{ { "h", "-s", "64" }, { "-s", "64" }, NULL },
		{ { "h" }, { "-s", "8", "-n", "1000" }, NULL },
		{ { "h", "-D", "1" }, { "-D", "1000ms" }, NULL },
		{ { "h", "-a" }, { "-a" }, NULL },
		{ { "h", "-s", "64" }, { "-s", "4096" }, "size: client 64, server 4096" },
		{ { "h" }, { "-s", "4k" }, "size: client 8, server 4096" },
		{ { "h", "-s", "64", "-t", "2" }, { "-s", "1,2", "-t", "1" },
		  "size: client 64, server 1,2; tx-depth: client 2, server 1" },
		{ { "h", "-a" }, { "-s", "8" },
		  "size: client 1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,"
		  "131072,262144,524288,1048576,2097152,4194304,8388608, server 8" },
		{ { "h", "-s", "1,2" }, { "-a" },
		  "size: client 1,2, server 1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,"
		  "32768,65536,131072,262144,524288,1048576,2097152,4194304,8388608" },
		{ { "h", "--reap", "late" }, { "--reap", "now" }, "reap: client late, server now" },
		{ { "h" }, { "--detail" }, "detail: client false, server true" },
		{ { "h" }, { "-m", "1024" }, "mtu: client none, server 1024" },
		{ { "h", "-m", "256" }, { "-m", "1024" }, "mtu: client 256, server 1024" },
		{ { "h", "-n", "5" }, { "-D", "2s" }, "duration: client none, server 2.0" },
		{ { "h", "-D", "2s" }, { "-n", "5" },
		  "iters: client 1000, server 5; duration: client 2.0, server none" },
		{ { "h", "-D", "2s" }, { "-n", "1000" }, "duration: client 2.0, server none" },
		{ { "h", "--load", "1000Mb/s" }, { "--load", "1Gb/s" }, NULL },
		{ { "h", "--load", "1Gb/s" }, { "--load", "1Gb/s,tc=104" },
		  "load: client 1000000000b/s, server 1000000000b/s,tc=104" },
		{ { "h" }, { "--flow-label", "0x10+" }, "flow-label: client 0, server 16+" },
		/* local to an end */
		{ { "h", "-x", "1", "-p", "1" }, { "-x", "2", "-p", "2", "-d", "other" }, NULL },
	};
	char why[1024];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int rc = apply(rows[i].server, plan_of(rows[i].client), why);

		if (rc != (rows[i].why ? -EEXIST : 0) ||
		    strcmp(why, rows[i].why ? rows[i].why : ""))
			fail_msg("row %zu: %d, \"%s\"", i, rc, why);
	}
}

/* A small buffer cuts the list and does not run over. */
static void test_long_list(void **state)
{
	json_t *plan = plan_of(WORDS("host", "-s", "9", "-n", "9", "-t", "9", "--warmup", "9"));
	char why[64];
	struct settings s;

	(void)state;
	parse(WORDS("-s", "8", "-n", "8", "-t", "8", "--warmup", "8"), &s);
	memset(why, '!', sizeof(why));
	assert_int_equal(plan_apply(&lat, plan, &s, why, 40), -EEXIST);
	assert_int_equal(strlen(why), 39);
	assert_int_equal(why[40], '!');
	json_decref(plan);
}

/* Another implementation may write a whole number of seconds as an integer. */
static void test_time_as_integer(void **state)
{
	json_t *plan = plan_of(WORDS("host", "-D", "2s"));
	char why[1024];

	(void)state;
	json_object_set_new(plan, "duration", json_integer(2));
	assert_int_equal(apply(WORDS("-D", "2s"), plan, why), 0);
}

static void test_missing(void **state)
{
	char why[1024];

	(void)state;
	for (const struct option_record *o = option_table; o->name; o++) {
		json_t *plan = plan_of(WORDS("host"));

		if (!json_object_get(plan, o->name)) {
			json_decref(plan);
			continue;
		}
		json_object_del(plan, o->name);
		assert_int_equal(apply(WORDS(NULL), plan, why), -EINVAL);
		assert_string_equal(why, o->name);
	}
}

static void test_unknown(void **state)
{
	json_t *plan = plan_of(WORDS("host"));
	char why[1024];

	(void)state;
	json_object_set_new(plan, "from-tomorrow", json_true());
	assert_int_equal(apply(WORDS(NULL), plan, why), -EINVAL);
	assert_string_equal(why, "an option this release does not know");
	/* A local option has no place in a plan: the client must not choose our files. */
	plan = plan_of(WORDS("host"));
	json_object_set_new(plan, "json", json_string("/tmp/x"));
	assert_int_equal(apply(WORDS(NULL), plan, why), -EINVAL);
	assert_int_equal(apply(WORDS(NULL), NULL, why), -EINVAL);
	assert_int_equal(apply(WORDS(NULL), json_array(), why), -EINVAL);
	assert_int_equal(apply(WORDS(NULL), json_object(), why), -EINVAL);
}

static void test_out_of_range(void **state)
{
	static const struct {
		const char *name, *json;
	} rows[] = {
		{ "size", "[0]" }, { "size", "[]" }, { "size", "[2147483649]" }, { "iters", "0" },
		{ "warmup", "10000001" }, { "sl", "16" }, { "sl", "-1" }, { "reap", "\"never\"" },
		{ "mtu", "300" }, { "mtu", "4095" }, { "duration", "1e30" }, { "qps", "16385" },
		{ "detail", "1" }, { "flow-label", "1048576" }, { "flow-label", "\"1048576\"" },
		{ "flow-label", "null" }, { "load", "\"10Gb/s,sl=16\"" }, { "transport", "\"XRC\"" }, { "hop-limit", "0" },
	};
	char why[1024];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *plan = plan_of(WORDS("host"));

		json_object_set_new(plan, rows[i].name,
				    json_loads(rows[i].json, JSON_DECODE_ANY, NULL));
		if (apply(WORDS(NULL), plan, why) != -EINVAL || strcmp(why, rows[i].name))
			fail_msg("%s %s: \"%s\"", rows[i].name, rows[i].json, why);
	}
}

static void test_validate(void **state)
{
	static const struct {
		const char *words[8], *why;
	} rows[] = {
		{ { "-s", "8" }, NULL },
		{ { "-a" }, NULL },
		{ { "-n", "5" }, NULL },
		{ { "-D", "1s" }, NULL },
		{ { "-m", "4096" }, NULL },
		{ { "--detail", "-n", "100000000" }, NULL },
		{ { "-n", "200000000" }, NULL },
		{ { "-s", "8", "-a" }, "--size and --all" },
		{ { "-a", "-s", "8" }, "--size and --all" },
		{ { "-n", "5", "-D", "1s" }, "--iters and --duration" },
		{ { "-D", "1s", "-n", "1000" }, "--iters and --duration" },
		{ { "-m", "1000" }, "--mtu 1000 is no path MTU" },
		{ { "--detail", "-n", "100000001" }, "--detail" },
		{ { "-U", "-n", "100000000" }, NULL },
		{ { "-U", "-n", "100000001" }, "-U, -H and --dump keep every sample" },
		{ { "-H", "-n", "100000001" }, "-U, -H and --dump keep every sample" },
		{ { "--dump", "f", "-n", "100000001" }, "-U, -H and --dump keep every sample" },
		{ { "-U", "-D", "1h" }, NULL },
	};
	struct settings s;
	char why[256];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		parse(rows[i].words, &s);
		if (plan_validate(&s, why, sizeof(why)) != (rows[i].why ? -EINVAL : 0))
			fail_msg("row %zu: \"%s\"", i, why);
		assert_contains(why, rows[i].why ? rows[i].why : "");
	}
}

static void test_kept_laps(void **state)
{
	static const struct {
		const char *words[8];
		bool dumps;
		uint64_t laps;
	} rows[] = {
		{ { "-n", "1000" }, false, 1000 },
		{ { "-n", "100000000" }, false, 100000000 },
		{ { "-n", "100000001" }, false, 0 },
		{ { "-n", "100000001" }, true, 100000000 },
		{ { "-D", "1s" }, false, 0 },
		{ { "-D", "1s" }, true, 10000001 },
		{ { "-D", "1s", "--detail" }, false, 10000001 },
		{ { "-D", "720h" }, true, 100000000 },
		{ { "-D", "720h" }, false, 0 },
	};
	struct settings s;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		parse(rows[i].words, &s);
		assert_int_equal(plan_kept_laps(&s, rows[i].dumps), rows[i].laps);
	}
}

/* Stamps, a sorted copy, scratch space, four more with --detail; two areas of the largest size. */
static void test_memory(void **state)
{
	static const struct {
		const char *words[8];
		bool dumps;
		uint64_t arrays, laps, area;
	} rows[] = {
		{ { "-n", "1000", "--warmup", "0" }, false, 3, 1002, 8 },
		{ { "-n", "1000" }, true, 3, 1102, 8 },
		{ { "-n", "1000", "--detail" }, true, 7, 1102, 8 },
		{ { "-n", "1000", "-s", "1,1M,64" }, false, 3, 1102, 1 << 20 },
		{ { "-n", "1000", "-s", "1,1M,64" }, true, 6, 1102, 1 << 20 },
		{ { "-n", "1000", "-s", "1,64", "--detail" }, true, 13, 1102, 64 },
		{ { "-D", "720h" }, false, 3, 102, 8 },
		{ { "-n", "100000000", "-s", "2G" }, true, 3, 100000102, 1ull << 31 },
	};
	struct settings s;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t is;

		parse(rows[i].words, &s);
		is = plan_memory(&s, rows[i].dumps);
		if (is != rows[i].arrays * rows[i].laps * 8 + 2 * (rows[i].area + 4096))
			fail_msg("row %zu: %llu", i, (unsigned long long)is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_server_takes_all),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_time_as_integer),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_out_of_range),
		cmocka_unit_test(test_validate),
		cmocka_unit_test(test_kept_laps),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
