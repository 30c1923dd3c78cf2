/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Buffers: whole pages, cleared; what cannot be had; free memory out of /proc/meminfo. */
#include "unit.h"

#include <errno.h>

#include "memory.h"
#include "tree.h"

static void test_page_align(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	assert_int_equal(page_align(0), 0);
	assert_int_equal(page_align(1), page);
	assert_int_equal(page_align(page - 1), page);
	assert_int_equal(page_align(page), page);
	assert_int_equal(page_align(page + 1), 2 * page);
	assert_true(page_align(SIZE_MAX / 4 + 1) == SIZE_MAX / 4 + 1);
}

static void test_pages(void **state)
{
	static const size_t sizes[] = { 1, 4095, 4096, 4097, 3 << 20 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct error err;
	struct buffer b;

	(void)state;
	error_init(&err, "x");
	for (size_t i = 0; i < COUNT(sizes); i++) {
		assert_int_equal(buffer_open(&b, &memory_pages, sizes[i], &err), 0);
		assert_int_equal((uintptr_t)b.addr % page, 0);
		assert_true(b.bytes >= sizes[i] && b.bytes % page == 0);
		for (size_t k = 0; k < b.bytes; k++)
			if (((char *)b.addr)[k])
				fail_msg("byte %zu is not 0", k);
		memset(b.addr, 0xff, b.bytes);
		buffer_close(&b);
		assert_null(b.addr);
		buffer_close(&b);
	}
}

/* More than any address space; the buffer is closed then. */
static void test_too_much(void **state)
{
	char want[64];
	struct error err;
	struct buffer b;

	(void)state;
	error_init(&err, "x");
	assert_int_equal(buffer_open(&b, &memory_pages, SIZE_MAX - 0xfffff, &err), -1);
	snprintf(want, sizeof(want), "buffer of %zu bytes: ", SIZE_MAX - 0xfffff);
	assert_error(&err, EXIT_FAILED, want);
	assert_true(err.err != 0);
	assert_null(b.addr);
	buffer_close(&b);
}

/* Where none are reserved the message says how many to reserve. */
static void test_hugepages(void **state)
{
	size_t pages = (SIZE_MAX / 4 + 1) / (2 << 20) + 1;
	char want[160];
	struct error err;
	struct buffer b;

	(void)state;
	error_init(&err, "x");
	if (!buffer_open(&b, &memory_hugepages, 100, &err)) {
		assert_int_equal(b.bytes, 2 << 20);
		buffer_close(&b);
	}
	error_init(&err, "x");
	assert_int_equal(buffer_open(&b, &memory_hugepages, SIZE_MAX / 4 + 2, &err), -1);
	snprintf(want, sizeof(want), "buffer of %zu huge pages of 2 MiB; reserve them with sysctl "
		 "vm.nr_hugepages=%zu: ", pages, pages);
	assert_error(&err, EXIT_FAILED, want);
	assert_null(b.addr);
}

static void test_available(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
	} rows[] = {
		{ "MemTotal:  9 kB\nMemFree:   8 kB\nMemAvailable:    1048576 kB\nBuffers: 1 kB\n",
		  (size_t)1 << 30 },
		{ "MemTotal:  9 kB\nMemFree:   8 kB\n", 0 },
		{ "MemAvailable:\n", 0 },
		{ "", 0 },
	};
	char root[TREE_ROOT];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		tree_open(root);
		tree_file(root, "proc/meminfo", rows[i].text);
		assert_int_equal(memory_available(root), rows[i].bytes);
		tree_close(root);
	}
	assert_int_equal(memory_available("/nowhere"), 0);
}

/* The driver asks for the machine's own: it must be there. */
static void test_available_here(void **state)
{
	(void)state;
	if (access("/proc/meminfo", R_OK))
		skip();
	assert_true(memory_available("") > 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_align), cmocka_unit_test(test_pages),
		cmocka_unit_test(test_too_much),   cmocka_unit_test(test_hugepages),
		cmocka_unit_test(test_available),  cmocka_unit_test(test_available_here),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
