/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wait.h"

#include "endpoint.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>

#define LOOK_FIRST_NS 200000ull
#define LOOK_LATEST_NS (500 * NS_PER_MS)
#define LOOK_MOST_NS (5 * NS_PER_MS)
#define EVENT_NS (500 * NS_PER_MS) /* for the event behind a failed completion */

#define SPINS 1024 /* polls before the clock is read: about a microsecond */
#define SLEEP_MS 100 /* at most, so that a signal that came just before is seen */

void wait_init(struct wait *w)
{
	if (!w->idle_ns)
		w->idle_ns = WAIT_IDLE_NS;
	w->spins = !w->channel ? SPINS : w->spin_ns ? 64 : 1;
}

static int end_with(struct wait *w, enum wait_end end)
{
	w->end = end;
	return -1;
}

static void slow_begin(struct wait *w, struct wait_slow *s)
{
	uint64_t first = 4 * w->slow_ns;

	/* One long stall must not blind the laps after it. */
	if (first > LOOK_LATEST_NS)
		first = LOOK_LATEST_NS;
	s->start = now_ns();
	s->step = first > LOOK_FIRST_NS ? first : LOOK_FIRST_NS;
	s->next = s->start + s->step;
	if (s->step > LOOK_MOST_NS)
		s->step = LOOK_MOST_NS;
}

void wait_slow_end(struct wait *w, const struct wait_slow *s)
{
	w->slow_ns = now_ns() - s->start;
}

/* An event of our port, of a QP or CQ, or of the whole device ends the run; others do not. */
static bool event_is_ours(const struct wait *w, const struct ibv_async_event *e)
{
	switch (e->event_type) {
	case IBV_EVENT_PORT_ERR:
		return e->element.port_num == w->port;
	case IBV_EVENT_CQ_ERR:
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_SRQ_ERR:
		return true;
	default:
		return false;
	}
}

/* @cause: only an event that explains why a work request has failed. */
static int take_async(struct wait *w, bool cause)
{
	struct ibv_async_event e;
	const char *name;
	bool ours;

	if (ibv_get_async_event(w->async, &e))
		return 0;
	name = ibv_event_type_str(e.event_type);
	ours = event_is_ours(w, &e) && (!cause || e.event_type == IBV_EVENT_PORT_ERR ||
					e.event_type == IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&e);
	if (!ours)
		return 0;
	error_set(w->err, EXIT_FAILED, 0, "%s reports an event: %s",
		  ibv_get_device_name(w->async->device), name);
	return end_with(w, WAIT_FAILED);
}

static int take_done(struct wait *w, const struct control *c, json_t *msg)
{
	json_t *laps = json_object_get(msg, "laps"), *warmup = json_object_get(msg, "warmup");
	json_t *number = json_object_get(msg, "number");

	if (!json_is_integer(laps) || !json_is_integer(warmup) || json_integer_value(warmup) < 0 ||
	    json_integer_value(laps) < json_integer_value(warmup) || !json_is_integer(number) ||
	    json_integer_value(number) < 0) {
		error_set(w->err, EXIT_PEER, EPROTO, "peer %s ended the run with numbers that make no "
			  "sense", c->peer);
		return end_with(w, WAIT_FAILED);
	}
	w->done_laps = (uint64_t)json_integer_value(laps);
	w->done_warmup = (uint64_t)json_integer_value(warmup);
	w->done_number = (uint64_t)json_integer_value(number);
	return end_with(w, WAIT_DONE);
}

