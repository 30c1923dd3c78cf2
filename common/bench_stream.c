/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One size of a bandwidth program: warm-up and measured messages, the done frame of each end that
 * sends, the exchange of results, from which both ends make the same report.
 */
#include "bench_peers.h"
#include "bench_stream_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rate.h"
#include "report_bw.h"
#include "stats_json.h"
#include "stream.h"

#define WARMUP_NS (200 * NS_PER_MS)

const struct bw_result *bench_stream_rows(const struct bench *b, unsigned int *count)
{
	*count = b->stream ? b->stream->count : 0;
	return b->stream ? b->stream->rows : NULL;
}

void bench_stream_close(struct bench *b)
{
	if (b->stream) {
		stream_close(b->stream->s);
		free(b->stream->rows);
	}
	free(b->stream);
	b->stream = NULL;
}

static double rate_cost_of(const struct bench *b, uint64_t size)
{
	return rate_cost(b->set.rate.bits, b->set.rate.messages, size, b->cert.hz);
}

static int open_stream(struct bench *b)
{
	struct bench_stream *t = b->stream = calloc(1, sizeof(*t));
	struct stream_setup setup = {
		.settings = &b->set,
		.op = b->op,
		.transport = b->transport,
		.endpoint = &b->endpoint,
		.remote = &b->remote,
		.lanes = b->lanes,
		.group = bench_mcast(b),
		.confirm_by_read = bench_stream_reads_behind(b),
		/* The client's first PSN, which both know. */
		.seed = b->server ? b->remote.psns[0] : b->local.psns[0],
		.clock = b->clock,
		.hz = b->cert.hz,
		.lines = bench_stdout_taken(b) ? stderr : stdout,
	};

	if (!t)
		return error_set(b->err, EXIT_FAILED, ENOMEM, "starting");
	t->sends = b->set.bidirectional || b->server == b->set.reversed;
	t->peer_sends = b->set.bidirectional || !t->sends;
	bench_fill_wait(b, &t->w);
	setup.wait = &t->w;
	setup.sends = t->sends;
	setup.receives = t->peer_sends && bench_stream_told(b);
	return stream_open(&t->s, &setup, b->err);
}

static void begin_wait(struct bench *b, uint64_t size)
{
	struct wait *w = &b->stream->w;
	double apart = rate_cost_of(b, size) / b->cert.hz * 1e9;

	bench_fill_wait(b, w);
	w->raw_done = true;
	w->idle_ns += apart < 1e15 ? (uint64_t)apart : 1000000 * NS_PER_S;
	wait_init(w);
}

static double a_second(const struct bench *b, double per_tick)
{
	return per_tick * b->cert.hz;
}

static void take_figures(struct bench *b, const struct stream_figures *f)
{
	b->stream->ours.sender = (struct sender){
		.there = true,
		.sent = f->sent,
		.arrived = f->arrived,
		.seconds = (double)f->ticks / b->cert.hz,
		.peak = a_second(b, f->peak),
		.best = a_second(b, f->best),
		.worst = a_second(b, f->worst),
		.confirmed = bench_stream_confirmed(b),
	};
}

static int send_done(struct bench *b, void *arg)
{
	(void)arg;
	return control_send(&b->control, stream_done_message(b->stream->s), deadline_in(STAGE_NS),
			    b->err);
}

/* Warm-up, then what is measured; all of each is confirmed before the next. */
static int send_all(struct bench *b, uint64_t size)
{
	struct stream_goal warmup = {
		.messages = b->set.warmup,
		.ticks = cycles_from_ns(WARMUP_NS, b->cert.hz),
		.rate_cost = rate_cost_of(b, size),
		.warmup = true,
	};
	struct stream_goal measured = {
		.messages = b->set.duration_ns ? UINT64_MAX : b->set.iters,
		.ticks = b->set.duration_ns ? cycles_from_ns(b->set.duration_ns, b->cert.hz) :
					      UINT64_MAX,
		.rate_cost = warmup.rate_cost,
		.interval = cycles_from_ns(b->set.interval_ns, b->cert.hz),
	};
	struct stream_figures f;
	int rc;

	b->err->stage = "warm-up";
	if (stream_send(b->stream->s, &warmup, &f))
		return -1;
	b->err->stage = "run";
	rc = stream_send(b->stream->s, &measured, &f);
	take_figures(b, &f);
	if (rc)
		return -1;
	return bench_each_peer(b, send_done, NULL);
}

