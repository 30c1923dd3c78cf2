/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text of a report: the table for known numbers, units, dumps, what a peer's names may do. */
#include "reports.h"

static void test_golden(void **state)
{
	char *text = fixture_text(*state, report_text);

	assert_string_equal(
		text, "\n"
		      "rdma_lat (client): RDMA WRITE over RC, half round trip, in usec\n"
		      "  local:  host-a, rxe0 port 1 (Ethernet, software device rxe), CPU 3\n"
		      "  remote: host-b, mlx5_0 port 2 (InfiniBand)\n"
		      "  path:   MTU 1024, inline 8 asked, 60 granted, posted by ibv_wr_*, "
		      "completions reaped "
		      "now, order of a WRITE's bytes unknown, relaxed ordering off\n"
		      "  clock:  tsc 1000.000 MHz +/- 0.5 ppm, trusted: the CPU says invariant\n"
		      "          999.998 MHz before the run, 1000.001 MHz after it, 3.0 ppm apart; "
		      "invariant: yes; a stamp costs 20 ns, steps by 1 ns\n"
		      "    bytes       laps    samples    min[usec] median[usec]   mean[usec]  "
		      "stdev[usec]"
		      "    p90[usec]    p99[usec]  p99.9[usec] p99.99[usec]    max[usec]\n"
		      "        8       1000       1000        1.000        5.995        5.995      "
		      "  2.888"
		      "        9.990       10.890       10.980            -       10.990\n"
		      "first exchange 6.2 usec, 1.0 x median; 95 % interval of the median 5.680 to "
		      "6.310 usec; "
		      "100 warm-up laps before\n");
	free(text);
}

/* Each title has its unit, and no line speaks of the other one. */
static void test_units(void **state)
{
	static const char *const columns[] = { "min", "median", "mean", "stdev", "p90", "p99",
					       "p99.9", "p99.99", "max" };
	struct fixture *f = *state;
	char title[32], *text;

	for (int cycles = 0; cycles < 2; cycles++) {
		f->set.cycles = cycles;
		f->set.unsorted = f->set.sorted = true;
		text = fixture_text(f, report_text);
		for (size_t i = 0; i < COUNT(columns); i++) {
			snprintf(title, sizeof(title), " %s[%s]", columns[i],
				 cycles ? "cycles" : "usec");
			assert_contains(text, title);
		}
		assert_lacks(text, cycles ? "usec" : "cycles");
		assert_contains(text, cycles ? "CPU cycles" : "in usec");
		assert_contains(text, cycles ? "#, cycles\n" : "#, usec\n");
		assert_contains(text, "1000.000 MHz");
		assert_sane(text);
		free(text);
	}
}

/* Columns stay columns: the title and every row are equally long. */
static void check_columns(struct fixture *f)
{
	char *text = fixture_text(f, report_text), *line = strstr(text, "    bytes ");
	size_t width = strcspn(line, "\n");

	for (unsigned int i = 0; i < f->r.result_count; i++) {
		line = strchr(line, '\n') + 1;
		assert_int_equal(strcspn(line, "\n"), width);
	}
	free(text);
}

static void test_columns(void **state)
{
	struct fixture *f = *state;

	f->r.result_count = 2;
	for (int cycles = 0; cycles < 2; cycles++) {
		f->set.cycles = cycles;
		for (uint64_t n = 0; n < SAMPLES; n = n * 3 + 1) {
			fixture_samples(f, 1, n);
			check_columns(f);
		}
	}
}

