/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Planted delays: nothing happens before its time, what was drawn is in the trace, and in the
 * quietest laps the extra is small. Only the smallest excess is held against a limit, since a
 * busy machine adds what it likes to the others.
 */
#include "soft.h"

static struct end a, b;
static struct addr to;
static char trace[64];

/* Number @key of the k-th record of the trace with @what in it, from 1; -1: there is none. */
static long long traced(int k, const char *record, const char *what, const char *key)
{
	char path[96], line[512];
	long long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s.%d", trace, (int)getpid());
	f = fopen(path, "r");
	CHECK(f);
	while (v < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, record, strlen(record)) && strstr(line, what) && !--k)
			v = strtoll(strstr(line, key) + strlen(key), NULL, 10);
	fclose(f);
	return v;
}

#define LAPS 200

static double lap_time[LAPS + 1];

static void laps(enum ibv_wr_opcode op)
{
	struct ibv_wc wc;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
	for (int i = 1; i <= LAPS; i++) {
		double t0 = seconds();

		CHECK(!post(&a, op, 1, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
		CHECK(reap(&a, &wc, 5) && !wc.status);
		lap_time[i] = seconds() - t0;
	}
	end_close(&a);
	end_close(&b);
}

/* The device's own word of when: a delay counts from the post, and late is what it says. */
static double lateness(int i, long long ns)
{
	long long at = traced(i, "effect", "", " t="), post = traced(i, "effect", "", " post=");
	long long due = traced(i, "effect", "", " due="), late = traced(i, "effect", "", " late=");

	CHECK(post > 0 && due == post + ns && at >= due && late == at - due);
	CHECK((double)(at - post) * 1e-9 < lap_time[i]);
	return (double)late * 1e-9;
}

static int against_trace(const char *way)
{
	double least = 1, planted = 0, late = 1;
	char what[16];

	extern void trace_flush_all(void);
	trace_flush_all();
	snprintf(what, sizeof(what), "way=%s", way);
	for (int i = 1; i <= LAPS; i++) {
		long long ns = traced(i, "delay", what, " ns=");
		double want = (double)ns * 1e-9, extra = lap_time[i] - want, l;

		CHECK(want >= 0);
		CHECK(extra > -1e-7);	/* never early */
		l = lateness(i, strcmp(way, "back") ? ns : 0);
		late = l < late ? l : late;
		least = extra < least ? extra : least;
		planted += want;
	}
	CHECK(least < 20e-6 && late < 10e-6);
	CHECK(planted > 0);
	return 0;
}

static int writes(void)
{
	laps(IBV_WR_RDMA_WRITE);
	return against_trace("both");
}

static int reads(void)
{
	laps(IBV_WR_RDMA_READ);
	return against_trace("both");
}

static int back(void)
{
	laps(IBV_WR_RDMA_WRITE);
	return against_trace("back");
}

/* Out and back: the data is there after the one, the completion after both. */
static int ways(void)
{
	struct ibv_wc wc;
	double t0, data = 0, done;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
	a.buf[0] = 1;
	for (int tries = 0; tries < 20; tries++) {
		data = b.buf[0] = 0;
		t0 = seconds();
		CHECK(!post(&a, IBV_WR_RDMA_WRITE, 1, a.buf, 1, &to, 0, IBV_SEND_SIGNALED));
		while (!ibv_poll_cq(a.cq, 1, &wc))
			if (data == 0 && b.buf[0])
				data = seconds() - t0;
		done = seconds() - t0;
		CHECK((data == 0 || data >= 20e-3) && done >= 60e-3);
		if (data > 0 && data < 60e-3)
			return 0;
	}
	return 1;	/* never before the completion */
}

/* The tenth of 10 messages of 100 kB has waited for all of them on a wire of 1 Gb/s. */
static int bandwidth(void)
{
	struct ibv_wc wc;
	double t0;

	pair_open(&a, &b, IBV_QPT_RC, 100000, NULL);
	to = end_addr(&b);
	t0 = seconds();
	for (int i = 0; i < 10; i++)
		CHECK(!post(&a, IBV_WR_RDMA_WRITE, (uint64_t)i, a.buf, 100000, &to, 0,
			    IBV_SEND_SIGNALED));
	for (int i = 0; i < 10; i++)
		CHECK(reap(&a, &wc, 5) && wc.wr_id == (uint64_t)i);
	return seconds() - t0 < 10 * 100000 * 8 / 1e9;
}

/* No more READs outstanding than max_rd_atomic (4 here): 8 take two round trips. */
static int depth(void)
{
	struct ibv_wc wc;
	double t0, first;

	pair_open(&a, &b, IBV_QPT_RC, 8192, NULL);
	to = end_addr(&b);
	t0 = seconds();
	for (int i = 0; i < 8; i++)
		CHECK(!post(&a, IBV_WR_RDMA_READ, 1, a.buf, 8, &to, 0, IBV_SEND_SIGNALED));
	for (int i = 0; i < 4; i++)
		CHECK(reap(&a, &wc, 5));
	first = seconds() - t0;
	for (int i = 0; i < 4; i++)
		CHECK(reap(&a, &wc, 5));
	CHECK(first >= 20e-3 && seconds() - t0 >= 40e-3);
	return 0;
}

static void run(const char *spec, int (*f)(void))
{
	char text[256], path[96];
	int rc;

	snprintf(trace, sizeof(trace), "/tmp/softverbs-delay-%d", (int)getpid());
	snprintf(text, sizeof(text), "soft0:%s,trace=%s", spec, trace);
	rc = in_child(text, f);
	snprintf(path, sizeof(path), "rm -f %s.*", trace);
	assert_int_equal(system(path), 0);
	assert_int_equal(rc, 0);
}

#define CASE(name, spec, f)                                                                        \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		run(spec, f);                                                                      \
	}
CASE(const10, "delay=10us", writes)
CASE(uniform, "delay=uniform(5us,50us),seed=3", writes)
CASE(exponential, "delay=2us+exp(20us),seed=4", writes)
CASE(read50, "delay=50us", reads)
CASE(back, "back=30us", back)
CASE(ways, "out=20ms,back=40ms", ways)
CASE(bandwidth, "bw=1Gb/s", bandwidth)
CASE(depth, "delay=20ms", depth)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_const10),	    cmocka_unit_test(test_uniform),
		cmocka_unit_test(test_exponential), cmocka_unit_test(test_read50),
		cmocka_unit_test(test_back),	    cmocka_unit_test(test_ways),
		cmocka_unit_test(test_bandwidth),   cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
