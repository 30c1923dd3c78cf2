/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames: the header byte by byte, lengths up to 4 GiB, texts that are no JSON object. */
#include "unit.h"

#include <errno.h>

#include "frame.h"

static const uint8_t header[FRAME_HEADER] = { 'V', 'P', 'F', '1', 0x00, 0x00, 0x01, 0x02 };

/* Until the header is whole, more is needed; then the length is big-endian. */
static void test_partial(void **state)
{
	(void)state;
	for (size_t len = 0; len < FRAME_HEADER; len++)
		assert_int_equal(frame_text_length(header, len, FRAME_STRANGER_MAX), -EAGAIN);
	assert_int_equal(frame_text_length(header, FRAME_HEADER, FRAME_STRANGER_MAX), 258);
	assert_int_equal(frame_text_length(header, FRAME_HEADER + 1, FRAME_STRANGER_MAX), 258);
}

/* A stranger is known by the first byte that differs, whatever follows. */
static void test_magic(void **state)
{
	(void)state;
	for (size_t at = 0; at < 4; at++)
		for (int bit = 0; bit < 8; bit++) {
			uint8_t bad[FRAME_HEADER];

			memcpy(bad, header, sizeof(bad));
			bad[at] ^= (uint8_t)(1 << bit);
			for (size_t len = 0; len <= FRAME_HEADER; len++)
				assert_int_equal(frame_text_length(bad, len, FRAME_STRANGER_MAX),
						 len > at ? -EPROTO : -EAGAIN);
		}
}

static void test_lengths(void **state)
{
	static const struct {
		uint8_t length[4];
		uint32_t max;
		int64_t want;
	} rows[] = {
		{ { 0, 0, 0, 0 }, FRAME_STRANGER_MAX, 0 },
		{ { 0, 0, 0, 1 }, FRAME_STRANGER_MAX, 1 },
		{ { 0, 0, 1, 0 }, FRAME_STRANGER_MAX, 256 },
		{ { 0, 1, 0, 0 }, FRAME_STRANGER_MAX, 65536 },
		{ { 0, 1, 0, 1 }, FRAME_STRANGER_MAX, -EMSGSIZE },
		{ { 1, 0, 0, 0 }, FRAME_STRANGER_MAX, -EMSGSIZE },
		{ { 1, 0, 0, 0 }, FRAME_PEER_MAX, 1 << 24 },
		{ { 4, 0, 0, 0 }, FRAME_PEER_MAX, 64 << 20 },
		{ { 4, 0, 0, 1 }, FRAME_PEER_MAX, -EMSGSIZE },
		{ { 0x7f, 0xff, 0xff, 0xff }, FRAME_PEER_MAX, -EMSGSIZE },
		{ { 0x80, 0, 0, 0 }, FRAME_PEER_MAX, -EMSGSIZE },
		{ { 0xff, 0xff, 0xff, 0xff }, FRAME_PEER_MAX, -EMSGSIZE },
		{ { 0xff, 0xff, 0xff, 0xff }, FRAME_STRANGER_MAX, -EMSGSIZE },
		/* No sign, no overflow in 32 bits: 4 GiB less one is a length like any other. */
		{ { 0xff, 0xff, 0xff, 0xff }, UINT32_MAX, UINT32_MAX },
		{ { 0x80, 0, 0, 0 }, UINT32_MAX, 0x80000000ll },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint8_t h[FRAME_HEADER];
		int64_t is;

		memcpy(h, header, 4);
		memcpy(h + 4, rows[i].length, 4);
		is = frame_text_length(h, sizeof(h), rows[i].max);
		if (is != rows[i].want)
			fail_msg("row %zu: %lld", i, (long long)is);
	}
}

/* Only a whole, valid object; nothing is read behind its end. */
static void test_parse(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		bool fine;
	} rows[] = {
		{ "{}", 2, true },
		{ "{}junk", 2, true },
		{ "{\"type\":\"go\"}", 13, true },
		{ " {\"a\":[1,{}]}\n", 14, true },
		{ "", 0, false },
		{ "{", 1, false },
		{ "{}{", 3, false },
		{ "{}\0", 3, false },
		{ "[]", 2, false },
		{ "null", 4, false },
		{ "1", 1, false },
		{ "\"x\"", 3, false },
		{ "{\"a\":1,}", 8, false },
		{ "{'a':1}", 7, false },
		{ "{\"a\":1,\"a\":2}", 13, false },
		{ "{\"a\":\"\xff\"}", 9, false },
		{ "{\"a\":\"\\u0000\"}", 14, false },
		{ "{\"a\":1e999}", 11, false },
		{ "{\"a\":99999999999999999999}", 26, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		/* In memory of exactly that size, so that a sanitizer sees a byte too many. */
		uint8_t *exact = malloc(rows[i].len ? rows[i].len : 1);
		json_t *v;

		memcpy(exact, rows[i].text, rows[i].len);
		v = frame_parse(exact, rows[i].len);
		if (!!v != rows[i].fine)
			fail_msg("row %zu: %s", i, rows[i].text);
		json_decref(v);
		free(exact);
	}
}

/* Brackets without end must not exhaust the stack. */
static void test_deep(void **state)
{
	size_t len = 60000;
	uint8_t *text = malloc(len);

	(void)state;
	memset(text, '[', len);
	memcpy(text, "{\"a\":", 5);
	assert_null(frame_parse(text, len));
	free(text);
}

static void test_build(void **state)
{
	static const uint8_t want[] = { 'V', 'P', 'F', '1', 0, 0, 0, 13, '{', '"', 't', 'y', 'p',
					'e', '"', ':', '"', 'g', 'o', '"', '}' };
	json_t *v = json_pack("{s:s}", "type", "go");
	size_t len = 0;
	uint8_t *frame = frame_build(v, &len);

	(void)state;
	assert_int_equal(len, sizeof(want));
	assert_memory_equal(frame, want, sizeof(want));
	free(frame);
	json_decref(v);
}

/* What is built is read back, and its length is big-endian in all four bytes. */
static void test_round_trip(void **state)
{
	static const size_t sizes[] = { 0, 1, 200, 255, 256, 65535, 65536, 1 << 24 };

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		char *fill = malloc(sizes[i] + 1);
		size_t len, text = sizes[i] + strlen("{\"a\":\"\"}");
		json_t *v, *back;
		uint8_t *frame;

		memset(fill, 'x', sizes[i]);
		fill[sizes[i]] = '\0';
		v = json_pack("{s:s}", "a", fill);
		frame = frame_build(v, &len);
		assert_int_equal(len, FRAME_HEADER + text);
		for (int b = 0; b < 4; b++)
			assert_int_equal(frame[4 + b], (uint8_t)(text >> (24 - 8 * b)));
		assert_int_equal(frame_text_length(frame, len, FRAME_PEER_MAX), text);
		back = frame_parse(frame + FRAME_HEADER, text);
		assert_true(json_equal(v, back));
		json_decref(v);
		json_decref(back);
		free(frame);
		free(fill);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_partial),
		cmocka_unit_test(test_magic),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_build),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
