/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A stream is opened once; its lanes' counts run on from size to size. */
#include "stream_ops.h"

#include <errno.h>
#include <stdlib.h>

#define BURST_BYTES (1u << 20)
#define BURST_MESSAGES 64

static int compare_qpns(const void *a, const void *b)
{
	uint32_t x = ((const struct stream_qpn *)a)->qpn, y = ((const struct stream_qpn *)b)->qpn;

	return x < y ? -1 : x > y;
}

static int open_arrays(struct stream *s)
{
	const struct stream_plan *p = &s->plan;
	unsigned int recv_list = p->recv_list ? p->recv_list : 1;

	s->lanes = calloc(p->qps, sizeof(*s->lanes));
	s->wrs = calloc(p->list, sizeof(*s->wrs));
	s->sges = calloc(p->list, sizeof(*s->sges));
	s->recv_wrs = calloc(recv_list, sizeof(*s->recv_wrs));
	s->recv_sges = calloc(recv_list, sizeof(*s->recv_sges));
	s->pending = calloc(recv_list, sizeof(*s->pending));
	s->qpns = calloc(p->qps, sizeof(*s->qpns));
	return s->lanes && s->wrs && s->sges && s->recv_wrs && s->recv_sges && s->pending &&
			       s->qpns ? 0 : -ENOMEM;
}

static void fill_lanes(struct stream *s)
{
	for (unsigned int i = 0; i < s->plan.qps; i++) {
		s->lanes[i].lane = &s->set.lanes[i];
		s->lanes[i].target = s->set.remote->vaddr + i * s->set.remote->stride;
		s->qpns[i] = (struct stream_qpn){ s->set.endpoint->qps[i]->qp_num, i };
	}
	qsort(s->qpns, s->plan.qps, sizeof(*s->qpns), compare_qpns);
}

/* What a size means for memory; the receives of the size before may still be posted. */
static void set_size(struct stream *s, uint64_t size)
{
	s->size = size;
	s->stride = stream_stride(size);
	s->slots = stream_slots(&s->plan, size);
	s->walk = s->slots * s->stride;
	stream_recv_walk(&s->plan, size, &s->recv_slots, &s->recv_stride);
	s->burst_size = (unsigned int)(size < BURST_BYTES / BURST_MESSAGES ? BURST_MESSAGES :
				       size < BURST_BYTES ? BURST_BYTES / size : 1);
}

int stream_open(struct stream **out, const struct stream_setup *setup, struct error *err)
{
	struct stream *s = *out = calloc(1, sizeof(*s));

	if (!s)
		return error_set(err, EXIT_FAILED, ENOMEM, "starting");
	s->set = *setup;
	s->w = setup->wait;
	s->clock = setup->clock;
	stream_plan(&s->plan, setup->settings, op_get(setup->op));
	s->credits = s->plan.window && setup->sends && !setup->group;
	if (open_arrays(s))
		return error_set(err, EXIT_FAILED, ENOMEM, "%u queue pairs", s->plan.qps);
	fill_lanes(s);
	set_size(s, s->plan.largest);
	return stream_post_all_receives(s);
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	free(s->lanes);
	free(s->wrs);
	free(s->sges);
	free(s->recv_wrs);
	free(s->recv_sges);
	free(s->pending);
	free(s->qpns);
	json_decref(s->peer_lanes);
	free(s);
}

int stream_begin(struct stream *s, uint64_t size)
{
	set_size(s, size);
	s->burst = stream_burst_of(s);
	for (unsigned int i = 0; i < s->plan.qps; i++) {
		struct stream_lane *l = &s->lanes[i];

		l->at = l->sent % s->slots * s->stride;
		/* Of the size before nothing is under way any more. */
		s->written_off -= l->written_off;
		l->written_off = s->credits && l->sent > l->credited ? l->sent - l->credited : 0;
		s->written_off += l->written_off;
	}
	s->received_before = s->received;
	s->peer_done = s->own_done = s->drained = false;
	s->next_look = 0;
	s->came = s->armed = s->probing = s->probed = false;
	s->idle_passes = s->w->spins;
	s->busy_passes = STREAM_BUSY_PASSES;
	s->warmup_sent = s->warmup_arrived = 0;
	json_decref(s->peer_lanes);
	s->peer_lanes = NULL;
	if (s->plan.verify)
		stream_fill_target(s);
	return 0;
}

json_t *stream_done_message(struct stream *s)
{
	json_t *m = control_message("done"), *lanes;

	s->own_done = true;
	json_object_set_new(m, "warmup", json_integer((json_int_t)s->warmup_sent));
	json_object_set_new(m, "messages", json_integer((json_int_t)(s->sent - s->phase_sent)));
	json_object_set_new(m, "warmup_arrived", json_integer((json_int_t)s->warmup_arrived));
	if (!s->plan.verify)
		return m;
	lanes = json_array();
	for (unsigned int i = 0; i < s->plan.qps; i++)
		json_array_append_new(lanes, json_integer((json_int_t)s->lanes[i].sent));
	json_object_set_new(m, "lanes", lanes);
	return m;
}

uint64_t stream_received(const struct stream *s)
{
	uint64_t all = s->received - s->received_before;
	uint64_t warmup = s->peer_warmup_arrived < all ? s->peer_warmup_arrived : all;

	return all - warmup < s->peer_sent ? all - warmup : s->peer_sent;
}

bool stream_interrupted(const struct stream *s)
{
	return s->interrupted;
}