/* What n samples cannot support is -, never a made-up number. */
static void test_few_samples(void **state)
{
	static const struct {
		uint64_t n;
		const char *row;
	} rows[] = {
		{ 0, "        8          0          0            -            -            -"
		     "            -            -            -            -            -            "
		     "-\n" },
		{ 1, "        8          1          1        1.000        1.000        1.000"
		     "            -            -            -            -            -        "
		     "1.000\n" },
		{ 2, "        8          2          2        1.000        1.005        1.005"
		     "        0.007            -            -            -            -        "
		     "1.010\n" },
		{ 9, "            -            -            -            -        1.080\n" },
		{ 10, "        1.080            -            -            -        1.090\n" },
		{ 99, "        1.890            -            -            -        1.980\n" },
		{ 100, "        1.890        1.980            -            -        1.990\n" },
		{ 999, "        9.990       10.890            -            -       10.980\n" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text;

		fixture_samples(f, 0, rows[i].n);
		text = fixture_text(f, report_text);
		assert_contains(text, rows[i].row);
		assert_sane(text);
		if (rows[i].n < 6)
			assert_lacks(text, "interval of the median");
		if (!rows[i].n)
			assert_lacks(text, "first exchange");
		free(text);
	}
}

/* The lines of a dump after a title, each "index, value"; their number. */
static uint64_t read_dump(const char *at, double *v)
{
	uint64_t n = 0;
	unsigned long long index;
	double value;
	int used;

	while (sscanf(at, "%llu, %lf%n", &index, &value, &used) == 2) {
		assert_int_equal(index, ++n);
		v[n - 1] = value;
		at += used;
		at += strcspn(at, "\n") + 1;
	}
	return n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static const char *after(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at)
		fail_msg("no line \"%s\"", line);
	return at + strlen(line);
}

/* -U in order of measurement, -H the same values sorted; as many as the summary says. */
static void test_dumps(void **state)
{
	static double u[SAMPLES + 1], h[SAMPLES + 1];
	struct fixture *f = *state;

	for (int cycles = 0; cycles < 2; cycles++) {
		char *text;

		f->set.cycles = cycles;
		f->set.unsorted = f->set.sorted = true;
		text = fixture_text(f, report_text);
		assert_int_equal(
			read_dump(after(text, cycles ? "# unsorted, 1000 samples\n#, cycles\n"
						     : "# unsorted, 1000 samples\n#, usec\n"),
				  u),
			SAMPLES);
		assert_int_equal(
			read_dump(after(text, cycles ? "# sorted, 1000 samples\n#, cycles\n"
						     : "# sorted, 1000 samples\n#, usec\n"),
				  h),
			SAMPLES);
		for (int k = 0; k < SAMPLES; k++) {
			double due = (double)f->samples[0][k] / (cycles ? 2 : 2000);

			assert_true(u[k] > due - 1e-6 && u[k] < due + 1e-6);
		}
		qsort(u, SAMPLES, sizeof(*u), by_value);
		assert_memory_equal(u, h, SAMPLES * sizeof(*u));
		free(text);
	}
	/* One of them alone has no marker: the format of 2005. */
	f->set.sorted = false;
	f->set.cycles = true;
	{
		char *text = fixture_text(f, report_text);

		assert_int_equal(strncmp(text, "#, cycles\n1, 1030\n2, 1100\n", 26), 0);
		assert_contains(text, "\n1000, 10960\n\nrdma_lat (client)");
		assert_lacks(text, "# unsorted");
		free(text);
	}
}

/* Cycles are halved and cut down; usec have four decimals. */
static void test_dump_values(void **state)
{
	static const struct {
		uint64_t lap;
		const char *half, *full, *usec;
	} rows[] = {
		{ 0, "1, 0\n", "1, 0\n", "1, 0.0000\n" },
		{ 1, "1, 0\n", "1, 1\n", "1, 0.0005\n" },
		{ 7, "1, 3\n", "1, 7\n", "1, 0.0035\n" },
		{ 2469134, "1, 1234567\n", "1, 2469134\n", "1, 1234.5670\n" },
		{ 1ull << 62, "1, 2305843009213693952\n", "1, 4611686018427387904\n",
		  "1, 2305843009213694.0000" },
	};
	struct fixture *f = *state;
	char *text;

	f->set.unsorted = true;
	for (size_t i = 0; i < COUNT(rows); i++)
		for (int kind = 0; kind < 3; kind++) {
			fixture_samples(f, 0, 1);
			f->samples[0][0] = rows[i].lap;
			f->set.cycles = kind < 2;
			f->r.kind = kind == 1 ? LATENCY_FULL_RTT : LATENCY_HALF_RTT;
			text = fixture_text(f, report_text);
			assert_contains(text, kind == 0 ? rows[i].half :
					      kind == 1 ? rows[i].full : rows[i].usec);
			free(text);
		}
}

static void test_sizes(void **state)
{
	struct fixture *f = *state;
	char *text;

	f->r.result_count = 2;
	f->set.sizes.count = 2;
	f->set.unsorted = true;
	f->set.cycles = true;
	text = fixture_text(f, report_text);
	assert_contains(text, "# size 8\n#, cycles\n1, 1030\n");
	assert_contains(text, "# size 4096\n#, cycles\n1, 2060\n");
	assert_contains(text, "\n8 bytes: first exchange 6172 cycles");
	assert_contains(text, "\n4096 bytes: first exchange 6172 cycles");
	free(text);
}

/* Post to seen and the gap are not halved. */
static void test_detail(void **state)
{
	static uint64_t to_seen[] = { 1500, 1600, 1700 }, gap[] = { 10, 20, 2000 };
	struct fixture *f = *state;
	char *text;

	fixture_samples(f, 0, 3);
	f->results[0].to_seen = to_seen;
	f->results[0].gap = gap;
	f->set.unsorted = f->set.sorted = true;
	text = fixture_text(f, report_text);
	assert_contains(text, "#, usec, post to seen [usec], longest poll gap [usec]\n"
			      "1, 1.0000, 1.5000, 0.0100\n2, 1.0100, 1.6000, 0.0200\n"
			      "3, 1.0200, 1.7000, 2.0000\n");
	assert_contains(text, "# sorted, 3 samples\n#, usec\n1, 1.0000\n2, 1.0100\n3, 1.0200\n\n");
	free(text);
}

/* A run that ended before its first lap still has its dump, empty, and its header. */
static void test_nothing_measured(void **state)
{
	struct fixture *f = *state;
	char *text;

	fixture_samples(f, 0, 0);
	f->set.unsorted = f->set.sorted = true;
	text = fixture_text(f, report_text);
	assert_lacks(text, "\n;"); /* the notes do not begin with what joins them */
	assert_contains(text, "# unsorted, 0 samples\n#, usec\n# sorted, 0 samples\n#, usec\n\n");
	free(text);
	f->r.result_count = 0;
	f->endpoint.qp_count = 0;
	f->clock.hz = 0;
	text = fixture_text(f, report_text);
	assert_contains(text, "rdma_lat (client): ");
	assert_lacks(text, "path:");
	assert_lacks(text, "bytes");
	assert_sane(text);
	free(text);
}

/* What a peer calls itself goes to a terminal. */
static void test_hostile_facts(void **state)
{
	struct fixture *f = *state;
	char *text;

	json_decref(f->r.remote);
	f->r.remote =
		json_pack("{s:s,s:s,s:s,s:i,s:s,s:s}", "host", "b\033[2J\n\"x\"", "device",
			  "d\r%s%n", "port", "x", "link_layer", 5, "software", "\a", "cpu", "y");
	text = fixture_text(f, report_text);
	assert_contains(text, "  remote: b?[2J?\"x\", d?%s%n port 0 (?, software device ?)\n");
	free(text);
	json_decref(f->r.remote);
	f->r.remote = json_array();
	text = fixture_text(f, report_text);
	assert_contains(text, "  remote: ?, ? port 0 (?)\n");
	free(text);
}

static void test_header(void **state)
{
	struct fixture *f = *state;
	char *text;

	f->r.server = true;
	f->r.kind = LATENCY_FULL_RTT;
	f->set.verbose = true;
	f->set.reap = 1;
	f->endpoint.in_order = 0;
	f->endpoint.post = POST_SEND;
	f->clock.trusted = f->clock.independent = false;
	text = fixture_text(f, report_text);
	assert_contains(text, "rdma_lat (server): RDMA WRITE over RC, full round trip, in usec\n");
	assert_contains(text,
			"posted by ibv_post_send, completions reaped late, order of a WRITE's "
			"bytes not promised,");
	assert_contains(text,
			"NOT TRUSTED: the CPU says invariant, not independent of the kernel's");
	assert_contains(text, "  tx_depth = 16\n");
	assert_contains(text, "  size = [8]\n");
	free(text);
}

static void test_addresses(void **state)
{
	uint32_t qpn = 0x320406, psn = 0xeb1f3e, rkey = 0x01f60032;
	struct endpoint_address a = { .lid = 0xb, .vaddr = 0x6000000000014001,
				      .qpns = &qpn, .psns = &psn, .rkeys = &rkey, .qp_count = 1 };
	FILE *out = tmpfile();
	char *text;

	(void)state;
	report_addresses(out, &a, &a);
	text = file_text(out);
	assert_string_equal(text,
		"  local address:  LID 0x000b, QPN 0x320406, PSN 0xeb1f3e, RKey 0x01f60032, "
		"VAddr 0x6000000000014001\n"
		"  remote address: LID 0x000b, QPN 0x320406, PSN 0xeb1f3e, RKey 0x01f60032, "
		"VAddr 0x6000000000014001\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_REPORT(test_golden),      WITH_REPORT(test_units),
		WITH_REPORT(test_columns),     WITH_REPORT(test_few_samples),
		WITH_REPORT(test_dumps),       WITH_REPORT(test_dump_values),
		WITH_REPORT(test_sizes),       WITH_REPORT(test_detail),
		WITH_REPORT(test_nothing_measured), WITH_REPORT(test_hostile_facts),
		WITH_REPORT(test_header),      cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
