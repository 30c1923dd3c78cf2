/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One size of a latency program: warm-up and laps, the done frame, the exchange of results. */
#include "bench_peers.h"
#include "lap_lossy.h"
#include "load.h"
#include "news.h"
#include "pace.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WARMUP_NS (200 * NS_PER_MS)
#define LOSS_NS (250 * NS_PER_MS)
#define LOSS_BYTE_NS 50 /* of a large message, which may be filled and checked as well */

static void fill_run(struct bench *b, struct lap_run *r, struct wait *w, uint64_t size)
{
	memset(r, 0, sizeof(*r));
	bench_fill_lanes(b, size);
	r->lane = &b->lanes[0];
	r->mark = mark_of_size(size);
	r->marks = !op_get(b->op)->receives && !op_get(b->op)->fetches;
	r->number = mark_first(&r->mark, b->number);
	/* What is filled anew for each lap must have left. */
	r->depth = b->set.reap && !b->set.verify ? (int)b->set.tx_depth : 1;
	r->answers = b->server ? 1 : 1 + b->other_count;
	r->recv_list = (unsigned int)b->set.recv_post_list;
	r->wait = w;
	bench_fill_wait(b, w);
	r->loss.groups = b->endpoint.cqs;
	r->loss.group_count = b->endpoint.cqs_count - b->endpoint.load;
	/* The client gives up a lap; the server waits on. */
	if (transport_loses(b->transport) && !b->server)
		w->loss_ns = LOSS_NS + size * LOSS_BYTE_NS;
	wait_init(w);
}

