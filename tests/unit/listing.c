/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts of -U and -H: rows, units, roles out of what stands around them; what is no number. */
#include <math.h>

#include "listing.h"
#include "unit.h"

static int read_text(struct listing *l, const char *text, struct error *err)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text) + !*text, "r");
	int rc;

	error_init(err, "x");
	rc = listing_read(l, f, "x.txt", err);
	fclose(f);
	return rc;
}

/* One block with these values. */
static void expect(const char *text, bool usec, const uint64_t *v, size_t n, struct listing *l)
{
	struct error err;

	if (read_text(l, text, &err))
		fail_msg("refused: %s", err.text);
	assert_int_equal(l->count, 1);
	assert_int_equal(l->block[0].usec, usec);
	assert_int_equal(l->block[0].n, n);
	assert_memory_equal(l->block[0].v, v, n * sizeof(*v));
}

/* As it stood in reports: a prompt, addresses, no summary, a prompt again. */
static void test_2005(void **state)
{
	static const char plain[] = "[user@host-a ~]$ rdma_lat -cU host-b\n"
				    "  local address:  LID 0x0b, QPN 0x320406, PSN 0xeb1f3e, RKey "
				    "0x1f60032, VAddr 0x600001\n"
				    "  remote address: LID 0x10, QPN 0x1a0406, PSN 0x6d8a50, RKey "
				    "0x1040436, VAddr 0x600001\n"
				    "#, cycles\n"
				    "1, 97779\n2, 52050\n3, 7028\n4, 7318\n5, 7201\n"
				    "[user@host-a ~]$ \n";
	static const char quoted[] =
		"> [user@host-a ~]$ rdma_lat -cU\r\n> #, cycles\r\n> 1, 97779\r\n>2, 52050\r\n"
		"> > 3, 7028\r\n  4, 7318\r\n\t5 ,\t7201 \r\n";
	static const uint64_t want[] = { 97779, 52050, 7028, 7318, 7201 };
	struct listing l;

	(void)state;
	expect(plain, false, want, COUNT(want), &l);
	assert_false(l.ours || l.full || l.block[0].sorted);
	assert_int_equal(l.role, LISTING_UNKNOWN);
	assert_true(isnan(l.hz));
	listing_close(&l);
	expect(quoted, false, want, COUNT(want), &l);
	listing_close(&l);
	listing_close(&l);
}

static void test_ours(void **state)
{
	static const char text[] =
		"  local address:  LID 0x0001, QPN 0x000011, PSN 0xeb1f3e, RKey 0x1, VAddr 0x1\n"
		"#, cycles, post to seen [cycles], longest poll gap [cycles]\n"
		"1, 500, 900, 20\n2, 501, 901, 21\n\n"
		"rdma_lat (server): RDMA WRITE over RC, full round trip, in CPU cycles\n"
		"  local:  host-a, soft0 port 1 (InfiniBand, software device softverbs), CPU 1\n"
		"  clock:  tsc 2095.999 MHz +/- 0.3 ppm, trusted: the CPU says invariant\n"
		"    bytes       laps    samples\n"
		"        8          2          2         15.500\n";
	static const uint64_t want[] = { 500, 501 };
	struct listing l;

	(void)state;
	expect(text, false, want, COUNT(want), &l);
	assert_true(l.ours && l.full && l.block[0].detail);
	assert_int_equal(l.role, LISTING_SERVER);
	assert_true(fabs(l.hz - 2095.999e6) < 1);
	assert_int_equal(l.block[0].wait[1], 901);
	assert_int_equal(l.block[0].gap[0], 20);
	listing_close(&l);
}

static void test_blocks(void **state)
{
	static const char text[] =
		"# size 64\n# unsorted, 3 samples\n#, usec\n1, 3.0000\n2, 1.0000\n3, 2.5000\n"
		"# sorted, 3 samples\n#, usec\n1, 1.0000\n2, 2.5000\n3, 3.0000\n"
		"# size 4096\n# unsorted, 2 samples\n#, usec\n1, 9.0000\n2, 8.5001\n";
	struct listing l;
	struct error err;

	(void)state;
	assert_int_equal(read_text(&l, text, &err), 0);
	assert_int_equal(l.count, 3);
	assert_int_equal(l.block[0].size, 64);
	assert_false(l.block[0].sorted);
	assert_true(l.block[0].usec && l.block[1].sorted);
	assert_int_equal(l.block[1].size, 64);
	assert_int_equal(l.block[1].v[1], 2500000);
	assert_int_equal(l.block[2].size, 4096);
	assert_false(l.block[2].sorted);
	assert_int_equal(l.block[2].v[1], 8500100);
	listing_close(&l);
	/* Two runs in one file, without a word between; rows left out; no header. */
	assert_int_equal(read_text(&l, "1, 5\n2, 6\n7, 7\n1, 8.25\n2, 9", &err), 0);
	assert_int_equal(l.count, 2);
	assert_int_equal(l.block[0].missing, 4);
	assert_false(l.block[0].usec);
	assert_true(l.block[1].usec);
	assert_int_equal(l.block[1].v[1], 9000000);
	listing_close(&l);
}

