/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --mcast: the client sends to the group, the servers are attached to it. */
#include "bench_state.h"

int bench_join(struct bench *b)
{
	struct mcast_wish wish = {
		.address = b->set.mcast.address,
		.ctx = b->endpoint.ctx,
		.local = b->local.has_gid ? &b->local.gid : NULL,
		.port = b->path.port,
		.sl = b->path.sl,
		.hop_limit = b->path.hop_limit,
		.qkey = b->path.qkey,
		.no_cm = b->facts.software && !strcmp(b->facts.software, "softverbs"),
		.deadline = bench_stage(b, "connect-qp"),
	};

	if (mcast_join(&b->mcast, &wish, b->err))
		return -1;
	b->path.qkey = b->mcast.qkey;
	return 0;
}

int bench_attach(struct bench *b)
{
	if (!b->server)
		return mcast_open_sender(&b->mcast, b->endpoint.pd, b->err);
	return mcast_attach(&b->mcast, b->endpoint.qps[0], b->err);
}
