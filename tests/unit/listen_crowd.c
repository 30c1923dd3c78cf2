/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Strangers that say nothing, go, or come in crowds: the server goes on, its memory stays flat. */
#include "strangers.h"

/* Half a frame, then silence: after 5 s (made to have passed here) it goes, not before. */
static void test_silence(void **state)
{
	struct world *w = *state;
	int half = stranger(w, "VPF1\0\0\0\x20{\"ty", 12), mute = connect_to(w), client;
	uint64_t now = now_ns();

	assert_int_equal(serve_for(w, 50), -1);
	assert_int_equal(w->l.stranger_count, 2);
	assert_string_equal(w->said, "");
	for (int i = 0; i < 2; i++) {
		uint64_t left = w->l.strangers[i].deadline - now;

		assert_true(left >= 4 * NS_PER_S && left <= 35 * NS_PER_S);
		w->l.strangers[i].deadline = now - 1;
	}
	assert_int_equal(serve_for(w, 50), -1);
	assert_int_equal(w->l.stranger_count, 0);
	assert_int_equal(count_lines(w->said), 2);
	assert_contains(w->said, "nothing that makes sense within 5 s");
	client = real_client(w);
	assert_int_equal(serve_for(w, 20000), 0);
	expect_accepted(client);
	close(half);
	close(mute);
}

static void test_gone(void **state)
{
	struct world *w = *state;

	close(connect_to(w));
	close(stranger(w, "VPF", 3));
	assert_int_equal(serve_for(w, 50), -1);
	assert_int_equal(w->l.stranger_count, 0);
	assert_int_equal(count_lines(w->said), 2);
	assert_contains(w->said, "it closed the connection");
}

/* Resident memory of this process in KiB. */
static long resident(void)
{
	long pages = 0, ignored;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%ld %ld", &ignored, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Under such a tool freed memory stays with the process; it finds leaks itself. */
static bool keeps_freed_memory(void)
{
	const char *preload = getenv("LD_PRELOAD");

#ifdef __SANITIZE_ADDRESS__
	return true;
#endif
	return preload && strstr(preload, "vgpreload");
}

#define CROWD 200

/* Silent, half, garbled and huge ones in turn. */
static void crowd(struct world *w, int *fds)
{
	static const struct {
		const char *bytes;
		size_t len;
	} kinds[] = { { "", 0 }, { "VPF1\0\0\xff\xff{", 9 }, { "SSH-2.0-x\r\n", 11 },
		      { "VPF1\xff\xff\xff\xff", 8 } };

	for (int i = 0; i < CROWD; i++)
		fds[i] = stranger(w, kinds[i % 4].bytes, kinds[i % 4].len);
}

static void test_crowd(void **state)
{
	struct world *w = *state;
	long before = 0, after;
	int fds[CROWD], client;

	for (int round = 0; round < 6; round++) {
		uint64_t start = now_ns();

		crowd(w, fds);
		client = real_client(w);
		assert_int_equal(serve_for(w, 60000), 0);
		assert_true(now_ns() - start < 30 * NS_PER_S);
		expect_accepted(client);
		assert_int_equal(w->l.stranger_count, 0);
		assert_int_equal(count_lines(w->said), CROWD);
		for (int i = 0; i < CROWD; i++)
			close(fds[i]);
		control_close(&w->peer);
		after = resident();
		if (round == 1)
			before = after;
	}
	if (!keeps_freed_memory())
		assert_true(after - before < 1024);
}

/* More silent ones than are kept: the oldest makes room. */
static void test_more_than_kept(void **state)
{
	struct world *w = *state;
	int fds[STRANGERS_MAX + 20], client, n = 0;

	while (n < STRANGERS_MAX + 20) {
		for (int i = 0; i < 46; i++)
			fds[n++] = connect_to(w);
		assert_int_equal(serve_for(w, 10), -1);
	}
	assert_int_equal(w->l.stranger_count, STRANGERS_MAX);
	client = real_client(w);
	assert_int_equal(serve_for(w, 20000), 0);
	expect_accepted(client);
	while (n)
		close(fds[--n]);
}

/* Whoever waited while another was taken hears why it has to go. */
static void test_others_told(void **state)
{
	struct world *w = *state;
	int mute = connect_to(w), client;
	char got[512] = "";

	assert_int_equal(serve_for(w, 20), -1);
	client = real_client(w);
	assert_int_equal(serve_for(w, 20000), 0);
	expect_accepted(client);
	assert_true(recv(mute, got, sizeof(got) - 1, 0) > FRAME_HEADER);
	assert_contains(got + FRAME_HEADER, "the server is busy with another client");
	assert_int_equal(recv(mute, got, 1, 0), 0);
	close(mute);
}

static void test_signal(void **state)
{
	struct world *w = *state;

	stop_signal = SIGTERM;
	assert_int_equal(serve_for(w, 20000), -1);
	assert_error(&w->err, EXIT_PEER, "ended by signal 15 while listening");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(test_silence),
		WITH_WORLD(test_gone),
		WITH_WORLD(test_crowd),
		WITH_WORLD(test_more_than_kept),
		WITH_WORLD(test_others_told),
		WITH_WORLD(test_signal),
	};

	return cmocka_run_group_tests_name("listen_crowd", tests, NULL, NULL);
}
