/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the pump does now and then, and whenever nothing comes: news of the peer and the device,
 * deadlines, messages that count as lost, sleep.
 */
#include "stream_ops.h"

#include <sched.h>
#include <string.h>

#include "units.h"

#define LOOK_NS (5 * NS_PER_MS)
#define SLEEP_MS 100
#define ALIVE_NS (2 * NS_PER_S)    /* between two frames to a peer that sees nothing come */
#define DRAIN_NS (250 * NS_PER_MS) /* for the last messages, after done */

static int fail(struct stream *s, enum exit_code code, const char *text)
{
	if (text)
		error_set(s->w->err, code, 0, "%s", text);
	s->w->end = WAIT_FAILED;
	return -1;
}

/* The peer has sent its last message. Once we have too, it may go on to its results. */
static int take_done(struct stream *s, json_t *m)
{
	json_t *lanes = json_object_get(m, "lanes");
	int rc = stream_take_count(json_object_get(m, "warmup"), &s->peer_warmup) ||
		 stream_take_count(json_object_get(m, "messages"), &s->peer_sent) ||
		 stream_take_count(json_object_get(m, "warmup_arrived"), &s->peer_warmup_arrived) ||
		 (s->plan.verify && json_array_size(lanes) != s->plan.qps);

	s->peer_lanes = rc ? NULL : json_incref(lanes);
	if (rc)
		return fail(s, EXIT_PEER, "the peer ended the run with numbers that make no sense");
	s->peer_done = true;
	if (s->own_done || !s->set.sends)
		s->w->control = NULL;
	return 0;
}

/* The user here, or the peer's, wants to end: what is sent is confirmed and reported. */
static int interrupt(struct stream *s, bool here)
{
	s->interrupted = true;
	if (s->set.sends && !s->closed)
		stream_close_quota(s);
	if (!here || s->told)
		return 0;
	s->told = true;
	return stream_tell(s, control_message("interrupt"));
}

static int take_frame(struct stream *s)
{
	json_t *m = s->w->done;
	const char *type = json_string_value(json_object_get(m, "type"));
	int rc = 0;

	s->w->end = WAIT_OK;
	s->w->done = NULL;
	s->fruit = now_ns();
	if (!strcmp(type, "done"))
		rc = take_done(s, m);
	else if (!strcmp(type, "probe"))
		s->probed = true;
	else if (!strcmp(type, "counts"))
		rc = stream_take_counts(s, m);
	json_decref(m);
	return rc;
}

static int look_around(struct stream *s, int ms)
{
	if (!wait_sleep(s->w, ms))
		return 0;
	switch (s->w->end) {
	case WAIT_DONE:
		return take_frame(s);
	case WAIT_INTERRUPT:
		s->w->end = WAIT_OK;
		return interrupt(s, false);
	default:
		return -1;
	}
}

/* "interval 3: 1.000 s, 1234567 messages, 78.974 Gb/s" */
void stream_line(struct stream *s, uint64_t t)
{
	double seconds = (double)(t - s->line_from) / s->set.hz;
	uint64_t messages = s->seen - s->line_seen;

	fprintf(s->set.lines, "interval %u: %.3f s, %llu messages, %.3f Gb/s\n", ++s->line_count,
		seconds, (unsigned long long)messages,
		units_gbit_s((double)messages * (double)s->size / seconds));
	fflush(s->set.lines);
	s->line_from = t;
	s->line_seen = s->seen;
	s->next_line += s->line_every;
	if (s->next_line <= t)
		s->next_line = t + s->line_every;
}

/* What the clock brings about while this end sends. */
static int look_at_clock(struct stream *s)
{
	uint64_t now = cycles_read(s->clock);

	if (!s->closed && now >= s->deadline)
		stream_close_quota(s);
	if (now >= s->next_line)
		stream_line(s, now);
	return s->plan.lossy && s->credits ? stream_probe_if_starving(s, now) : 0;
}

