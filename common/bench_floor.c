/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --floor: what a lap costs where no peer takes part: a stamp, a poll that finds nothing, and the
 * post of the run's message on a queue pair that is connected to itself. Measured after the run,
 * with its device, CPU, memory and calls.
 */
#include "bench_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint_connect.h"
#include "wait_ops.h"

#define ROUNDS 2000

struct loop {
	struct endpoint e;
	struct endpoint_address self;
	struct lane lane;
	struct wait wait;
};

static int open_loop(struct bench *b, struct loop *l, uint64_t size)
{
	const struct candidate *port = bench_port(b);
	int gid = bench_choice(b)->gid;
	struct endpoint_wish wish = b->wish;
	struct endpoint_path path = b->path;
	struct lane_plan plan = {
		.op = b->op, .transport = b->transport, .size = size, .recv_size = size,
	};

	wish.qps = 1;
	wish.load = wish.events = wish.mr_per_qp = wish.srq = false;
	wish.rx_depth = op_get(b->op)->receives ? 2 : 0;
	wish.send_area = size;
	wish.recv_area = size + UD_GRH_BYTES;
	path.mtu = port->mtu < path.mtu ? port->mtu : path.mtu;
	if (endpoint_open_memory(&l->e, b->endpoint.ctx, &wish, b->err) ||
	    endpoint_open_qps(&l->e, &wish, b->err))
		return -1;
	if (endpoint_address_fill(&l->self, &l->e, port, gid >= 0 ? &port->gids[gid] : NULL))
		return error_set(b->err, EXIT_FAILED, 0, "addresses of a looped queue pair");
	if (endpoint_connect(&l->e, &path, &l->self, NULL, b->err))
		return -1;
	plan.most_inline = l->e.inline_asked < l->e.inline_granted ? l->e.inline_asked :
								     l->e.inline_granted;
	lanes_fill(&l->lane, 1, &l->e, &l->self, &plan);
	bench_fill_wait(b, &l->wait);
	l->wait.control = NULL;
	l->wait.channel = NULL;
	l->wait.other_count = 0;
	wait_init(&l->wait);
	return 0;
}

static double median(uint64_t *v)
{
	struct stats s;

	return stats_summarise(v, ROUNDS, &s) ? NAN : s.median;
}

static double stamp_cost(const struct bench *b, uint64_t *v)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t = cycles_read(b->clock);

		/* Sixteen, since one may be less than a step of the counter. */
		for (int k = 0; k < 16; k++)
			v[i] = cycles_read(b->clock) - t;
	}
	return median(v) / 16;
}

static double poll_cost(const struct bench *b, struct loop *l, uint64_t *v)
{
	struct ibv_wc wc;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t = cycles_read(b->clock);

		for (int k = 0; k < 16; k++)
			if (ibv_poll_cq(l->lane.cqs->send, 1, &wc))
				return NAN;
		v[i] = cycles_read(b->clock) - t;
	}
	return median(v) / 16;
}

/* The call alone; completions are awaited between. */
static double post_cost(struct bench *b, struct loop *l, uint64_t *v)
{
	bool receives = op_get(b->op)->receives;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t;

		if (receives && lane_post_receives(&l->lane, 1))
			return NAN;
		t = cycles_read(b->clock);
		if (l->lane.post(&l->lane, 0))
			return NAN;
		v[i] = cycles_read(b->clock) - t;
		if (wait_cq(&l->wait, l->lane.cqs->send, 1, CLOCK_SRC_GETTIME, NULL) < 0 ||
		    (receives && wait_cq(&l->wait, l->lane.cqs->recv, 1, CLOCK_SRC_GETTIME, NULL) < 0))
			return NAN;
	}
	return median(v);
}

int bench_floor(struct bench *b)
{
	uint64_t *v = calloc(ROUNDS, sizeof(*v));
	struct report_floor *f = &b->floor;
	struct loop l = { .lane = { 0 } };

	b->err->stage = "results";
	if (!v || open_loop(b, &l, b->set.sizes.v[0])) {
		free(v);
		endpoint_close(&l.e, b->err);
		endpoint_address_free(&l.self);
		return -1;
	}
	f->stamp = stamp_cost(b, v);
	f->poll = poll_cost(b, &l, v);
	f->post = fmax(post_cost(b, &l, v) - f->stamp, 0);
	f->known = true;
	endpoint_close(&l.e, b->err);
	endpoint_address_free(&l.self);
	free(v);
	return error_is_set(b->err) ? -1 : 0;
}
