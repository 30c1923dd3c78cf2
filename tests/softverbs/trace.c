/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The trace file: its lines, threads, forks, links, and what is on disk when. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../softverbs/trace.h"

static char dir[] = "/tmp/softverbs-trace.XXXXXX";
static char base[64];

static const struct trace_wr wr = {
	.dev = "soft0", .qpn = 0x1a, .n = 5, .wr_id = 0xbeef, .opcode = IBV_WR_RDMA_WRITE, .len = 8,
};

static char *file_of(pid_t pid, char *path, size_t size)
{
	snprintf(path, size, "%s.%d", base, (int)pid);
	return path;
}

static size_t slurp(pid_t pid, char *buf, size_t size)
{
	char path[96];
	FILE *f = fopen(file_of(pid, path, sizeof(path)), "r");
	size_t n;

	assert_non_null(f);
	n = fread(buf, 1, size - 1, f);
	buf[n] = 0;
	fclose(f);
	return n;
}

static void test_lines(void **state)
{
	struct ibv_ah_attr attr = { .dlid = 3, .sl = 2, .is_global = 1, .port_num = 1,
				    .grh = { .flow_label = 0xabc, .hop_limit = 64,
					     .traffic_class = 106, .sgid_index = 1 } };
	static const char *const want[] = {
		" dev=soft0 qpn=0x1a wr=5 id=0xbeef op=RDMA_WRITE len=8 way=out ns=2000\n",
		("effect t=3010 dev=soft0 qpn=0x1a wr=5 id=0xbeef op=RDMA_WRITE len=8 post=1000"
			" due=3000 late=10\n"),
		("effect t=3000 dev=soft0 qpn=0x1a wr=5 id=0xbeef op=RDMA_WRITE len=8 post=0"
			" due=18446744073709551615 late=0\n"),
		" dev=soft0 qpn=0x1a wr=5 id=0xbeef op=RDMA_WRITE len=8 kind=drop arg=-\n",
		" dev=soft0 call=reg_mr k=2 errno=12\n",
		" dev=soft0 port=2 type=PORT_ERR\n",
		(" dev=soft0 of=ah qpn=0x1a port=1 dlid=3 sl=2 bits=0 grh=1 tclass=106 flow=0xabc"
			" hop=64 sgid=1\n"),
	};
	struct trace *t = trace_open(base);
	char buf[4096], *at = buf;

	(void)state;
	assert_non_null(t);
	trace_delay(t, &wr, "out", 2000);
	trace_effect(t, &wr, 3010, 1000, 3000);
	trace_effect(t, &wr, 3000, 0, UINT64_MAX);
	trace_fault(t, &wr, "drop", NULL);
	trace_call(t, "soft0", "reg_mr", 2, ENOMEM);
	trace_event(t, "soft0", 2, IBV_EVENT_PORT_ERR);
	trace_path(t, "soft0", "ah", 0x1a, &attr);
	assert_int_equal(slurp(getpid(), buf, sizeof(buf)), 0);
	trace_flush_all();
	slurp(getpid(), buf, sizeof(buf));
	assert_int_equal(strncmp(buf, "delay t=", 8), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		at = strstr(at, want[i]);
		if (!at)
			fail_msg("no \"%s\" in its place in:\n%s", want[i], buf);
		at += strlen(want[i]);
	}
	assert_int_equal(*at, 0);
	trace_close(t);
}

static void test_shared_by_users(void **state)
{
	struct trace *a = trace_open(base), *b = trace_open(base);
	char buf[4096];

	(void)state;
	assert_ptr_equal(a, b);
	trace_call(a, "x", "one", 1, 1);
	trace_close(a);
	trace_call(b, "x", "two", 1, 1);
	trace_close(b);
	slurp(getpid(), buf, sizeof(buf));
	assert_non_null(strstr(buf, "call=one"));
	assert_non_null(strstr(buf, "call=two"));
}

#define THREADS 4
#define EACH 5000

static void *writer(void *arg)
{
	for (int i = 0; i < EACH; i++)
		trace_delay(arg, &wr, "both", (uint64_t)i);
	return NULL;
}