/* Where the peer sees nothing come it could not tell a long run from a sender that stopped. */
static int say_alive(struct stream *s, uint64_t now)
{
	if (s->plan.op->receives || !s->set.sends || s->own_done || now < s->next_alive)
		return 0;
	s->next_alive = now + ALIVE_NS;
	return stream_tell(s, control_message("alive"));
}

static int look_at_deadlines(struct stream *s, uint64_t now)
{
	if (now >= s->w->run_deadline)
		return fail(s, EXIT_TIMED_OUT, "the run did not end within --timeout");
	if (s->peer_done && s->plan.lossy && now - s->fruit >= DRAIN_NS)
		s->drained = true;
	if (now - s->fruit < s->w->idle_ns)
		return 0;
	error_set(s->w->err, EXIT_TIMED_OUT, 0,
		  "nothing came from the peer for %llu s at stage %s, though its control connection "
		  "is up", (unsigned long long)(s->w->idle_ns / NS_PER_S), s->w->err->stage);
	return fail(s, EXIT_TIMED_OUT, NULL);
}

static int arm(struct stream *s)
{
	const struct endpoint *e = s->set.endpoint;
	int rc = 0;

	if (stream_settle(s))
		return -1;
	for (unsigned int g = 0; g < e->cqs_count && !rc; g++) {
		rc = ibv_req_notify_cq(e->cqs[g].send, 0);
		if (!rc && e->cqs[g].recv != e->cqs[g].send)
			rc = ibv_req_notify_cq(e->cqs[g].recv, 0);
	}
	s->armed = true;
	if (!rc)
		return 0;
	error_set(s->w->err, EXIT_FAILED, rc, "ibv_req_notify_cq");
	return fail(s, EXIT_FAILED, NULL);
}

/* How long there is nothing to do but to wait for a completion. */
static int sleep_ms(const struct stream *s)
{
	uint64_t now = cycles_read(s->clock);
	double left = s->deadline > now ? (double)(s->deadline - now) / s->set.hz * 1e3 : 0;
	double ms = SLEEP_MS;

	if (s->set.sends && !s->closed && left < ms)
		ms = left;
	if (s->head && rate_limits(&s->rate))
		ms = (double)rate_next(&s->rate) / s->set.hz * 1e3;
	if (s->plan.lossy && ms > 10)
		ms = 10;
	return ms < SLEEP_MS ? (int)ms : SLEEP_MS;
}

/* --events: arm, one pass that polls all again, sleep. */
static int look_asleep(struct stream *s, uint64_t now)
{
	int ms;

	if (now - s->fruit < s->w->spin_ns)
		return 0;
	if (!s->armed)
		return arm(s);
	s->armed = false;
	ms = sleep_ms(s);
	return ms ? look_around(s, ms) : 0;
}

int stream_look(struct stream *s, bool idle)
{
	uint64_t now = now_ns();

	s->idle_passes = s->w->spins;
	s->busy_passes = STREAM_BUSY_PASSES;
	if (s->came) {
		s->came = s->armed = false;
		s->fruit = now;
	}
	if (s->w->yield && idle)
		sched_yield();
	if (stop_signal && !s->told && interrupt(s, true))
		return -1;
	if ((s->set.sends && look_at_clock(s)) || say_alive(s, now) || look_at_deadlines(s, now))
		return -1;
	if (s->w->channel && idle)
		return look_asleep(s, now);
	if (now < s->next_look)
		return 0;
	s->next_look = now + LOOK_NS;
	return look_around(s, 0);
}

int stream_wait_done(struct stream *s)
{
	while (!s->peer_done) {
		if (look_around(s, SLEEP_MS))
			return -1;
		if (stop_signal && !s->told && interrupt(s, true))
			return -1;
		if (look_at_deadlines(s, now_ns()))
			return -1;
	}
	return 0;
}