static const struct lap_loops *loops_of(const struct bench *b)
{
	const struct bench_program *p = b->program;
	bool imm = op_get(b->op)->immediate;

	if (transport_loses(b->transport))
		return imm && p->lossy_imm_loops ? p->lossy_imm_loops : p->lossy_loops;
	return imm && p->imm_loops ? p->imm_loops : p->loops;
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

static uint64_t size_of(const struct lap_run *r)
{
	return r->lane->sge.length;
}

static json_t *done_message(const struct lap_run *r, const struct lap_result *res)
{
	json_t *m = control_message("done");

	json_object_set_new(m, "laps", json_integer((json_int_t)r->laps));
	json_object_set_new(m, "warmup", json_integer((json_int_t)res->warmup));
	json_object_set_new(m, "number", json_integer((json_int_t)(r->number + r->laps)));
	return m;
}

struct done {
	const struct lap_run *r;
	const struct lap_result *res;
};

static int send_done(struct bench *b, void *arg)
{
	const struct done *d = arg;

	return control_send(&b->control, done_message(d->r, d->res), deadline_in(STAGE_NS), b->err);
}

static int client_size(struct bench *b, struct lap_run *r, const struct lap_interval *interval,
		       struct lap_result *res)
{
	struct lap_goal goal = goal_of(b);
	struct news news;
	bool alone = op_get(b->op)->fetches;

	goal.interval = interval;
	if (alone)
		news_open(&news, b->control.fd, b->endpoint.ctx->async_fd);
	laps_run_client(r, &b->store, loops_of(b), b->clock, &goal, res);
	if (alone)
		news_close(&news);
	bench_interval_close(b);
	bench_note_end(b, r->wait);
	bench_passed("run");
	if (bench_dump_keep(b, r, size_of(r), r->laps, res->warmup))
		return -1;
	if (laps_result_client(r, &b->store, res, b->err) || error_is_set(b->err))
		return -1;
	if (res->full)
		error_warn(b->err, "the run ended early: its %llu samples fill the memory that is "
			   "kept for them", (unsigned long long)res->samples);
	return bench_each_peer(b, send_done, &(struct done){ r, res });
}

static int server_size(struct bench *b, struct lap_run *r, struct lap_result *res)
{
	struct lap_goal goal = goal_of(b);
	struct wait *w = r->wait;
	struct error *err = b->err;

	if (loops_of(b)->by[LAP_SERVER][RECORD_STAMPS][b->clock])
		laps_run_server(r, &b->store, loops_of(b), b->clock, &goal);
	else
		wait_passive(w);
	bench_note_end(b, w);
	bench_passed("run");
	if (w->end == WAIT_OK && laps_server_full(r, &b->store, &goal)) {
		error_warn(err, "the run ended early: its samples fill the memory that is kept for "
			   "them");
		b->interrupted = true;
	}
	if (b->interrupted && w->end != WAIT_FAILED) {
		w->end = WAIT_INTERRUPT;
		bench_send_interrupt(b);
	}
	/* The client's last lap may be our last answer; then nothing has told us the end yet. */
	if (w->end != WAIT_DONE && w->end != WAIT_FAILED && !error_is_set(err))
		wait_for_done(w, deadline_in(STAGE_NS));
	if (w->end != WAIT_DONE) {
		w->done_laps = r->laps;
		w->done_warmup = b->set.warmup < r->laps ? b->set.warmup : 0;
	}
	if (bench_dump_keep(b, r, size_of(r), r->laps < w->done_laps ? r->laps : w->done_laps,
			    w->done_warmup))
		return -1;
	if (laps_result_server(r, &b->store, w->done_laps, w->done_warmup, res, err))
		return -1;
	return error_is_set(err) ? -1 : 0;
}

/* Each end's summary, so that both know that the other came through. */
static int exchange_results(struct bench *b, void *arg)
{
	struct lap_result *res = arg;
	uint64_t deadline = bench_stage(b, "results");
	json_t *m = control_message("results");

	bench_passed("done");
	json_object_set_new(m, "samples", json_integer((json_int_t)res->samples));
	json_object_set_new(m, "laps", json_integer((json_int_t)(res->warmup + res->laps -
								 res->warmup_missed)));
	json_object_set_new(m, "lost", json_integer((json_int_t)res->lost));
	if (res->late)
		json_object_set_new(m, "late", json_integer((json_int_t)res->late));
	json_object_set_new(m, "interrupted", json_boolean(b->interrupted));
	if (control_send(&b->control, m, deadline, b->err))
		return -1;
	m = control_recv(&b->control, "results", deadline, b->err);
	if (!m)
		return -1;
	if (json_is_true(json_object_get(m, "interrupted")))
		b->interrupted = true;
	/* Only the client can tell that an answer never came. */
	if (b->server) {
		res->lost = (uint64_t)json_integer_value(json_object_get(m, "lost"));
		res->late = (uint64_t)json_integer_value(json_object_get(m, "late"));
	} else {
		b->received += (uint64_t)json_integer_value(json_object_get(m, "laps"));
	}
	json_decref(m);
	return 0;
}

static int judge_loss(struct bench *b, const struct lap_result *res)
{
	if (res->late)
		error_warn(b->err, "%llu answers came after their laps had been given up, and give "
			   "no sample", (unsigned long long)res->late);
	if (res->lost && !b->set.allow_loss)
		return error_set(b->err, EXIT_DATA, 0,
				 "%llu of %llu exchanges were lost; --allow-loss takes that for no "
				 "failure", (unsigned long long)res->lost,
				 (unsigned long long)(res->laps));
	return 0;
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

/*
 * No mark of an earlier run is left: each lane has the one before the first, since the mark of some
 * numbers is 0. READs find their pattern.
 */
static void clear_memory(struct bench *b, const struct lap_run *r, uint64_t size)
{
	for (unsigned int i = 0; i < b->endpoint.qp_count; i++) {
		char *area = endpoint_recv_area(&b->endpoint, i);

		memset(area, 0, size);
		if (r->marks)
			*(uint64_t *)(void *)(area + r->mark.word) =
				mark_word(&r->mark, lap_number(r, 0) - 1);
	}
	if (b->set.verify && b->op == OP_READ)
		pace_fill_at_rest(b->lanes, b->endpoint.qp_count, size);
}

static struct lap_result *new_result(struct bench *b)
{
	struct lap_result *v = realloc(b->results, (b->result_count + 1) * sizeof(*v));

	if (!v) {
		error_set(b->err, EXIT_FAILED, ENOMEM, "one more result");
		return NULL;
	}
	b->results = v;
	memset(&v[b->result_count], 0, sizeof(*v));
	return &v[b->result_count];
}

int bench_lap_size(struct bench *b, uint64_t size, bool loaded)
{
	struct lap_result *res = new_result(b);
	const struct lap_interval *interval;
	struct lap_run r;
	struct pace pace;
	struct load load;
	struct wait w;
	int rc;

	if (!res)
		return -1;
	fill_run(b, &r, &w, size);
	pace_init(&pace, &b->set, b->op, &r.mark, size, b->server);
	r.pace = &pace.hooks;
	if (loaded && !b->server) {
		load_init(&load, &b->set.load.rate, &b->lanes[b->endpoint.qp_count - 1], b->clock,
			  b->cert.hz, (unsigned int)b->set.tx_depth);
		pace.load = &load;
	}
	clear_memory(b, &r, size);
	if (bench_interval_open(b, res, &interval) || bench_barrier_all(b)) {
		bench_interval_close(b);
		return -1;
	}
	b->err->stage = "run";
	rc = b->server ? server_size(b, &r, res) : client_size(b, &r, interval, res);
	res->size = size;
	res->run = b->run;
	res->loaded = loaded;
	if (pace.load && load_finish(&load, &w))
		rc = -1;
	res->load_bytes_per_s = pace.load ? load_bytes_per_s(&load) : NAN;
	b->sent += res->warmup + res->laps;
	bench_prefer_news_of_peer(b, &w);
	b->result_count++;
	b->number = b->server ? w.done_number : r.number + r.laps;
	if (keep_samples(b, res))
		return -1;
	if (rc || bench_each_peer(b, exchange_results, res) || bench_dump_exchange(b, size))
		return -1;
	return judge_loss(b, res);
}
