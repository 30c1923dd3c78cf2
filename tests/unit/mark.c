/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The mark of a WRITE: where it lies for every size, its bytes, and that the last one changes. */
#include "unit.h"

#include "mark.h"

#define SIZE_LAST 4097

static unsigned int width_due(size_t size)
{
	return size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1;
}

/* Bytes of the message's word that the mask covers, as offsets in memory: [from, to). */
static void covered(const struct mark *m, size_t *from, size_t *to)
{
	uint8_t bytes[8];

	memcpy(bytes, &m->mask, 8);
	*from = 8;
	*to = 0;
	for (size_t i = 0; i < 8; i++) {
		assert_true(bytes[i] == 0 || bytes[i] == 0xff);
		if (!bytes[i])
			continue;
		*from = i < *from ? i : *from;
		*to = i + 1;
	}
}

/* The last w bytes of the message, inside one aligned word. */
static void test_place(void **state)
{
	(void)state;
	for (size_t size = 1; size <= SIZE_LAST; size++) {
		struct mark m = mark_of_size(size);
		size_t from, to;

		covered(&m, &from, &to);
		if (m.width != width_due(size) || m.word % 8 || m.word + to != size ||
		    to - from != m.width || __builtin_popcountll(m.mask) != (int)(8 * m.width))
			fail_msg("size %zu: word %zu, bytes %zu to %zu, width %u", size, m.word,
				 from, to, m.width);
	}
}

/* Only bytes of the mark are set, and the mark's bytes are the product's low ones, big-endian. */
static void test_bytes(void **state)
{
	(void)state;
	for (size_t size = 1; size <= SIZE_LAST; size++) {
		struct mark m = mark_of_size(size);
		size_t first = size - m.width - m.word;

		for (uint64_t lap = 1; lap < 1ull << 60; lap = lap * 5 + 3) {
			uint64_t word = mark_word(&m, lap), product = lap * MARK_FACTOR;
			uint8_t bytes[8];

			memcpy(bytes, &word, 8);
			for (size_t i = 0; i < 8; i++) {
				bool inside = i >= first && i < first + m.width;
				unsigned int shift = 8 * (unsigned int)(first + m.width - 1 - i);

				if (bytes[i] != (inside ? (uint8_t)(product >> shift) : 0))
					fail_msg("size %zu, lap %llu, byte %zu", size,
						 (unsigned long long)lap, i);
			}
		}
	}
}

static void test_golden(void **state)
{
	static const struct {
		size_t size;
		uint64_t lap;
		size_t word;
		uint8_t bytes[8];
	} rows[] = {
		{ 8, 1, 0, { 0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15 } },
		{ 8, 2, 0, { 0x3c, 0x6e, 0xf3, 0x72, 0xfe, 0x94, 0xf8, 0x2a } },
		{ 4096, 1, 4088, { 0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15 } },
		{ 4, 1, 0, { 0x7f, 0x4a, 0x7c, 0x15, 0, 0, 0, 0 } },
		{ 12, 1, 8, { 0x7f, 0x4a, 0x7c, 0x15, 0, 0, 0, 0 } },
		{ 2, 1, 0, { 0x7c, 0x15, 0, 0, 0, 0, 0, 0 } },
		{ 6, 1, 0, { 0, 0, 0, 0, 0x7c, 0x15, 0, 0 } },
		{ 14, 3, 8, { 0, 0, 0, 0, 0x74, 0x3f, 0, 0 } },
		{ 1, 1, 0, { 0x15, 0, 0, 0, 0, 0, 0, 0 } },
		{ 7, 2, 0, { 0, 0, 0, 0, 0, 0, 0x2a, 0 } },
		{ 4097, 1, 4096, { 0x15, 0, 0, 0, 0, 0, 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct mark m = mark_of_size(rows[i].size);
		uint64_t word = mark_word(&m, rows[i].lap);

		assert_int_equal(m.word, rows[i].word);
		assert_memory_equal(&word, rows[i].bytes, 8);
	}
}

/* A reader that sees all but the last byte of a mark must not take it for the next. */
static void test_last_byte_changes(void **state)
{
	(void)state;
	for (size_t size = 1; size <= SIZE_LAST; size++) {
		struct mark m = mark_of_size(size);
		size_t last = size - 1 - m.word;

		for (uint64_t lap = 1; lap < 1000; lap++) {
			uint64_t a = mark_word(&m, lap), b = mark_word(&m, lap + 1);

			if (((uint8_t *)&a)[last] == ((uint8_t *)&b)[last])
				fail_msg("size %zu, lap %llu", size, (unsigned long long)lap);
		}
	}
}

/* A size's first mark differs from the cleared buffer; both ends skip the same number. */
static void test_first(void **state)
{
	(void)state;
	for (size_t size = 1; size <= SIZE_LAST; size++) {
		struct mark m = mark_of_size(size);
		unsigned int skipped = 0;

		for (uint64_t n = 1; n <= 70000; n += size > 16 ? 251 : 1) {
			uint64_t first = mark_first(&m, n);

			assert_true(first == n || first == n + 1);
			assert_true(mark_word(&m, first) != 0);
			skipped += first != n;
		}
		if (size <= 16)
			assert_int_equal(skipped, m.width == 1 ? 70000 / 256 :
						  m.width == 2 ? 70000 / 65536 : 0);
	}
}

/* How far two marks are apart, for each width, over the end of its numbers. */
static void test_ahead(void **state)
{
	static const size_t sizes[] = { 1, 2, 4, 8, 24, 27, 4096 };
	static const uint64_t laps[] = { 0, 1, 255, 256, 65535, 0xffffffff, UINT64_MAX - 3 };

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++)
		for (size_t k = 0; k < COUNT(laps); k++)
			for (int64_t ahead = -128; ahead < 128; ahead++) {
				struct mark m = mark_of_size(sizes[i]);
				uint64_t word = mark_word(&m, laps[k] + (uint64_t)ahead) | ~m.mask;

				assert_int_equal(mark_ahead(&m, word, laps[k]), ahead);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_place), cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_golden), cmocka_unit_test(test_last_byte_changes),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_ahead),
	};

	return cmocka_run_group_tests_name("mark", tests, NULL, NULL);
}