static void test_threads(void **state)
{
	struct trace *t = trace_open(base);
	pthread_t th[THREADS];
	char path[96], line[512];
	int n = 0;
	FILE *f;

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&th[i], NULL, writer, t), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	trace_close(t);
	f = fopen(file_of(getpid(), path, sizeof(path)), "r");
	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); n++) {
		assert_int_equal(strncmp(line, "delay t=", 8), 0);
		assert_non_null(strstr(line, " way=both ns="));
		assert_int_equal(line[strlen(line) - 1], '\n');
	}
	fclose(f);
	assert_int_equal(n, THREADS * EACH);
}

/* More than the buffer holds: whole lines, in order. */
static void test_more_than_the_buffer(void **state)
{
	struct trace *t = trace_open(base);
	char path[96], line[512];
	int n = 0;
	FILE *f;

	(void)state;
	for (int i = 0; i < 20000; i++)
		trace_delay(t, &wr, "both", (uint64_t)i);
	trace_close(t);
	f = fopen(file_of(getpid(), path, sizeof(path)), "r");
	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); n++) {
		assert_non_null(strstr(line, " ns="));
		assert_int_equal(atoi(strstr(line, " ns=") + 4), n);
	}
	fclose(f);
	assert_int_equal(n, 20000);
}

/* Effects wait for the next line, but not in vain: more than are kept, in order, and at a flush. */
static void test_effects_in_order(void **state)
{
	struct trace *t = trace_open(base);
	char path[96], line[512];
	int n = 0;
	FILE *f;

	(void)state;
	for (int i = 0; i < 100; i++) {
		trace_effect(t, &wr, (uint64_t)i, 0, 0);
		if (i % 40 == 39)
			trace_delay(t, &wr, "both", 7);
	}
	trace_flush_all();
	f = fopen(file_of(getpid(), path, sizeof(path)), "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "effect t=", 9))
			assert_int_equal(n % 40, 0);
		else
			assert_int_equal(atoi(line + 9), n++);
	}
	fclose(f);
	assert_int_equal(n, 100);
	trace_close(t);
}

/* A child has its own file, without what the parent had buffered; exit() flushes. */
static void test_fork(void **state)
{
	struct trace *t = trace_open(base);
	char buf[4096];
	int status;
	pid_t pid;

	(void)state;
	trace_call(t, "x", "parent", 1, 1);
	trace_effect(t, &wr, 1, 1, 1);
	pid = fork();
	if (pid == 0) {
		trace_call(t, "x", "child", 1, 1);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	slurp(pid, buf, sizeof(buf));
	assert_non_null(strstr(buf, "call=child"));
	assert_null(strstr(buf, "call=parent"));
	assert_null(strstr(buf, "effect"));
	trace_close(t);
	slurp(getpid(), buf, sizeof(buf));
	assert_non_null(strstr(buf, "call=parent"));
	assert_non_null(strstr(buf, "effect"));
	assert_null(strstr(buf, "call=child"));
}

static void test_file_is_private_and_no_link(void **state)
{
	char path[96], other[96];
	struct trace *t;
	struct stat st;

	(void)state;
	file_of(getpid(), path, sizeof(path));
	unlink(path);
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(symlink(other, path), 0);
	t = trace_open(base);
	assert_non_null(t);
	trace_close(t);
	assert_int_equal(stat(other, &st), -1);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_no_trace(void **state)
{
	(void)state;
	assert_null(trace_open("/nonexistent/x"));
	assert_int_equal(errno, ENOENT);
	trace_delay(NULL, &wr, "out", 1);
	trace_effect(NULL, &wr, 1, 1, 1);
	trace_fault(NULL, &wr, "drop", NULL);
	trace_close(NULL);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(base, sizeof(base), "%s/t", dir);
	return 0;
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_shared_by_users),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_more_than_the_buffer),
		cmocka_unit_test(test_effects_in_order),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_file_is_private_and_no_link),
		cmocka_unit_test(test_no_trace),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
