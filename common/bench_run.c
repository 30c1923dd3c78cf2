/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The run: for each size a barrier, warm-up, laps, the done frame and the exchange of results. */
#include "bench_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WARMUP_NS (200 * NS_PER_MS)
#define SPIN_NS NS_PER_MS /* of the end that posts first, after the barrier's last frame */

static void fill_run(struct bench *b, struct lap_run *r, struct wait *w, uint64_t size,
		     uint64_t number)
{
	struct endpoint *e = &b->endpoint;
	char *send = endpoint_send_area(e), *recv = endpoint_recv_area(e);
	/* A device may grant more than was asked; who asks for 0 wants none. */
	uint32_t most_inline = e->inline_asked < e->inline_granted ? e->inline_asked : e->inline_granted;

	memset(r, 0, sizeof(*r));
	r->qp = e->qps[0];
	r->qpx = e->post == POST_WR ? ibv_qp_to_qp_ex(r->qp) : NULL;
	r->cq = e->cq;
	r->mark = mark_of_size(size);
	r->send_word = (uint64_t *)(void *)(send + r->mark.word);
	r->recv_word = (const uint64_t *)(const void *)(recv + r->mark.word);
	r->sge = (struct ibv_sge){ (uintptr_t)send, (uint32_t)size, e->mr->lkey };
	r->wr.sg_list = &r->sge;
	r->wr.num_sge = 1;
	r->wr.opcode = b->program->opcode;
	r->wr.send_flags = IBV_SEND_SIGNALED | (size <= most_inline ? IBV_SEND_INLINE : 0);
	r->wr.wr.rdma.remote_addr = b->remote.vaddr;
	r->wr.wr.rdma.rkey = b->remote.rkey;
	r->number = mark_first(&r->mark, number);
	r->depth = b->set.reap ? (int)b->set.tx_depth : 1;
	r->wait = w;
}

static enum post_how post_how(const struct bench *b, const struct lap_run *r)
{
	if (b->endpoint.post == POST_SEND)
		return POST_HOW_SEND;
	return r->wr.send_flags & IBV_SEND_INLINE ? POST_HOW_WR_INLINE : POST_HOW_WR;
}

static struct lap_goal goal_of(const struct bench *b)
{
	uint64_t now = now_ns(), left;
	struct lap_goal g = {
		.laps = b->set.duration_ns ? UINT64_MAX : b->set.iters,
		.run_ticks = b->set.duration_ns ? cycles_from_ns(b->set.duration_ns, b->cert.hz) : 0,
		.warmup_ticks = cycles_from_ns(WARMUP_NS, b->cert.hz),
		.timeout_tick = UINT64_MAX,
	};

	if (b->deadline == DEADLINE_NEVER)
		return g;
	left = b->deadline > now ? b->deadline - now : 0;
	g.timeout_tick = cycles_read(b->clock) + cycles_from_ns(left, b->cert.hz);
	return g;
}

/*
 * The last frame goes from the server, which then spins, to the client, which spins a little more
 * before it posts: the first exchange finds both awake.
 */
static int barrier(struct bench *b)
{
	uint64_t deadline = deadline_in(STAGE_NS), spin;
	json_t *m;

	if (b->server) {
		m = control_recv(&b->control, "ready", deadline, b->err);
		json_decref(m);
		if (!m)
			return -1;
		bench_passed("ready");
		if (control_send(&b->control, control_message("go"), deadline, b->err))
			return -1;
		bench_passed("go");
		return 0;
	}
	if (control_send(&b->control, control_message("ready"), deadline, b->err))
		return -1;
	bench_passed("ready");
	m = control_recv(&b->control, "go", deadline, b->err);
	json_decref(m);
	if (!m)
		return -1;
	bench_passed("go");
	for (spin = now_ns() + SPIN_NS; now_ns() < spin;)
		;
	return 0;
}

static bool timed_out(const struct bench *b)
{
	return deadline_passed(b->deadline);
}

/* Why the loops ended, as an error where it was one. */
static void note_end(struct bench *b, struct wait *w)
{
	if (w->end == WAIT_INTERRUPT || stop_signal)
		b->interrupted = true;
	b->control.draining = true;
	if (w->end != WAIT_FAILED && timed_out(b))
		error_set(b->err, EXIT_TIMED_OUT, 0, "the run did not end within --timeout");
}

static json_t *done_message(const struct lap_run *r, const struct lap_result *res)
{
	json_t *m = control_message("done");

	json_object_set_new(m, "laps", json_integer((json_int_t)r->laps));
	json_object_set_new(m, "warmup", json_integer((json_int_t)res->warmup));
	return m;
}

static int client_size(struct bench *b, struct lap_run *r, struct lap_result *res)
{
	struct lap_goal goal = goal_of(b);

	laps_run_client(r, &b->store, b->program->loops, post_how(b, r), b->clock, &goal, res);
	res->size = r->sge.length;
	note_end(b, r->wait);
	bench_passed("run");
	if (laps_result_client(r, &b->store, res, b->err) || error_is_set(b->err))
		return -1;
	if (res->full)
		error_warn(b->err, "the run ended early: its %llu samples fill the memory that is "
			   "kept for them", (unsigned long long)res->samples);
	return control_send(&b->control, done_message(r, res), deadline_in(STAGE_NS), b->err);
}

