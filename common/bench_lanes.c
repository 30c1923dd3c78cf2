/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lanes: filled anew for each size; their receives are posted once, for the largest. */
#include "bench_state.h"
#include "load.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t largest_size(const struct bench *b)
{
	uint64_t largest = 0;

	for (unsigned int i = 0; i < b->set.sizes.count; i++)
		if (b->set.sizes.v[i] > largest)
			largest = b->set.sizes.v[i];
	return largest;
}

void bench_fill_lanes(struct bench *b, uint64_t size)
{
	const struct endpoint *e = &b->endpoint;
	struct lane_plan plan = {
		.op = b->op,
		.transport = b->transport,
		.size = size,
		.recv_size = largest_size(b),
		/* A device may grant more than was asked; who asks for 0 wants none. */
		.most_inline = e->inline_asked < e->inline_granted ? e->inline_asked :
								     e->inline_granted,
	};

	lanes_fill(b->lanes, (unsigned int)b->set.qps, e, &b->remote, &plan);
	if (bench_mcast(b) && !b->server) {
		b->lanes[0].wr.wr.ud.ah = b->mcast.handle;
		b->lanes[0].wr.wr.ud.remote_qpn = MCAST_QPN;
	}
	if (!e->load)
		return;
	plan.op = OP_WRITE;
	plan.size = LOAD_BYTES;
	lane_fill(&b->lanes[e->qp_count - 1], e->qp_count - 1, e, &b->remote, &plan);
}

static int post_receives(struct bench *b)
{
	unsigned int lanes = b->endpoint.srq ? 1 : (unsigned int)b->set.qps;
	int rc = 0;

	for (unsigned int i = 0; i < lanes && !rc; i++)
		rc = lane_post_receives(&b->lanes[i], b->wish.rx_depth);
	return rc ? error_set(b->err, EXIT_FAILED, rc, "posting %u receives", b->wish.rx_depth) : 0;
}

int bench_open_lanes(struct bench *b)
{
	b->lanes = calloc(b->endpoint.qp_count, sizeof(*b->lanes));
	if (!b->lanes)
		return error_set(b->err, EXIT_FAILED, ENOMEM, "%u queue pairs",
				 b->endpoint.qp_count);
	bench_fill_lanes(b, largest_size(b));
	return b->wish.rx_depth && !b->program->bandwidth ? post_receives(b) : 0;
}
