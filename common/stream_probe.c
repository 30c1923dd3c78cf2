/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages that are lost hold their credits for ever. A sender that is left without them asks by
 * the control connection; the receiver answers, once its queues are empty, how many it took of each
 * lane. What had been sent before and is not among them is lost. A receiver that was merely slow
 * thus never meets more messages than it has receives.
 */
#include "stream_ops.h"

#include <errno.h>

#include "units.h"

#define STARVED_NS (20 * NS_PER_MS)        /* without a credit */
#define STARVED_FIRST_NS (250 * NS_PER_MS) /* before one ever came */

int stream_tell(struct stream *s, json_t *m)
{
	if (!s->w->control) {
		json_decref(m);
		return 0;
	}
	if (!control_send(s->w->control, m, deadline_in(NS_PER_S), s->w->err))
		return 0;
	s->w->end = WAIT_FAILED;
	return -1;
}

int stream_take_count(json_t *n, uint64_t *v)
{
	if (!json_is_integer(n) || json_integer_value(n) < 0)
		return -EINVAL;
	*v = (uint64_t)json_integer_value(n);
	return 0;
}

/* Nothing can be posted, and credits are due. Completions may be due too: of unsignaled ones none. */
static bool is_starving(const struct stream *s)
{
	return !s->head && s->credited + s->written_off < s->sent;
}

int stream_probe_if_starving(struct stream *s, uint64_t now)
{
	uint64_t due = cycles_from_ns(s->longest_gap ? STARVED_NS : STARVED_FIRST_NS, s->set.hz);
	uint64_t since = s->last_progress > s->probed_at ? s->last_progress : s->probed_at;

	if (s->probing || !is_starving(s))
		return 0;
	due = 4 * s->longest_gap > due ? 4 * s->longest_gap : due;
	if (now - since < due)
		return 0;
	s->probing = true;
	for (unsigned int i = 0; i < s->plan.qps; i++)
		s->lanes[i].probe_sent = s->lanes[i].sent;
	return stream_tell(s, control_message("probe"));
}

static void take_lane(struct stream *s, struct stream_lane *l, uint64_t count)
{
	if (count > l->credited) {
		s->credited += count - l->credited;
		l->credited = count;
	}
	if (l->probe_sent > l->credited + l->written_off) {
		uint64_t lost = l->probe_sent - l->credited - l->written_off;

		l->written_off += lost;
		s->written_off += lost;
	}
	stream_refresh(s, l);
}

int stream_take_counts(struct stream *s, json_t *m)
{
	json_t *lanes = json_object_get(m, "lanes");

	for (unsigned int i = 0; i < s->plan.qps; i++) {
		uint64_t count;

		if (!s->probing || stream_take_count(json_array_get(lanes, i), &count)) {
			error_set(s->w->err, EXIT_PEER, EPROTO,
				  "the peer's counts of its queue pairs make no sense");
			s->w->end = WAIT_FAILED;
			return -1;
		}
		take_lane(s, &s->lanes[i], count);
	}
	s->probing = false;
	s->probed_at = cycles_read(s->clock);
	stream_see_progress(s);
	s->gap_from = 0; /* this pause says nothing of the peer's pace */
	return 0;
}

static int answer(struct stream *s)
{
	json_t *m = control_message("counts"), *lanes = json_array();

	s->probed = false;
	for (unsigned int i = 0; i < s->plan.qps; i++) {
		struct stream_lane *l = &s->lanes[i];

		if (stream_post_again(s, l)) {
			json_decref(lanes);
			json_decref(m);
			return -1;
		}
		json_array_append_new(lanes, json_integer((json_int_t)l->received));
	}
	json_object_set_new(m, "lanes", lanes);
	return stream_tell(s, m);
}

int stream_settle(struct stream *s)
{
	if (s->received != s->announced && stream_flush_credits(s) < 0)
		return -1;
	return s->probed ? answer(s) : 0;
}
