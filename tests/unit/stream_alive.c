/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where nothing of a stream is seen at the other end, its sender says now and then that it is
 * alive: without that a run longer than the idle deadline would end at the receiver.
 */
#include <unistd.h>

#include "ends.h"
#include "stream_world.h"

/* In the middle of a run. */
static struct world *stream_of(struct ends *e, enum op_kind op, bool sends)
{
	struct world *w = world_new(1);

	world_open(w, op, sends, false);
	w->w.control = &e->c;
	w->err.stage = "run";
	assert_int_equal(stream_begin(w->s, 8), 0);
	w->s->deadline = w->s->next_line = UINT64_MAX;
	return w;
}

static void look(struct world *w)
{
	w->s->fruit = now_ns();
	assert_int_equal(stream_look(w->s, false), 0);
}

/* What came to the peer, as text behind its header; "" for nothing. */
static const char *told(const struct ends *e)
{
	static char text[256];
	ssize_t n = recv(e->peer, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return n > FRAME_HEADER ? text + FRAME_HEADER : "";
}

#define ALIVE "{\"type\":\"alive\"}"
#define DONE "{\"type\":\"done\",\"warmup\":0,\"messages\":9,\"warmup_arrived\":0}"

/* At once and each time that it is due, until its done. */
static void test_says(void **state)
{
	static const enum op_kind ops[] = { OP_WRITE, OP_READ, OP_FETCH_ADD, OP_CMP_SWAP };
	struct ends *e = *state;

	for (size_t i = 0; i < COUNT(ops); i++) {
		struct world *w = stream_of(e, ops[i], true);
		uint64_t before = now_ns();

		look(w);
		assert_string_equal(told(e), ALIVE);
		assert_true(w->s->next_alive >= before + 2 * NS_PER_S);
		assert_true(w->s->next_alive <= now_ns() + 2 * NS_PER_S);
		look(w);
		assert_string_equal(told(e), "");
		w->s->next_alive = now_ns() - 1;
		look(w);
		assert_string_equal(told(e), ALIVE);
		w->s->next_alive = 0;
		w->s->own_done = true;
		look(w);
		assert_string_equal(told(e), "");
		world_close(w);
	}
}

/* Messages that take a receive are seen, and who sends none has nothing to say. */
static void test_says_nothing(void **state)
{
	struct ends *e = *state;
	struct world *w = stream_of(e, OP_SEND, true);

	look(w);
	assert_string_equal(told(e), "");
	world_close(w);
	w = stream_of(e, OP_WRITE, false);
	look(w);
	assert_string_equal(told(e), "");
	world_close(w);
}

/* The deadline begins anew with it; without it the silence is too long. */
static void test_hears(void **state)
{
	struct ends *e = *state;

	for (int alive = 0; alive < 2; alive++) {
		struct world *w = stream_of(e, OP_WRITE, false);

		w->s->fruit = now_ns() - w->w.idle_ns;
		if (alive) {
			peer_says(e, ALIVE);
			peer_says(e, DONE);
		}
		assert_int_equal(stream_wait_done(w->s), alive ? 0 : -1);
		assert_int_equal(w->s->peer_sent, alive ? 9 : 0);
		if (!alive)
			assert_error(&w->err, EXIT_TIMED_OUT,
				     "nothing came from the peer for 10 s");
		world_close(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ENDS(test_says),
		WITH_ENDS(test_says_nothing),
		WITH_ENDS(test_hears),
	};

	alarm(100);
	return cmocka_run_group_tests_name("stream_alive", tests, NULL, NULL);
}
