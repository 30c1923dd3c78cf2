/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One inner loop for each operation, way to post, and with or without a pattern to fill in. */
#include "stream_ops.h"

#include <errno.h>

int stream_post_failed(struct stream *s, const struct stream_lane *l, int rc)
{
	error_set(s->w->err, EXIT_FAILED, rc > 0 ? rc : -rc,
		  "posting message %llu (%llu bytes%s) on QP 0x%06x", (unsigned long long)l->sent,
		  (unsigned long long)s->size,
		  l->lane->wr.send_flags & IBV_SEND_INLINE ? ", inline" : "",
		  l->lane->qp->qp_num);
	s->w->end = WAIT_FAILED;
	return -1;
}

#define BURST(how, op, ud, verify, single)                                                          \
	static int burst_##how##_##op##_##ud##_##verify##_##single(struct stream *s,                \
								   unsigned int budget)             \
	{                                                                                           \
		return stream_burst_with(s, budget, STREAM_##how, OP_##op, ud, verify, single);     \
	}
#define BURSTS(how, op, ud)                                                                         \
	BURST(how, op, ud, 0, 0) BURST(how, op, ud, 0, 1) BURST(how, op, ud, 1, 0)                  \
	BURST(how, op, ud, 1, 1)
#define BURSTS_THAT_CARRY(how)                                                                      \
	BURSTS(how, WRITE, 0) BURSTS(how, WRITE_IMM, 0) BURSTS(how, SEND, 0)                        \
	BURSTS(how, SEND, 1) BURSTS(how, SEND_IMM, 0) BURSTS(how, SEND_IMM, 1)
#define BURSTS_THAT_FETCH(how)                                                                      \
	BURSTS(how, READ, 0) BURSTS(how, FETCH_ADD, 0) BURSTS(how, CMP_SWAP, 0)

BURSTS_THAT_CARRY(SEND)
BURSTS_THAT_FETCH(SEND)
BURSTS_THAT_CARRY(WR)
BURSTS_THAT_FETCH(WR)
BURSTS_THAT_CARRY(WR_INLINE)

#define ROW(how, op, ud)                                                                            \
	{ { burst_##how##_##op##_##ud##_0_0, burst_##how##_##op##_##ud##_0_1 },                     \
	  { burst_##how##_##op##_##ud##_1_0, burst_##how##_##op##_##ud##_1_1 } }
#define ROWS_THAT_CARRY(how)                                                                        \
	[OP_WRITE] = { ROW(how, WRITE, 0) }, [OP_WRITE_IMM] = { ROW(how, WRITE_IMM, 0) },           \
	[OP_SEND] = { ROW(how, SEND, 0), ROW(how, SEND, 1) },                                       \
	[OP_SEND_IMM] = { ROW(how, SEND_IMM, 0), ROW(how, SEND_IMM, 1) }
#define ROWS_THAT_FETCH(how)                                                                        \
	[OP_READ] = { ROW(how, READ, 0) }, [OP_FETCH_ADD] = { ROW(how, FETCH_ADD, 0) },             \
	[OP_CMP_SWAP] = { ROW(how, CMP_SWAP, 0) }

/* By way to post, operation, UD, pattern, lists of one. */
static const stream_burst bursts[STREAM_POSTS][OP_KINDS][2][2][2] = {
	[STREAM_SEND] = { ROWS_THAT_CARRY(SEND), ROWS_THAT_FETCH(SEND) },
	[STREAM_WR] = { ROWS_THAT_CARRY(WR), ROWS_THAT_FETCH(WR) },
	[STREAM_WR_INLINE] = { ROWS_THAT_CARRY(WR_INLINE) },
};

stream_burst stream_burst_of(const struct stream *s)
{
	const struct lane *l = s->lanes[0].lane;
	enum stream_post how = !l->qpx ? STREAM_SEND :
			       l->wr.send_flags & IBV_SEND_INLINE ? STREAM_WR_INLINE : STREAM_WR;

	return bursts[how][s->set.op][s->plan.ud][s->plan.verify][s->plan.list == 1];
}
