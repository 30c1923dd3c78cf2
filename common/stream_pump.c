/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pump of an end: posts, polls, and takes the time of what was confirmed. */
#include "stream_ops.h"

#include "units.h"

#define WINDOW_NS (100 * NS_PER_MS)
#define FLUSH_POLLS 64 /* polls without data before what is not credited yet is */

void stream_enqueue(struct stream *s, struct stream_lane *l)
{
	l->ready = true;
	l->next_ready = NULL;
	if (s->tail)
		s->tail->next_ready = l;
	else
		s->head = l;
	s->tail = l;
}

/* In the message the number of the request is that of the lane's message. */
int stream_bad(struct stream *s, const struct ibv_wc *wc)
{
	struct ibv_wc shown = *wc;
	struct stream_lane *l = &s->lanes[ID_LANE(wc->wr_id) < s->plan.qps ? ID_LANE(wc->wr_id) : 0];

	shown.wr_id = l->completed + 1;
	if (!(wc->wr_id & (ID_CREDIT | ID_CONFIRM)))
		shown.wr_id = l->completed + (ID_COUNT(wc->wr_id) ? ID_COUNT(wc->wr_id) : 1);
	return wait_bad_completion(s->w, &shown);
}

/* A lane whose last message is not signaled gets one more; nothing else is posted. */
void stream_close_quota(struct stream *s)
{
	s->closed = true;
	s->quota = 0;
	for (unsigned int i = 0; i < s->plan.qps; i++) {
		struct stream_lane *l = &s->lanes[i];
		uint64_t end = l->sent + (l->unsignaled != 0);

		if (end < l->quota)
			l->quota = end;
		s->quota += l->quota;
	}
	/* Lanes that are ready and have nothing to post any more leave the queue. */
	s->head = s->tail = NULL;
	for (unsigned int i = 0; i < s->plan.qps; i++) {
		s->lanes[i].ready = false;
		stream_refresh(s, &s->lanes[i]);
	}
}

void stream_see_progress(struct stream *s)
{
	uint64_t p = stream_progress(s) - s->phase_progress, t;

	if (p == s->seen)
		return;
	t = cycles_read(s->clock);
	s->seen = p;
	s->last_progress = t;
	windows_add(&s->windows, t, p);
	if (s->gap_from && t - s->gap_from > s->longest_gap)
		s->longest_gap = t - s->gap_from;
	s->gap_from = t;
	if (t >= s->deadline && !s->closed)
		stream_close_quota(s);
	if (t >= s->next_line)
		stream_line(s, t);
}

static int take_sent(struct stream *s, const struct ibv_wc *wc)
{
	struct stream_lane *l = &s->lanes[ID_LANE(wc->wr_id)];

	if (__builtin_expect((wc->wr_id & (ID_CREDIT | ID_CONFIRM)) != 0, 0)) {
		if (wc->wr_id & ID_CONFIRM)
			s->confirms--;
		else
			l->credits_out--;
		return 0;
	}
	l->completed += ID_COUNT(wc->wr_id);
	s->completed += ID_COUNT(wc->wr_id);
	if (s->plan.verify && s->plan.op->fetches && stream_check_fetched(s, l))
		return -1;
	stream_refresh(s, l);
	return 0;
}

static int poll_sent(struct stream *s)
{
	const struct endpoint *e = s->set.endpoint;
	struct ibv_wc wc[16];
	int all = 0;

	for (unsigned int g = 0; g < e->cqs_count; g++) {
		int got = ibv_poll_cq(e->cqs[g].send, 16, wc);

		if (__builtin_expect(got < 0, 0))
			return wait_poll_failed(s->w, got);
		for (int i = 0; i < got; i++) {
			if (__builtin_expect(wc[i].status != IBV_WC_SUCCESS, 0))
				return stream_bad(s, &wc[i]);
			if (take_sent(s, &wc[i]))
				return -1;
		}
		all += got;
	}
	return all;
}

static int post_some(struct stream *s)
{
	unsigned int budget = s->burst_size;
	int posted;

	if (rate_limits(&s->rate)) {
		uint64_t allowed = rate_allowed(&s->rate, cycles_read(s->clock));

		budget = allowed < budget ? (unsigned int)allowed : budget;
		if (!budget)
			return 0;
	}
	posted = s->burst(s, budget);
	if (rate_limits(&s->rate) && posted > 0)
		rate_take(&s->rate, (uint64_t)posted);
	return posted;
}

static int poll_received(struct stream *s)
{
	int got = stream_poll_recv(s);

	if (got < 0 || (s->received == s->announced && !s->probed) ||
	    ++s->recv_empty < FLUSH_POLLS)
		return got;
	s->recv_empty = 0;
	return stream_settle(s) ? -1 : got;
}