static int run_stream(struct bench *b, uint64_t size)
{
	struct bench_stream *t = b->stream;

	b->err->stage = "run";
	if (t->sends && send_all(b, size))
		return -1;
	b->err->stage = "run";
	if (t->peer_sends && stream_receive(t->s))
		return -1;
	bench_note_end(b, &t->w);
	if (stream_interrupted(t->s))
		b->interrupted = true;
	bench_passed("run");
	if (t->peer_sends && bench_stream_told(b)) {
		t->theirs.received = stream_received(t->s);
		t->theirs.received_known = true;
	}
	return error_is_set(b->err) ? -1 : 0;
}

static json_t *sender_json(const struct sender *s)
{
	if (!s->there)
		return json_null();
	return json_pack("{s:I,s:I,s:o,s:o,s:o,s:o}", "sent", (json_int_t)s->sent, "arrived",
			 (json_int_t)s->arrived, "seconds", figure_json(s->seconds), "peak",
			 figure_json(s->peak), "best", figure_json(s->best), "worst",
			 figure_json(s->worst));
}

static double number_of(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static int sender_from_json(json_t *o, struct sender *s)
{
	json_int_t sent, arrived;

	if (json_unpack(o, "{s:I,s:I}", "sent", &sent, "arrived", &arrived) || sent < 0 ||
	    arrived < 0 || arrived > sent)
		return -EINVAL;
	*s = (struct sender){
		.there = true,
		.sent = (uint64_t)sent,
		.arrived = (uint64_t)arrived,
		.seconds = number_of(o, "seconds"),
		.peak = number_of(o, "peak"),
		.best = number_of(o, "best"),
		.worst = number_of(o, "worst"),
	};
	return 0;
}

static int take_results(struct bench *b, json_t *m)
{
	struct bench_stream *t = b->stream;
	json_t *received = json_object_get(m, "received");

	if (json_is_true(json_object_get(m, "interrupted")))
		b->interrupted = true;
	if (t->peer_sends && sender_from_json(json_object_get(m, "sender"), &t->theirs.sender))
		return error_set(b->err, EXIT_PEER, EPROTO, "the peer's results make no sense");
	t->theirs.sender.confirmed = bench_stream_confirmed(b);
	if (json_is_integer(received) && json_integer_value(received) >= 0) {
		uint64_t n = (uint64_t)json_integer_value(received);

		/* Of several receivers, what every one of them has at least. */
		if (!t->ours.received_known || n < t->ours.received)
			t->ours.received = n;
		t->ours.received_known = true;
		b->received += n;
	}
	return 0;
}

static int exchange_results(struct bench *b, void *arg)
{
	struct bench_stream *t = b->stream;
	uint64_t deadline = bench_stage(b, "results");
	json_t *m = control_message("results");
	int rc;

	(void)arg;
	bench_passed("done");
	json_object_set_new(m, "sender", sender_json(&t->ours.sender));
	json_object_set_new(m, "received", t->theirs.received_known ?
				json_integer((json_int_t)t->theirs.received) : json_null());
	json_object_set_new(m, "interrupted", json_boolean(b->interrupted));
	if (control_send(&b->control, m, deadline, b->err))
		return -1;
	m = control_recv(&b->control, "results", deadline, b->err);
	rc = m ? take_results(b, m) : -1;
	json_decref(m);
	return rc;
}

int bench_stream_size(struct bench *b, uint64_t size)
{
	struct bench_stream *t;
	struct bw_result *grown;
	int rc;

	if (!b->stream && open_stream(b))
		return -1;
	t = b->stream;
	grown = realloc(t->rows, (t->count + 3) * sizeof(*grown));
	if (!grown)
		return error_set(b->err, EXIT_FAILED, ENOMEM, "more results");
	t->rows = grown;
	t->ours = t->theirs = (struct direction){ .received = 0 };
	begin_wait(b, size);
	bench_fill_lanes(b, size);
	if (stream_begin(t->s, size) || bench_barrier_all(b))
		return -1;
	rc = run_stream(b, size);
	if (rc)
		bench_prefer_news_of_peer(b, &t->w);
	else
		rc = bench_each_peer(b, exchange_results, NULL);
	bench_stream_add_rows(b, size);
	b->sent += t->ours.sender.sent;
	if (rc)
		return rc;
	return bench_stream_judge_loss(b, &t->ours) || bench_stream_judge_loss(b, &t->theirs) ? -1 : 0;
}
