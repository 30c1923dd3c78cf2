/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The exchange of counters after a run: whatever the peer does, the run stays what it was. */
#include "ends.h"

#include "../../common/bench_counters.c"

static const struct bench_program program = { .options = { .name = "rdma_lat" } };

/* After an end without counters of its own has asked; what the peer does was done before. */
static void exchange_by(struct ends *e, bool with_peer)
{
	struct bench *b = calloc(1, sizeof(*b));

	b->program = &program;
	b->err = &e->err;
	b->control = e->c;
	bench_counters_after(b, with_peer);
	e->c = b->control;
	assert_false(error_is_set(&e->err));
	assert_null(b->local_counters);
	if (b->remote_counters)
		assert_int_equal(json_integer_value(json_object_get(b->remote_counters, "a")), 4);
	e->err.from_peer = b->remote_counters != NULL; /* for the test */
	json_decref(b->remote_counters);
	free(b);
}

static bool known(struct ends *e)
{
	exchange_by(e, true);
	return e->err.from_peer;
}

static void test_known(void **state)
{
	struct ends *e = *state;
	char got[64] = "";

	peer_says(e, "{\"type\":\"counters\",\"values\":{\"a\":4}}");
	assert_true(known(e));
	assert_true(recv(e->peer, got, sizeof(got) - 1, 0) > FRAME_HEADER);
	assert_string_equal(got + FRAME_HEADER, "{\"type\":\"counters\",\"values\":null}");
}

static void test_without_peer(void **state)
{
	struct ends *e = *state;
	char got[8];

	exchange_by(e, false);
	assert_int_equal(recv(e->peer, got, sizeof(got), MSG_DONTWAIT), -1);
}

static void test_unknown(void **state)
{
	static const char *const says[] = {
		"{\"type\":\"counters\"}", "{\"type\":\"counters\",\"values\":null}",
		"{\"type\":\"counters\",\"values\":{\"a\":[]}}", "{\"type\":\"results\"}", "[",
		"{\"type\":\"abort\",\"stage\":\"results\",\"errno\":0,\"code\":5,\"text\":\"x\"}",
	};

	for (size_t i = 0; i < COUNT(says); i++) {
		teardown(state);
		setup(state);
		peer_says(*state, says[i]);
		assert_false(known(*state));
	}
	/* One that is gone does not make us wait; deadlines are 3 s. */
	teardown(state);
	setup(state);
	hang_up(*state);
	assert_false(known(*state));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ENDS(test_known),
		WITH_ENDS(test_without_peer),
		WITH_ENDS(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