/* Until @reached. What an end does not do folds away. */
static inline __attribute__((always_inline)) int
pump(struct stream *s, bool sends, bool receives, bool (*reached)(const struct stream *s))
{
	while (!reached(s)) {
		int posted = sends && s->head ? post_some(s) : 0;
		int sent = poll_sent(s);
		int got = receives ? poll_received(s) : 0;

		if (__builtin_expect(posted < 0 || sent < 0 || got < 0, 0))
			return -1;
		if (sends && sent + got)
			stream_see_progress(s);
		if (posted + sent + got) {
			s->came = true;
			s->idle_passes = s->w->spins;
			if (!--s->busy_passes && stream_look(s, false))
				return -1;
		} else if (!--s->idle_passes && stream_look(s, true)) {
			return -1;
		}
	}
	return 0;
}

static bool all_confirmed(const struct stream *s)
{
	return s->sent == s->quota && s->completed == s->sent && !s->probing &&
	       (!s->credits || s->credited + s->written_off >= s->sent);
}

static bool all_read(const struct stream *s)
{
	return !s->confirms;
}

static bool all_received(const struct stream *s)
{
	return s->peer_done && (s->drained || s->received - s->received_before >=
						      s->peer_warmup + s->peer_sent);
}

static int pump_send(struct stream *s)
{
	return pump(s, true, false, all_confirmed);
}

static int pump_send_with_credits(struct stream *s)
{
	return pump(s, true, true, all_confirmed);
}

static int pump_reads(struct stream *s)
{
	return pump(s, false, false, all_read);
}

static int pump_receive(struct stream *s)
{
	return pump(s, false, true, all_received);
}

static uint64_t add(uint64_t t, uint64_t more)
{
	return more < UINT64_MAX - t ? t + more : UINT64_MAX;
}

/* The lanes in turn: the first ones have one more where it does not come out even. */
static void set_quotas(struct stream *s, uint64_t messages)
{
	unsigned int n = s->plan.qps;

	s->closed = false;
	s->head = s->tail = NULL;
	s->quota = add(s->sent, messages);
	for (unsigned int i = 0; i < n; i++) {
		struct stream_lane *l = &s->lanes[i];

		l->ready = false;
		l->phase_sent = l->sent;
		l->quota = messages == UINT64_MAX ? UINT64_MAX :
						    l->sent + messages / n + (i < messages % n);
		stream_refresh(s, l);
	}
}

static void begin_phase(struct stream *s, const struct stream_goal *goal)
{
	uint64_t t;

	set_quotas(s, goal->messages);
	s->phase_sent = s->sent;
	s->phase_progress = stream_progress(s);
	s->phase_written_off = s->written_off;
	s->seen = 0;
	if (s->interrupted)
		stream_close_quota(s);
	s->fruit = now_ns();
	s->line_every = goal->interval;
	s->line_seen = 0;
	s->line_count = 0;
	t = cycles_read(s->clock);
	s->first_post = s->last_progress = s->gap_from = s->line_from = t;
	s->deadline = add(t, goal->ticks);
	s->next_line = goal->interval ? add(t, goal->interval) : UINT64_MAX;
	windows_start(&s->windows, t, cycles_from_ns(WINDOW_NS, s->set.hz));
	rate_start(&s->rate, goal->rate_cost, s->set.hz, t);
}

/* A READ of the last byte on each lane comes back when all its WRITEs are in memory. */
static int read_behind(struct stream *s)
{
	for (unsigned int i = 0; i < s->plan.qps; i++) {
		struct stream_lane *l = &s->lanes[i];
		int rc;

		if (l->sent == l->phase_sent)
			continue;
		rc = stream_post_confirm(s, l);
		if (rc)
			return stream_post_failed(s, l, rc);
		s->confirms++;
	}
	if (pump_reads(s))
		return -1;
	s->last_progress = cycles_read(s->clock);
	return 0;
}

static void take_figures(const struct stream *s, struct stream_figures *f)
{
	f->sent = s->sent - s->phase_sent;
	f->arrived = s->seen < f->sent ? s->seen : f->sent;
	f->ticks = s->last_progress - s->first_post;
	f->best = windows_best(&s->windows);
	f->worst = windows_worst(&s->windows);
	f->peak = windows_peak(&s->windows);
	f->presumed_lost = s->written_off - s->phase_written_off;
}

int stream_send(struct stream *s, const struct stream_goal *goal, struct stream_figures *f)
{
	int rc;

	begin_phase(s, goal);
	rc = s->credits ? pump_send_with_credits(s) : pump_send(s);
	if (!rc && s->set.confirm_by_read)
		rc = read_behind(s);
	take_figures(s, f);
	if (goal->warmup) {
		s->warmup_sent = f->sent;
		s->warmup_arrived = f->arrived;
	}
	return rc;
}

int stream_receive(struct stream *s)
{
	int rc;

	/* What a signal asked for is told already, or is no matter any more. */
	if (s->own_done && s->peer_done)
		s->w->control = NULL;
	s->fruit = now_ns();
	rc = s->set.receives ? pump_receive(s) : stream_wait_done(s);
	if (!rc && s->plan.verify)
		rc = stream_check_target(s);
	return rc;
}
