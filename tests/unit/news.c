/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* News that end a loop between two laps: who may say them, once each, and never over a signal. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "deadline.h"
#include "news.h"

struct ends {
	int control[2], device[2];
	struct news news;
};

static int setup(void **state)
{
	struct ends *e = calloc(1, sizeof(*e));

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, e->control), 0);
	assert_int_equal(pipe(e->device), 0);
	stop_signal = 0;
	*state = e;
	return 0;
}

static int teardown(void **state)
{
	struct ends *e = *state;

	stop_signal = 0;
	for (int i = 0; i < 2; i++) {
		close(e->control[i]);
		close(e->device[i]);
	}
	free(e);
	return 0;
}

static void begin(struct ends *e)
{
	news_open(&e->news, e->control[0], e->device[0]);
}

/* The signal is sent in the call that writes, but may come a little later. */
static bool flag_rises(void)
{
	for (int i = 0; i < 2000 && !stop_signal; i++)
		usleep(1000);
	return stop_signal == SIGIO;
}

static void test_both(void **state)
{
	struct ends *e = *state;

	begin(e);
	assert_int_equal(stop_signal, 0);
	assert_false(news_came());
	assert_int_equal(write(e->control[1], "x", 1), 1);
	assert_true(flag_rises());
	assert_false(stop_asked());
	assert_true(news_came());
	assert_false(news_came());
	assert_int_equal(write(e->device[1], "x", 1), 1);
	assert_true(flag_rises());
	assert_true(news_came());
	news_close(&e->news);
}

/* A peer that is gone is news as well. */
static void test_hang_up(void **state)
{
	struct ends *e = *state;

	begin(e);
	shutdown(e->control[1], SHUT_RDWR);
	assert_true(flag_rises());
	news_close(&e->news);
}

/* What came before the beginning sends no signal any more. */
static void test_before(void **state)
{
	struct ends *e = *state;

	assert_int_equal(write(e->control[1], "x", 1), 1);
	begin(e);
	assert_true(news_came());
	news_close(&e->news);
}

/* Afterwards all is as before, and nothing is left over that would look like a signal. */
static void test_close(void **state)
{
	struct ends *e = *state;
	int flags = fcntl(e->control[0], F_GETFL);

	begin(e);
	assert_int_equal(fcntl(e->control[0], F_GETFL), flags | O_ASYNC);
	assert_int_equal(write(e->control[1], "x", 1), 1);
	assert_true(flag_rises());
	news_close(&e->news);
	assert_int_equal(stop_signal, 0);
	assert_int_equal(fcntl(e->control[0], F_GETFL), flags);
	assert_int_equal(write(e->control[1], "x", 1), 1);
	raise(SIGIO);
	assert_int_equal(stop_signal, 0);
}

/* A user's signal stays. */
static void test_user_first(void **state)
{
	struct ends *e = *state;

	begin(e);
	stop_signal = SIGINT;
	raise(SIGIO);
	assert_int_equal(stop_signal, SIGINT);
	assert_true(stop_asked());
	assert_false(news_came());
	news_close(&e->news);
	assert_int_equal(stop_signal, SIGINT);
}

/* A descriptor that cannot tell is left out. */
static void test_no_descriptor(void **state)
{
	struct ends *e = *state;

	news_open(&e->news, e->control[0], -1);
	assert_int_equal(write(e->control[1], "x", 1), 1);
	assert_true(flag_rises());
	news_close(&e->news);
}

#define WITH_ENDS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ENDS(test_both),  WITH_ENDS(test_hang_up),	   WITH_ENDS(test_before),
		WITH_ENDS(test_close), WITH_ENDS(test_user_first), WITH_ENDS(test_no_descriptor),
	};

	return cmocka_run_group_tests_name("news", tests, NULL, NULL);
}