static int server_size(struct bench *b, struct lap_run *r, struct lap_result *res)
{
	struct lap_goal goal = goal_of(b);
	struct wait *w = r->wait;
	struct error *err = b->err;

	laps_run_server(r, &b->store, b->program->loops, post_how(b, r), b->clock, &goal);
	note_end(b, w);
	bench_passed("run");
	if (w->end == WAIT_OK && laps_server_full(r, &b->store, &goal)) {
		error_warn(err, "the run ended early: its samples fill the memory that is kept for "
			   "them");
		b->interrupted = true;
	}
	if (b->interrupted && w->end != WAIT_FAILED) {
		w->end = WAIT_INTERRUPT;
		control_send(&b->control, control_message("interrupt"), deadline_in(NS_PER_S), err);
	}
	/* The client's last lap may be our last answer; then nothing has told us the end yet. */
	if (w->end != WAIT_DONE && w->end != WAIT_FAILED && !error_is_set(err))
		wait_for_done(w, deadline_in(STAGE_NS));
	if (w->end != WAIT_DONE) {
		w->done_laps = r->laps;
		w->done_warmup = b->set.warmup < r->laps ? b->set.warmup : 0;
	}
	if (laps_result_server(r, &b->store, w->done_laps, w->done_warmup, res, err))
		return -1;
	res->size = r->sge.length;
	return error_is_set(err) ? -1 : 0;
}

/* Each end's summary, so that both know that the other came through. */
static int exchange_results(struct bench *b, const struct lap_result *res)
{
	uint64_t deadline = bench_stage(b, "results");
	json_t *m = control_message("results");

	bench_passed("done");
	json_object_set_new(m, "samples", json_integer((json_int_t)res->samples));
	json_object_set_new(m, "interrupted", json_boolean(b->interrupted));
	if (control_send(&b->control, m, deadline, b->err))
		return -1;
	m = control_recv(&b->control, "results", deadline, b->err);
	if (!m)
		return -1;
	if (json_is_true(json_object_get(m, "interrupted")))
		b->interrupted = true;
	json_decref(m);
	return 0;
}

/* A failed completion is often the peer's death: if the connection says so, that is the reason. */
static void prefer_news_of_peer(struct bench *b, struct wait *w)
{
	struct error ours = *b->err;
	json_t *m;

	if (w->end != WAIT_FAILED || ours.code != EXIT_FAILED || ours.from_peer)
		return;
	b->err->code = EXIT_OK;
	/* A client that has all its answers says done: then the failure is ours. */
	m = control_recv(&b->control, b->server ? "done" : "results", deadline_in(300 * NS_PER_MS),
			 b->err);
	json_decref(m);
	if (m || b->err->code == EXIT_TIMED_OUT || b->err->err == EPROTO)
		*b->err = ours;
}

static int keep_array(struct bench *b, uint64_t **array, uint64_t n)
{
	uint64_t *copy;

	if (!*array)
		return 0;
	copy = malloc(n * sizeof(*copy));
	if (copy)
		memcpy(copy, *array, n * sizeof(*copy));
	*array = copy;
	return copy ? 0 : error_set(b->err, EXIT_FAILED, ENOMEM, "keeping %llu samples",
				    (unsigned long long)n);
}

/* What is to be printed of one size must outlive the next size's laps; bench.c frees it. */
static int keep_samples(struct bench *b, struct lap_result *res)
{
	int rc;

	if (!bench_keeps_copies(b))
		return 0;
	rc = keep_array(b, &res->sample, res->samples);
	rc |= keep_array(b, &res->to_seen, res->laps);
	rc |= keep_array(b, &res->gap, res->laps);
	return rc;
}

static int run_size(struct bench *b, uint64_t size, uint64_t *number)
{
	struct lap_result *res = &b->results[b->result_count];
	struct ibv_context *ctx = b->endpoint.ctx;
	struct lap_run r;
	struct wait w = {
		.control = &b->control,
		.async = ctx,
		.port = b->path.port,
		.run_deadline = b->deadline,
		.yield = b->yield,
		.err = b->err,
	};
	int rc;

	fill_run(b, &r, &w, size, *number);
	memset(endpoint_recv_area(&b->endpoint), 0, size);
	bench_stage(b, "ready");
	b->control.draining = false;
	if (barrier(b))
		return -1;
	b->err->stage = "run";
	rc = b->server ? server_size(b, &r, res) : client_size(b, &r, res);
	prefer_news_of_peer(b, &w);
	b->result_count++;
	*number = r.number + (b->server ? w.done_laps : r.laps);
	if (keep_samples(b, res))
		return -1;
	return rc ? rc : exchange_results(b, res);
}

int bench_run_all(struct bench *b)
{
	uint64_t number = 1;
	struct clock_pair end;
	int rc = 0;

	clock_pair_read(b->clock, NULL, &b->run_start);
	for (unsigned int i = 0; i < b->set.sizes.count && !rc && !b->interrupted; i++)
		rc = run_size(b, b->set.sizes.v[i], &number);
	clock_pair_read(b->clock, NULL, &end);
	for (unsigned int i = 0; i < b->result_count; i++)
		b->cert.backwards += (unsigned int)b->results[i].backwards;
	clock_cert_refine(&b->cert, &b->run_start, &end);
	return rc;
}
