/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Dump files: what is written comes back; a damaged one is refused in one line; none is half. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "dumps.h"

#define LAPS 5

static const uint64_t client_post[LAPS + 1] = {
	1000, 3000, 5100, 7200 | DUMP_LOST, UINT64_MAX / 2 - 1, UINT64_MAX / 2
};
static const uint64_t client_seen[LAPS] = { 2900, 5000, 7100, 7300, 7400 };
static const uint64_t client_gap[LAPS] = { 30, 31, 32, 33, 34 };
static const uint64_t server_post[LAPS] = { 7, 8, 9, 10, 11 };
static const uint64_t server_cpu[LAPS] = { 3, 3, 3 | DUMP_CPU_LOST, 4, 4 };

static void two_series(struct dump_series s[2])
{
	s[0] = (struct dump_series){ .role = DUMP_CLIENT,
				     .kind = LATENCY_HALF_RTT,
				     .size = 8,
				     .run = 1,
				     .laps = LAPS,
				     .warmup = 2,
				     .ends_seen = true,
				     .count = { LAPS + 1, LAPS, LAPS },
				     .v = { client_post, client_seen, client_gap } };
	s[1] = (struct dump_series){ .role = DUMP_SERVER,
				     .kind = LATENCY_FULL_RTT,
				     .size = 4096,
				     .run = 2,
				     .laps = LAPS,
				     .warmup = 0,
				     .count = { [DUMP_POST] = LAPS, [DUMP_CPU] = LAPS },
				     .v = { [DUMP_POST] = server_post, [DUMP_CPU] = server_cpu } };
}

/* The dump of two series as bytes; malloc'ed. */
static char *dump_bytes(size_t *n)
{
	struct dump_series s[2];
	char dir[32], path[64], *bytes;
	json_t *facts = dump_facts();
	struct error err;
	FILE *f;

	two_series(s);
	dir_open(dir);
	snprintf(path, sizeof(path), "%s/x.dump", dir);
	error_init(&err, "x");
	assert_int_equal(dump_write(path, facts, s, 2, &err), 0);
	assert_int_equal(dir_files(dir), 1);
	json_decref(facts);
	f = fopen(path, "r");
	fseek(f, 0, SEEK_END);
	*n = (size_t)ftell(f);
	bytes = file_text(f);
	dir_close(dir);
	return bytes;
}

static void column_check(const struct dump *d, unsigned int series, enum dump_column c,
			 const uint64_t *want)
{
	const struct dump_series *s = &d->series[series];
	uint64_t got[LAPS + 1];
	struct error err;

	error_init(&err, "x");
	assert_int_equal(dump_read(d, s, c, 0, (size_t)s->count[c], got, &err), 0);
	assert_memory_equal(got, want, s->count[c] * sizeof(*got));
	assert_int_equal(dump_read(d, s, c, 1, 2, got, &err), 0);
	assert_memory_equal(got, want + 1, 2 * sizeof(*got));
	assert_int_equal(dump_read(d, s, c, s->count[c] - 1, 2, got, &err), -1);
	error_init(&err, "x");
	assert_int_equal(dump_read(d, s, c, UINT64_MAX, 2, got, &err), -1);
}

static void test_round_trip(void **state)
{
	size_t n;
	char *bytes = dump_bytes(&n);
	int fd = file_with(bytes, n);
	struct error err;
	struct dump d;

	(void)state;
	error_init(&err, "x");
	assert_true(dump_recognise(bytes, n));
	assert_false(dump_recognise(bytes, 5));
	assert_int_equal(dump_open(&d, fd, "x.dump", &err), 0);
	assert_int_equal(d.count, 2);
	assert_int_equal(d.series[0].role, DUMP_CLIENT);
	assert_int_equal(d.series[0].kind, LATENCY_HALF_RTT);
	assert_int_equal(d.series[0].laps, LAPS);
	assert_int_equal(d.series[0].warmup, 2);
	assert_int_equal(d.series[0].lost, 1);
	assert_true(d.series[0].ends_seen && !d.series[1].ends_seen);
	assert_int_equal(d.series[0].count[DUMP_CPU], 0);
	assert_int_equal(d.series[1].role, DUMP_SERVER);
	assert_int_equal(d.series[1].kind, LATENCY_FULL_RTT);
	assert_int_equal(d.series[1].size, 4096);
	assert_int_equal(d.series[1].run, 2);
	column_check(&d, 0, DUMP_POST, client_post);
	column_check(&d, 0, DUMP_SEEN, client_seen);
	column_check(&d, 0, DUMP_GAP, client_gap);
	column_check(&d, 1, DUMP_POST, server_post);
	column_check(&d, 1, DUMP_CPU, server_cpu);
	assert_true(dump_hz(&d, DUMP_CLIENT) == 2.5e9 && dump_hz(&d, DUMP_SERVER) == 3e9);
	assert_string_equal(json_string_value(json_object_get(d.header, "time")),
			    "2026-01-31T12:00:00Z");
	dump_close(&d);
	dump_close(&d);
	close(fd);
	free(bytes);
}

