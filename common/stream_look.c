/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the pump does now and then, and whenever nothing comes: news of the peer and the device,
 * deadlines, messages that count as lost, sleep.
 */
#include "stream_ops.h"

#include <errno.h>
#include <sched.h>

#include "units.h"

#define LOOK_NS (5 * NS_PER_MS)
#define SLEEP_MS 100
#define LOSS_NS (20 * NS_PER_MS)        /* without a credit, before all on its way is lost */
#define LOSS_FIRST_NS (250 * NS_PER_MS) /* while no credit ever came */
#define LOSS_VERIFY_NS NS_PER_S         /* --verify: a slot must not be written twice */
#define DRAIN_NS (250 * NS_PER_MS)      /* for the last messages, after done */

static int fail(struct stream *s, enum exit_code code, const char *text)
{
	if (text)
		error_set(s->w->err, code, 0, "%s", text);
	s->w->end = WAIT_FAILED;
	return -1;
}

static int take_count(json_t *m, const char *key, uint64_t *v)
{
	json_t *n = json_object_get(m, key);

	if (!json_is_integer(n) || json_integer_value(n) < 0)
		return -EINVAL;
	*v = (uint64_t)json_integer_value(n);
	return 0;
}

/* The peer has sent its last message. Once we have too, it may go on to its results. */
static int take_done(struct stream *s)
{
	struct wait *w = s->w;
	json_t *m = w->done, *lanes = json_object_get(m, "lanes");
	int rc = take_count(m, "warmup", &s->peer_warmup) ||
		 take_count(m, "messages", &s->peer_sent) ||
		 take_count(m, "warmup_arrived", &s->peer_warmup_arrived) ||
		 (s->plan.verify && json_array_size(lanes) != s->plan.qps);

	w->end = WAIT_OK;
	w->done = NULL;
	s->peer_lanes = rc ? NULL : json_incref(lanes);
	json_decref(m);
	if (rc)
		return fail(s, EXIT_PEER, "the peer ended the run with numbers that make no sense");
	s->peer_done = true;
	s->fruit = now_ns();
	if (s->own_done || !s->set.sends)
		w->control = NULL;
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
	if (s->w->control && control_send(s->w->control, control_message("interrupt"),
					  deadline_in(NS_PER_S), s->w->err))
		return fail(s, EXIT_PEER, NULL);
	return 0;
}

static int look_around(struct stream *s, int ms)
{
	if (!wait_sleep(s->w, ms))
		return 0;
	switch (s->w->end) {
	case WAIT_DONE:
		return take_done(s);
	case WAIT_INTERRUPT:
		s->w->end = WAIT_OK;
		return interrupt(s, false);
	default:
		return -1;
	}
}

static uint64_t ticks(const struct stream *s, uint64_t ns)
{
	return cycles_from_ns(ns, s->set.hz);
}

/* Nothing can be posted, and credits are due. Completions may be due too: of unsignaled ones none. */
static bool is_starving(const struct stream *s)
{
	return s->plan.lossy && s->credits && !s->head && s->credited + s->written_off < s->sent;
}

static void write_off(struct stream *s, uint64_t now)
{
	uint64_t least = ticks(s, s->plan.verify ? LOSS_VERIFY_NS : LOSS_NS);
	uint64_t since = s->last_progress > s->written_off_at ? s->last_progress :
								s->written_off_at;
	uint64_t due = 4 * s->longest_gap > least ? 4 * s->longest_gap : least;

	if (!s->longest_gap && due < ticks(s, LOSS_FIRST_NS))
		due = ticks(s, LOSS_FIRST_NS);
	if (now - since < due)
		return;
	s->written_off_at = now;
	s->gap_from = 0; /* this pause says nothing of the peer's pace */
	for (unsigned int i = 0; i < s->plan.qps; i++) {
		struct stream_lane *l = &s->lanes[i];
		uint64_t known = l->credited + l->written_off;

		if (l->sent <= known)
			continue;
		s->written_off += l->sent - known;
		l->written_off += l->sent - known;
		stream_refresh(s, l);
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
static void look_at_clock(struct stream *s)
{
	uint64_t now = cycles_read(s->clock);

	if (!s->closed && now >= s->deadline)
		stream_close_quota(s);
	if (now >= s->next_line)
		stream_line(s, now);
	if (is_starving(s))
		write_off(s, now);
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

	if (s->received != s->announced && stream_flush_credits(s) < 0)
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
	if (s->set.sends)
		look_at_clock(s);
	if (look_at_deadlines(s, now))
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
		if (now_ns() >= s->w->run_deadline)
			return fail(s, EXIT_TIMED_OUT, "the run did not end within --timeout");
	}
	return 0;
}
