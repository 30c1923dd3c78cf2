/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits that sleep: on a completion channel, where no wake-up may be lost; for an end that has
 * nothing to do; and how long a message may take before it counts as lost.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "wait.h"
#include "wait_ops.h"

/* A CQ whose completions come when the script says so, and a channel that is a pipe. */
static struct {
	int polls, arms, events, acks;
	int comes_at_poll;       /* from this poll on there is a completion; 0: never */
	bool comes_at_arm;       /* it came just before the CQ was armed: there is no event */
	int event_at_arm;        /* arming so often, the event comes at once */
	bool completion;         /* is there with the event */
	int notify_rc;
	int pipe[2];
	bool done;
	int polls_at_event;
} fake;

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)n;
	fake.polls++;
	if (!fake.done && !(fake.comes_at_poll && fake.polls >= fake.comes_at_poll))
		return 0;
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = 77;
	return 1;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	assert_int_equal(solicited, 0);
	fake.arms++;
	if (fake.comes_at_arm)
		fake.done = true;
	if (fake.event_at_arm == fake.arms) {
		assert_int_equal(write(fake.pipe[1], "e", 1), 1);
		fake.done = fake.completion;
	}
	return fake.notify_rc;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	char c;

	*cq = NULL;
	*context = NULL;
	if (read(channel->fd, &c, 1) != 1)
		return -1;
	fake.events++;
	fake.polls_at_event = fake.polls;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	(void)cq;
	fake.acks += (int)n;
}

struct world {
	struct control control;
	struct ibv_context ctx;
	struct ibv_comp_channel channel;
	struct ibv_cq cq;
	struct wait w;
	struct error err;
	int peer;
};

static int setup(void **state)
{
	struct world *t = calloc(1, sizeof(*t));
	int fds[2];

	memset(&fake, 0, sizeof(fake));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(pipe2(fake.pipe, O_NONBLOCK), 0);
	error_init(&t->err, "x");
	t->err.stage = "run";
	control_init(&t->control);
	control_adopt(&t->control, fds[0]);
	t->peer = fds[1];
	t->ctx.ops.poll_cq = poll_cq;
	t->ctx.ops.req_notify_cq = req_notify_cq;
	t->cq.context = &t->ctx;
	t->channel.fd = fake.pipe[0];
	t->w = (struct wait){ .control = &t->control, .run_deadline = DEADLINE_NEVER,
			      .channel = &t->channel, .err = &t->err };
	wait_init(&t->w);
	stop_signal = 0;
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct world *t = *state;

	stop_signal = 0;
	control_close(&t->control);
	close(t->peer);
	close(fake.pipe[0]);
	close(fake.pipe[1]);
	free(t);
	return 0;
}

static int take(struct world *t)
{
	return wait_cq(&t->w, &t->cq, 1, CLOCK_SRC_GETTIME, NULL);
}

static void peer_says(struct world *t, const char *text)
{
	uint8_t header[8] = { 'V', 'P', 'F', '1', 0, 0, 0, (uint8_t)strlen(text) };

	assert_int_equal(send(t->peer, header, 8, 0), 8);
	assert_int_equal(send(t->peer, text, strlen(text), 0), strlen(text));
}

#define DONE "{\"type\":\"done\",\"laps\":5,\"warmup\":1,\"number\":6}"

/* What is there is taken without a system call. */
static void test_at_once(void **state)
{
	struct world *t = *state;
	uint64_t id = 0;

	fake.comes_at_poll = 1;
	assert_int_equal(take(t), 1);
	assert_int_equal(fake.arms + fake.events, 0);
	assert_int_equal(wait_cq_id(&t->w, &t->cq, 1, CLOCK_SRC_GETTIME, NULL, &id), 1);
	assert_int_equal(id, 77);
}

/* It came between the poll that gave nothing and the arming: no event will tell of it. */
static void test_race_with_arming(void **state)
{
	struct world *t = *state;
	uint64_t start = now_ns();

	fake.comes_at_arm = true;
	assert_int_equal(take(t), 1);
	assert_int_equal(fake.arms, 1);
	assert_int_equal(fake.events, 0);
	assert_int_equal(fake.polls, 2);
	/* Without the poll behind the arming it sleeps 100 ms, and 100 ms, ... */
	assert_true(now_ns() - start < NS_PER_S);
}

/* Poll, arm, poll, sleep, event, poll. */
static void test_event(void **state)
{
	struct world *t = *state;

	fake.event_at_arm = 1;
	fake.completion = false;
	fake.comes_at_poll = 3;
	assert_int_equal(take(t), 1);
	assert_int_equal(fake.arms, 1);
	assert_int_equal(fake.events, 1);
	assert_int_equal(fake.acks, 1);
	assert_int_equal(fake.polls_at_event, 2);
	assert_int_equal(fake.polls, 3);
}

/* An event of another CQ, or of a completion that was taken before: armed anew before the sleep. */
static void test_events_for_nothing(void **state)
{
	struct world *t = *state;

	for (int i = 0; i < 3; i++)
		assert_int_equal(write(fake.pipe[1], "x", 1), 1);
	fake.event_at_arm = 3;
	fake.completion = true;
	assert_int_equal(take(t), 1);
	assert_int_equal(fake.arms, 3);
	/* All that had come were taken at the first waking. */
	assert_true(fake.events >= 3 && fake.events <= 4);
	assert_int_equal(fake.acks, fake.events);
}

