/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of a stream call of each other; no one else includes this. */
#ifndef COMMON_STREAM_PARTS_H
#define COMMON_STREAM_PARTS_H

#include "stream_state.h"

/* stream_burst.c */
stream_burst stream_burst_of(const struct stream *s);
int stream_post_failed(struct stream *s, const struct stream_lane *l, int rc);

/* stream_plan.c: slots of the receives, and from one to the next */
void stream_recv_walk(const struct stream_plan *p, uint64_t size, uint64_t *slots, uint64_t *stride);

/* stream_recv.c */
int stream_post_all_receives(struct stream *s);
/* Polls the receive CQs: data, credits; how many completions, or -1. */
int stream_poll_recv(struct stream *s);
/* Credits for all that was not told yet: how many, or -1. */
int stream_flush_credits(struct stream *s);
/* All receives of the lane that were taken are posted again. */
int stream_post_again(struct stream *s, struct stream_lane *l);
int stream_announce(struct stream *s, struct stream_lane *l);
int stream_post_confirm(struct stream *s, struct stream_lane *l);

/* stream_check.c: 0, or -1 and EXIT_DATA */
int stream_check_received(struct stream *s, struct stream_lane *l, const struct ibv_wc *wc);
int stream_check_fetched(struct stream *s, struct stream_lane *l);
int stream_check_target(struct stream *s);
void stream_fill_target(struct stream *s);

/* stream_look.c: what is done when nothing comes, and now and then */
int stream_look(struct stream *s, bool idle);
/* Waits for the peer's done frame where no completion tells of its messages. */
int stream_wait_done(struct stream *s);
void stream_line(struct stream *s, uint64_t t);

/* stream_probe.c */
int stream_tell(struct stream *s, json_t *m); /* by the control connection; releases @m */
int stream_take_count(json_t *n, uint64_t *v);
int stream_probe_if_starving(struct stream *s, uint64_t now);
int stream_take_counts(struct stream *s, json_t *m);
/* Nothing comes just now: tells the peer what it may be waiting for. */
int stream_settle(struct stream *s);

/* stream_pump.c */
void stream_see_progress(struct stream *s);
int stream_bad(struct stream *s, const struct ibv_wc *wc);
void stream_enqueue(struct stream *s, struct stream_lane *l);
/* No more messages than are needed for a signaled end. */
void stream_close_quota(struct stream *s);

/* Messages that are known to have arrived, in all. */
static inline uint64_t stream_progress(const struct stream *s)
{
	return s->credits ? s->credited : s->completed;
}

static inline char *stream_target(const struct stream *s, unsigned int lane)
{
	return endpoint_recv_area(s->set.endpoint, lane);
}

#endif
