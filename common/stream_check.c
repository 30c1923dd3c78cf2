/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --verify: messages are looked at where they arrived. A SEND and a WRITE with immediate by their
 * completion, before the credit that lets the peer write there again; a WRITE after the end, in its
 * slot; a READ against what stands still in the peer's slots; an atomic by what it returned, which
 * is the number of those before it.
 */
#include "stream_ops.h"

#include <errno.h>
#include <string.h>

#define EARLIER 64 /* WRITEs of a slot that may be the last to have arrived where some are lost */

static int fail(struct stream *s)
{
	s->w->end = WAIT_FAILED;
	return -1;
}

static int differs(struct stream *s, const struct stream_lane *l, uint64_t sequence,
		   const void *data, size_t at, uint64_t key)
{
	error_set(s->w->err, EXIT_DATA, 0,
		  "--verify: message %llu on QP 0x%06x differs at offset %zu: expected 0x%02x, got "
		  "0x%02x", (unsigned long long)sequence + 1, l->lane->qp->qp_num, at,
		  verify_byte(key, at), ((const unsigned char *)data)[at]);
	return fail(s);
}

static bool is_message(const struct stream *s, const struct stream_lane *l, const void *data,
		       uint64_t sequence, size_t size)
{
	return verify_check(data, size,
			    verify_key(s->set.seed, l->lane->index, sequence)) == size;
}

/*
 * Which message this is where some are lost: the immediate data says it, or the pattern. A message
 * that fits none is held against the one that was due.
 */
static uint64_t sequence_of(const struct stream *s, const struct stream_lane *l,
			    const struct ibv_wc *wc, const void *data)
{
	uint64_t due = l->next_sequence, ahead = 8ull * s->plan.window;

	if (s->plan.op->immediate) {
		uint32_t delta = (be32toh(wc->imm_data) - (uint32_t)due) & COUNT_MASK;
		bool back = delta & (COUNT_MASK + 1) / 2;

		return due + delta - (back ? COUNT_MASK + 1ull : 0);
	}
	if (!s->plan.lossy)
		return due;
	for (uint64_t i = 0; i < ahead; i++) {
		if (is_message(s, l, data, due + i, s->size))
			return due + i;
		if (i && i <= due && is_message(s, l, data, due - i, s->size))
			return due - i;
	}
	return due;
}

int stream_check_received(struct stream *s, struct stream_lane *l, const struct ibv_wc *wc)
{
	const char *data = stream_target(s, ID_LANE(wc->wr_id)) + ID_OFFSET(wc->wr_id);
	uint64_t sequence, key;
	size_t at;

	if (s->plan.ud)
		data += UD_GRH_BYTES;
	sequence = sequence_of(s, l, wc, data);
	if (s->plan.op->access)
		data = stream_target(s, l->lane->index) + sequence % s->slots * s->stride;
	key = verify_key(s->set.seed, l->lane->index, sequence);
	at = verify_check(data, s->size, key);
	if (at != s->size)
		return differs(s, l, sequence, data, at, key);
	l->next_sequence = sequence + 1;
	return 0;
}

static int check_atomic(struct stream *s, const struct stream_lane *l, uint64_t sequence,
			const char *data)
{
	uint64_t got;

	memcpy(&got, data, sizeof(got));
	if (got == sequence)
		return 0;
	error_set(s->w->err, EXIT_DATA, 0,
		  "--verify: atomic %llu on QP 0x%06x returned %llu, expected %llu",
		  (unsigned long long)sequence + 1, l->lane->qp->qp_num, (unsigned long long)got,
		  (unsigned long long)sequence);
	return fail(s);
}

int stream_check_fetched(struct stream *s, struct stream_lane *l)
{
	for (; l->checked < l->completed; l->checked++) {
		uint64_t slot = l->checked % s->slots;
		char *data = l->lane->send + slot * s->stride;
		uint64_t key = verify_key(s->set.seed, l->lane->index, slot);
		size_t at;

		if (s->set.op != OP_READ) {
			if (check_atomic(s, l, l->checked, data))
				return -1;
			continue;
		}
		at = verify_check(data, s->size, key);
		if (at != s->size)
			return differs(s, l, l->checked, data, at, key);
		memset(data, 0, s->size); /* so that the next READ has to bring it again */
	}
	return 0;
}

/* READ: what the peer is to find. UC: what no WRITE reached is told from what one corrupted. */
void stream_fill_target(struct stream *s)
{
	for (unsigned int i = 0; i < s->plan.qps; i++) {
		char *target = stream_target(s, i);

		for (uint64_t k = 0; k < s->slots && s->set.op == OP_READ; k++)
			verify_fill(target + k * s->stride, s->size,
				    verify_key(s->set.seed, i, k));
		if (s->set.op == OP_WRITE)
			memset(target, 0, s->slots * s->stride);
	}
}

static bool is_clear(const char *data, size_t size)
{
	return !data[0] && !memcmp(data, data + 1, size - 1);
}

/* The slot whose last message was @last; the first of this size was @first. */
static int check_slot(struct stream *s, const struct stream_lane *l, uint64_t first, uint64_t last)
{
	const char *data = stream_target(s, l->lane->index) + last % s->slots * s->stride;
	uint64_t key = verify_key(s->set.seed, l->lane->index, last), sequence = last;
	size_t at = verify_check(data, s->size, key);

	if (at == s->size)
		return 0;
	for (int i = 0; s->plan.lossy && i < EARLIER && sequence >= first + s->slots; i++) {
		sequence -= s->slots;
		if (is_message(s, l, data, sequence, s->size))
			return 0;
	}
	if (s->plan.lossy && is_clear(data, s->size))
		return 0;
	return differs(s, l, last, data, at, key);
}

static int check_word(struct stream *s, const struct stream_lane *l, uint64_t total)
{
	uint64_t word;

	memcpy(&word, stream_target(s, l->lane->index), sizeof(word));
	if (word == total)
		return 0;
	error_set(s->w->err, EXIT_DATA, 0,
		  "--verify: the word of QP 0x%06x is %llu after %llu atomics", l->lane->qp->qp_num,
		  (unsigned long long)word, (unsigned long long)total);
	return fail(s);
}

static int check_lane(struct stream *s, struct stream_lane *l, uint64_t total)
{
	uint64_t first = l->next_sequence, slots;

	if (s->plan.op->access == IBV_ACCESS_REMOTE_ATOMIC)
		return check_word(s, l, total);
	if (s->set.op != OP_WRITE)
		return 0;
	slots = total - first < s->slots ? total - first : s->slots;
	for (uint64_t k = 0; k < slots; k++)
		if (check_slot(s, l, first, total - 1 - k))
			return -1;
	l->next_sequence = total;
	return 0;
}

int stream_check_target(struct stream *s)
{
	for (unsigned int i = 0; i < s->plan.qps; i++) {
		json_t *total = json_array_get(s->peer_lanes, i);

		if (!json_is_integer(total) ||
		    json_integer_value(total) < (json_int_t)s->lanes[i].next_sequence) {
			error_set(s->w->err, EXIT_PEER, EPROTO,
				  "the peer's counts of its queue pairs make no sense");
			return fail(s);
		}
		if (check_lane(s, &s->lanes[i], (uint64_t)json_integer_value(total)))
			return -1;
	}
	return 0;
}