/* The layout that doc/dump.md fixes, from the bytes. */
static void test_layout(void **state)
{
	size_t n, header;
	char *bytes = dump_bytes(&n);
	uint64_t sum = DUMP_SEED, word;

	(void)state;
	assert_int_equal(sscanf(bytes, "verbsperf dump 1 header %zu\n{", &header), 1);
	assert_int_equal(header % 8, 0);
	assert_int_equal(bytes[header - 1], '\n');
	assert_int_equal(n, header + 8 * (LAPS + 1 + 4 * LAPS) + 8);
	assert_int_equal((unsigned char)bytes[header], 1000 & 0xff); /* little-endian */
	assert_int_equal((unsigned char)bytes[header + 1], 1000 >> 8);
	for (size_t i = 0; i < n - 8; i += 8) {
		word = 0;
		for (int b = 7; b >= 0; b--)
			word = word << 8 | (unsigned char)bytes[i + (size_t)b];
		sum ^= word;
		sum = (sum << 29 | sum >> 35) * 0x9e3779b97f4a7c15ull;
	}
	for (int b = 0; b < 8; b++)
		assert_int_equal((unsigned char)bytes[n - 8 + (size_t)b], sum >> 8 * b & 0xff);
	free(bytes);
}

static void refuse(const char *bytes, size_t n, const char *part)
{
	int fd = file_with(bytes, n);
	struct error err;
	struct dump d;

	error_init(&err, "x");
	if (!dump_open(&d, fd, "x.dump", &err))
		fail_msg("%zu bytes are taken; wanted a refusal with \"%s\"", n, part);
	assert_error(&err, EXIT_MISUSE, part);
	assert_error(&err, EXIT_MISUSE, "x.dump: ");
	assert_int_equal(count_lines(err.text), 0);
	dump_close(&d);
	close(fd);
}

static void test_cut_short(void **state)
{
	size_t n;
	char *bytes = dump_bytes(&n);

	(void)state;
	for (size_t len = 0; len < n; len++)
		refuse(bytes, len, "");
	refuse(bytes, n - 8, "8 bytes of data are missing");
	refuse(bytes, n - 100, "100 bytes of data are missing");
	refuse(bytes, 200, "header");
	bytes = realloc(bytes, 2 * n);
	memcpy(bytes + n, bytes, n);
	refuse(bytes, 2 * n, "two files in one?");
	free(bytes);
}

static void test_flipped_bits(void **state)
{
	size_t n;
	char *bytes = dump_bytes(&n);

	(void)state;
	for (size_t bit = 0; bit < 8 * n; bit++) {
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		refuse(bytes, n, "");
		bytes[bit / 8] ^= (char)(1 << bit % 8);
	}
	/* Two words that change in their highest bits. */
	bytes[n - 17] ^= (char)0x80;
	bytes[n - 25] ^= (char)0x80;
	refuse(bytes, n, "checksum");
	free(bytes);
}

/* The bytes with one text for another of the same length. */
static void refuse_instead(const char *from, const char *to, const char *part)
{
	size_t n;
	char *bytes = dump_bytes(&n), *at = memmem(bytes, n, from, strlen(from));

	assert_non_null(at);
	assert_int_equal(strlen(from), strlen(to));
	memcpy(at, to, strlen(to));
	refuse(bytes, n, part);
	free(bytes);
}

static void test_hostile_headers(void **state)
{
	(void)state;
	refuse_instead("dump 1 ", "dump 2 ", "version 2; this lat_stats reads version 1");
	refuse_instead("\"little\"", "\"big\"   ", "big-endian");
	refuse_instead("\"little\"", "\"middle\"", "byte_order little");
	refuse_instead("\"halved\": false", "\"halved\": true ", "halved false");
	refuse_instead("\"laps\": 5,", "\"laps\":-5,", "series 1 of the header");
	refuse_instead("\"warmup\": 2", "\"warmup\": 6", "series 1 of the header");
	refuse_instead("\"lost\": 1", "\"lost\": 9", "series 1 of the header");
	refuse_instead("\"sample_ends\": \"seen\"", "\"sample_ends\": \"soon\"",
		       "series 1 of the header");
	refuse_instead("\"seen\": 5", "\"seen\": 4", "series 1 of the header");
	refuse_instead("\"post\": 6", "\"post\":60", "series 1 of the header");
	refuse_instead("\"seen\": 5", "\"sean\": 5", "series 1 of the header");
	refuse_instead("\"seen\": 5", "\"seen\":.5", "no JSON object");
	refuse_instead("\"role\": \"server\"", "\"role\": \"sarver\"", "series 2 of the header");
	refuse_instead("2500000000.0", "NaN         ", "no JSON object");
	refuse_instead("dump 1 header ", "dump 1 hooder ", "first line");
}