/* --spin: no arming before the time is over. */
static void test_spin(void **state)
{
	struct world *t = *state;
	uint64_t start = now_ns();

	t->w.spin_ns = 30 * NS_PER_MS;
	wait_init(&t->w);
	fake.event_at_arm = 1;
	fake.completion = true;
	assert_int_equal(take(t), 1);
	assert_true(now_ns() - start >= 30 * NS_PER_MS);
	assert_true(fake.polls > 2);
	assert_int_equal(fake.arms, 1);
}

/* A sleeper hears of its peer, of a signal, of the end of its time. */
static void test_asleep(void **state)
{
	struct world *t = *state;

	peer_says(t, DONE);
	assert_int_equal(take(t), -1);
	assert_int_equal(t->w.end, WAIT_DONE);
	assert_int_equal(t->w.done_number, 6);
	t->w.end = WAIT_OK;
	t->w.run_deadline = now_ns() + 20 * NS_PER_MS;
	assert_int_equal(take(t), -1);
	assert_error(&t->err, EXIT_TIMED_OUT, "within --timeout");
	stop_signal = SIGTERM;
	assert_int_equal(take(t), -1);
	assert_int_equal(t->w.end, WAIT_INTERRUPT);
}

static void test_cannot_arm(void **state)
{
	struct world *t = *state;

	fake.notify_rc = EIO;
	assert_int_equal(take(t), -1);
	assert_error(&t->err, EXIT_FAILED, "ibv_req_notify_cq: Input/output error");
}

/* ---- losses */

static struct wait_slow begun(uint64_t ago)
{
	uint64_t now = now_ns();

	return (struct wait_slow){ .start = now - ago, .next = now - 1, .step = 200000 };
}

static void test_loss(void **state)
{
	struct world *t = *state;
	struct wait_slow s = begun(100 * NS_PER_MS);

	t->w.loss_ns = 3600 * NS_PER_S;
	assert_int_equal(wait_slow_look(&t->w, &s), 0);
	t->w.loss_ns = 100 * NS_PER_MS;
	s.next = 0;
	assert_int_equal(wait_slow_look(&t->w, &s), -1);
	assert_int_equal(t->w.end, WAIT_LOST);
	assert_false(error_is_set(&t->err));
	/* Nothing is ever lost: as long as the peer may be silent. */
	t->w.end = WAIT_OK;
	t->w.loss_ns = 0;
	s = begun(5 * NS_PER_S);
	assert_int_equal(wait_slow_look(&t->w, &s), 0);
	t->w.idle_ns = 4 * NS_PER_S;
	s.next = 0;
	assert_int_equal(wait_slow_look(&t->w, &s), -1);
	assert_error(&t->err, EXIT_TIMED_OUT, "nothing came from the peer for 4 s at stage run");
}

/* News that lie ready come before the verdict that a message was lost. */
static void test_loss_and_news(void **state)
{
	struct world *t = *state;
	struct wait_slow s = begun(NS_PER_S);

	t->w.loss_ns = NS_PER_MS;
	peer_says(t, DONE);
	assert_int_equal(wait_slow_look(&t->w, &s), -1);
	assert_int_equal(t->w.end, WAIT_DONE);
}

/* ---- an end that has nothing to do */

static void test_passive(void **state)
{
	struct world *t = *state;

	peer_says(t, DONE);
	assert_int_equal(wait_passive(&t->w), 0);
	assert_int_equal(t->w.done_laps, 5);
	t->w.end = WAIT_OK;
	peer_says(t, "{\"type\":\"interrupt\"}");
	assert_int_equal(wait_passive(&t->w), -1);
	assert_int_equal(t->w.end, WAIT_INTERRUPT);
	t->w.run_deadline = now_ns() + 10 * NS_PER_MS;
	assert_int_equal(wait_passive(&t->w), -1);
	assert_error(&t->err, EXIT_TIMED_OUT, "within --timeout");
	error_init(&t->err, "x");
	t->err.stage = "run";
	t->w.run_deadline = DEADLINE_NEVER;
	stop_signal = SIGINT;
	t->w.end = WAIT_OK;
	assert_int_equal(wait_passive(&t->w), -1);
	assert_int_equal(t->w.end, WAIT_INTERRUPT);
	stop_signal = 0;
	shutdown(t->peer, SHUT_RDWR);
	assert_int_equal(wait_passive(&t->w), -1);
	assert_error(&t->err, EXIT_PEER, "lost at stage run");
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(test_at_once), IN_WORLD(test_race_with_arming),   IN_WORLD(test_event),
		IN_WORLD(test_events_for_nothing), IN_WORLD(test_spin),	   IN_WORLD(test_asleep),
		IN_WORLD(test_cannot_arm), IN_WORLD(test_loss), IN_WORLD(test_loss_and_news),
		IN_WORLD(test_passive),
	};

	return cmocka_run_group_tests_name("wait_events", tests, NULL, NULL);
}