/* The forms of perftest 6.29: banner, six digits and an exponent, the table behind. */
static void test_perftest(void **state)
{
	static const char text[] =
		"Disabling dynamic polling\n"
		"---------------------------------------------------------------------------------"
		"\n"
		"                    RDMA_Write Latency Test\n"
		" GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:77:00:02\n"
		" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"
		"#, cycles\n"
		"1, 1.59145e+06\n2, 279582\n"
		" 2       500          167359.50        980845.50      223954.50  -nan\n";
	static const char server[] = "* Waiting for client to connect... *\n"
				     " RDMA_Read Latency Test\n#, usec\n1, 1186.81\n2, 95.3431\n";
	static const uint64_t want[] = { 1591450, 279582 }, usec[] = { 1186810000, 95343100 };
	struct listing l;

	(void)state;
	expect(text, false, want, COUNT(want), &l);
	assert_int_equal(l.role, LISTING_CLIENT);
	assert_false(l.full || l.ours);
	listing_close(&l);
	expect(server, true, usec, COUNT(usec), &l);
	assert_int_equal(l.role, LISTING_SERVER);
	assert_true(l.full);
	listing_close(&l);
}

static void test_sorted_without_mark(void **state)
{
	char text[1024] = "#, usec\n";
	struct listing l;
	struct error err;

	(void)state;
	for (int i = 0; i < 25; i++)
		sprintf(text + strlen(text), "%d, %d.5\n", i + 1, 70 + i / 2);
	assert_int_equal(read_text(&l, text, &err), 0);
	assert_true(l.block[0].sorted);
	listing_close(&l);
	strcat(text, "26, 12.5\n");
	assert_int_equal(read_text(&l, text, &err), 0);
	assert_false(l.block[0].sorted);
	listing_close(&l);
}

static void refuse(const char *text, const char *part)
{
	struct listing l;
	struct error err;

	if (!read_text(&l, text, &err))
		fail_msg("taken: %s", text);
	assert_error(&err, EXIT_MISUSE, part);
	assert_error(&err, EXIT_MISUSE, "x.txt: ");
	assert_int_equal(count_lines(err.text), 0);
	listing_close(&l);
}

static void test_refused(void **state)
{
	(void)state;
	refuse("", "no samples in it");
	refuse("hello\n# nothing\n 2 500 167359.50\n", "neither a dump (--dump) nor the text");
	refuse("#, usec\n1, 2.5\n2, nan\n", "line 3: \"2, nan\": no number");
	refuse("#, usec\n1, -nan\n", "line 2");
	refuse("#, usec\n1, inf\n", "line 2");
	refuse("#, usec\n1, -3\n", "line 2");
	refuse("#, usec\n1, 0x10\n", "line 2");
	refuse("#, usec\n1, 12abc\n", "line 2");
	refuse("#, usec\n1,\n", "line 2");
	refuse("#, usec\n1, 1e14\n", "line 2");
	refuse("#, cycles\n1, 1e400\n", "line 2");
	refuse("#, cycles\n1, 9223372036854775808\n", "line 2");
	refuse("#, cycles, post to seen [cycles], longest poll gap [cycles]\n1, 3, 4\n", "line 2");
	refuse("#, usec\n1, \x1b[31m\n", "\"1, ?[31m\"");
}

/* A line without an end, as a binary file has, is no row and does not fill the memory. */
static void test_long_lines(void **state)
{
	size_t n = 100000;
	char *text = malloc(n + 32);
	struct listing l;
	struct error err;

	(void)state;
	memset(text, '1', n);
	strcpy(text + n, ", 5\n1, 7\n");
	assert_int_equal(read_text(&l, text, &err), 0);
	assert_int_equal(l.count, 1);
	assert_int_equal(l.block[0].n, 1);
	assert_int_equal(l.block[0].v[0], 7);
	listing_close(&l);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2005),
		cmocka_unit_test(test_ours),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_perftest),
		cmocka_unit_test(test_sorted_without_mark),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_lines),
	};

	return cmocka_run_group_tests_name("listing", tests, NULL, NULL);
}