/* What the ends of a stream tell each other while it runs. */
static bool is_of_stream(const char *type)
{
	static const char *const types[] = { "done", "alive", "probe", "counts" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

static int take_message(struct wait *w, struct control *c)
{
	json_t *msg;
	int got = control_try_recv(c, &msg, w->err);
	const char *type;

	if (got == 0)
		return 0;
	if (got < 0)
		return end_with(w, WAIT_FAILED);
	type = json_string_value(json_object_get(msg, "type"));
	if (w->raw_done && is_of_stream(type)) {
		w->done = json_incref(msg);
		end_with(w, WAIT_DONE);
	} else if (!strcmp(type, "done")) {
		take_done(w, c, msg);
	} else if (!strcmp(type, "interrupt")) {
		end_with(w, WAIT_INTERRUPT);
	} else {
		char clean[32];

		error_sanitise(clean, sizeof(clean), type, strlen(type));
		error_set(w->err, EXIT_PEER, EPROTO, "peer %s sent %s in the middle of a run",
			  c->peer, clean);
		end_with(w, WAIT_FAILED);
	}
	json_decref(msg);
	return -1;
}

/* Any event wakes; which CQ it was is seen by polling. */
static void take_cq_events(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

int wait_sleep(struct wait *w, int ms)
{
	struct pollfd p[3 + WAIT_OTHERS_MAX] = {
		{ .fd = w->control ? w->control->fd : -1, .events = POLLIN },
		{ .fd = w->async ? w->async->async_fd : -1, .events = POLLIN },
		{ .fd = w->channel ? w->channel->fd : -1, .events = POLLIN }
	};

	for (unsigned int i = 0; i < w->other_count; i++)
		p[3 + i] = (struct pollfd){ .fd = w->others[i]->fd, .events = POLLIN };
	/* A frame may have come in one piece with the one before it. */
	if (w->control && w->control->in_len && take_message(w, w->control))
		return -1;
	if (poll(p, 3 + w->other_count, ms) <= 0)
		return 0;
	if (p[2].revents)
		take_cq_events(w->channel);
	if (p[1].revents && take_async(w, false))
		return -1;
	for (unsigned int i = 0; i < w->other_count; i++)
		if (p[3 + i].revents && take_message(w, w->others[i]))
			return -1;
	return p[0].revents ? take_message(w, w->control) : 0;
}

/* 0 or an errno value. */
static int arm(const struct wait_slow *s)
{
	int rc = ibv_req_notify_cq(s->cq, 0);

	for (unsigned int i = 0; !rc && i < s->group_count; i++)
		if (s->groups[i].recv != s->cq)
			rc = ibv_req_notify_cq(s->groups[i].recv, 0);
	return rc;
}

/* --events: spin, then arm the CQs, poll once more, then sleep. */
static int look_asleep(struct wait *w, struct wait_slow *s)
{
	if (!s->armed && now_ns() - s->start < w->spin_ns)
		return 0;
	if (!s->armed) {
		int rc = arm(s);

		if (rc) {
			error_set(w->err, EXIT_FAILED, rc, "ibv_req_notify_cq");
			return end_with(w, WAIT_FAILED);
		}
		s->armed = true;
		return 0;
	}
	s->armed = false;
	return wait_sleep(w, SLEEP_MS);
}

/* The ends that only time can bring. */
static int look_at_time(struct wait *w, const struct wait_slow *s, uint64_t now)
{
	if (now >= w->run_deadline) {
		error_set(w->err, EXIT_TIMED_OUT, 0, "the run did not end within --timeout");
		return end_with(w, WAIT_FAILED);
	}
	if (w->loss_ns && now - s->start >= w->loss_ns)
		return end_with(w, WAIT_LOST);
	if (now - s->start >= w->idle_ns) {
		error_set(w->err, EXIT_TIMED_OUT, 0,
			  "nothing came from the peer for %llu s at stage %s, though its control "
			  "connection is up", (unsigned long long)(w->idle_ns / NS_PER_S), w->err->stage);
		return end_with(w, WAIT_FAILED);
	}
	return 0;
}

int wait_slow_look(struct wait *w, struct wait_slow *s)
{
	uint64_t now;

	if (!s->start)
		slow_begin(w, s);
	if (w->yield)
		sched_yield();
	if (stop_asked())
		return end_with(w, WAIT_INTERRUPT);
	if (w->channel && s->cq && look_asleep(w, s))
		return -1;
	now = now_ns();
	if (now < s->next)
		return 0;
	s->step = s->step * 2 < LOOK_MOST_NS ? s->step * 2 : LOOK_MOST_NS;
	s->next = now + s->step;
	if (wait_sleep(w, 0))
		return -1;
	return look_at_time(w, s, now);
}

/* The three or four failures that users meet, and what they usually are. */
static const char *completion_hint(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_RETRY_EXC_ERR:
		return "the peer's device does not answer: is it gone, is the path or the GID wrong, "
		       "does a firewall drop UDP port 4791?";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "the peer posted no receive in time";
	case IBV_WC_REM_ACCESS_ERR:
		return "the peer's memory region does not allow this access";
	case IBV_WC_WR_FLUSH_ERR:
		return "the queue pair had failed before";
	case IBV_WC_REM_INV_REQ_ERR:
		return "the peer's device rejects the request: is the path MTU the same on both ends?";
	default:
		return NULL;
	}
}

static bool may_have_event(enum ibv_wc_status status)
{
	return status == IBV_WC_LOC_QP_OP_ERR || status == IBV_WC_WR_FLUSH_ERR ||
	       status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_FATAL_ERR ||
	       status == IBV_WC_GENERAL_ERR;
}

/*
 * A port that goes down fails the work request first, and says why a little later. News of the
 * peer may be the reason as well, and the caller takes them.
 */
static bool event_says_why(struct wait *w)
{
	struct pollfd p[2] = { { .fd = w->async->async_fd, .events = POLLIN },
			       { .fd = w->control ? w->control->fd : -1, .events = POLLIN } };
	uint64_t deadline = deadline_in(EVENT_NS);

	while (poll(p, 2, deadline_poll_ms(deadline, 1000)) > 0) {
		if (p[0].revents && take_async(w, true))
			return true;
		if (p[1].revents || deadline_passed(deadline))
			return false;
	}
	return false;
}

int wait_bad_completion(struct wait *w, const struct ibv_wc *wc)
{
	const char *hint = completion_hint(wc->status);

	if (w->async && may_have_event(wc->status) && event_says_why(w))
		return -1;
	error_set(w->err, EXIT_FAILED, 0,
		  "work request %llu on QP 0x%06x failed: %s (status %d, vendor error 0x%x)%s%s",
		  (unsigned long long)wc->wr_id, wc->qp_num, ibv_wc_status_str(wc->status),
		  (int)wc->status, wc->vendor_err, hint ? "; " : "", hint ? hint : "");
	return end_with(w, WAIT_FAILED);
}

int wait_poll_failed(struct wait *w, int rc)
{
	error_set(w->err, EXIT_FAILED, rc < -1 ? -rc : errno, "ibv_poll_cq");
	return end_with(w, WAIT_FAILED);
}

int wait_for_done(struct wait *w, uint64_t deadline)
{
	while (!take_message(w, w->control) && !wait_sleep(w, deadline_poll_ms(deadline, SLEEP_MS))) {
		if (!deadline_passed(deadline))
			continue;
		error_set(w->err, EXIT_TIMED_OUT, 0, "the client did not end the run in time");
		return end_with(w, WAIT_FAILED);
	}
	return w->end == WAIT_DONE ? 0 : -1;
}

int wait_passive(struct wait *w)
{
	while (!wait_sleep(w, SLEEP_MS)) {
		if (stop_signal)
			return end_with(w, WAIT_INTERRUPT);
		if (!deadline_passed(w->run_deadline))
			continue;
		error_set(w->err, EXIT_TIMED_OUT, 0, "the run did not end within --timeout");
		return end_with(w, WAIT_FAILED);
	}
	return w->end == WAIT_DONE ? 0 : -1;
}