/* Only as many bytes as the first line says are ever taken for the header. */
static void test_first_lines(void **state)
{
	static const char *const lines[] = {
		"header 63\n",	 "header 65\n",	      "header 0\n",
		"header -8\n",	 "header 16777224\n", "header 99999999999999999999999\n",
		"header 0x40\n", "header 64"
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		memset(text, '0', sizeof(text));
		memcpy(text, DUMP_MAGIC "1 ", sizeof(DUMP_MAGIC) + 1);
		memcpy(text + sizeof(DUMP_MAGIC) + 1, lines[i], strlen(lines[i]));
		refuse(text, sizeof(text), "first line");
	}
	refuse("", 0, "no dump");
}

/* Counts that overflow, or that no file can hold. */
static void test_huge_counts(void **state)
{
	static const char *const laps[] = { "9223372036854775807", "9223372036854775806",
					    "2305843009213693952", "1152921504606846976",
					    "100000000000",	   "18446744073709551616" };
	char text[1024];

	(void)state;
	for (size_t i = 0; i < COUNT(laps); i++) {
		int n = snprintf(
			text, sizeof(text),
			"verbsperf dump 1 header 1016\n{\"unit\":\"counter\",\"halved\":false,"
			"\"bits\":64,\"byte_order\":\"little\",\"series\":[{\"role\":"
			"\"client\",\"size\":1,\"run\":1,\"laps\":%s,\"warmup\":0,"
			"\"lost\":0,\"sample_ends\":\"post\","
			"\"latency_kind\":\"half_rtt\",\"columns\":{\"post\":%s,"
			"\"seen\":%s}}]}",
			laps[i], laps[i], laps[i]);

		memset(text + n, ' ', sizeof(text) - (size_t)n);
		refuse(text, sizeof(text),
		       i == 4	? "1600000000000 bytes of data are missing"
		       : i == 5 ? "no JSON object"
				: "series 1 of the header");
	}
}

static void test_no_clock(void **state)
{
	struct dump d = { .header = json_pack("{s:{s:{s:n}}}", "client", "clock", "hz") };

	(void)state;
	assert_true(isnan(dump_hz(&d, DUMP_CLIENT)) && isnan(dump_hz(&d, DUMP_SERVER)));
	dump_close(&d);
}

static void test_line_ends_converted(void **state)
{
	static const char text[] = "verbsperf dump 1 header 1016\r\n{}\r\n";

	(void)state;
	refuse(text, sizeof(text) - 1, "CRLF");
}

/* A file that may not grow stands for a full disk: what was there before stays, alone. */
static void test_full_disk(void **state)
{
	struct rlimit was, few = { 4096, 0 };
	struct dump_series s[2];
	char dir[32], path[64];
	json_t *facts = dump_facts();
	uint64_t *v = calloc(100000, sizeof(*v));
	struct error err;
	struct stat st;

	(void)state;
	two_series(s);
	dir_open(dir);
	snprintf(path, sizeof(path), "%s/x.dump", dir);
	error_init(&err, "x");
	assert_int_equal(dump_write(path, facts, s, 2, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	s[0] = (struct dump_series){ .laps = 100000, .count = { 100000 }, .v = { v } };
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	few.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_FSIZE, &few);
	assert_int_equal(dump_write(path, facts, s, 1, &err), -1);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_error(&err, EXIT_FAILED, "File too large");
	assert_error(&err, EXIT_FAILED, path);
	assert_int_equal(dir_files(dir), 1);
	{
		off_t before = st.st_size;

		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, before);
	}
	error_init(&err, "x");
	assert_int_equal(dump_write("/dev/full", facts, s, 1, &err), -1);
	assert_error(&err, EXIT_FAILED, "No space left on device");
	json_decref(facts);
	free(v);
	dir_close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),	    cmocka_unit_test(test_layout),
		cmocka_unit_test(test_cut_short),	    cmocka_unit_test(test_flipped_bits),
		cmocka_unit_test(test_hostile_headers),	    cmocka_unit_test(test_first_lines),
		cmocka_unit_test(test_huge_counts),	    cmocka_unit_test(test_no_clock),
		cmocka_unit_test(test_line_ends_converted), cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
