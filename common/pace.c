/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "pace.h"

#include <string.h>

#include "verify.h"

#define SEED 0x766572627370657full
#define LOOK_NS (5 * NS_PER_MS)
#define DOZE_NS (20 * NS_PER_MS) /* longer gaps sleep, but for the last LOOK_NS */

/* Until @p->next; a long gap sleeps most of it, and both look around. */
static int wait_out_gap(struct pace *p, struct wait *w)
{
	uint64_t now = now_ns(), look = now + LOOK_NS;

	for (; now < p->next; now = now_ns()) {
		uint64_t left = p->next - now;
		int ms = left > DOZE_NS ? (int)((left < NS_PER_S ? left : NS_PER_S) / NS_PER_MS) - 5 : 0;

		if (stop_asked()) {
			w->end = WAIT_INTERRUPT;
			return -1;
		}
		if (!ms && now < look)
			continue;
		look = now + LOOK_NS;
		if (wait_sleep(w, ms))
			return -1;
	}
	return 0;
}

/* Of the message that the client or the server sends in @lap. */
static uint64_t key_of(const struct lap_run *r, uint64_t lap, bool of_server)
{
	return verify_key(SEED, r->lane->index, 2 * (r->number + lap) + of_server);
}

/* What a READ finds; the same in every lap. */
static uint64_t key_at_rest(const struct lane *l)
{
	return verify_key(SEED, l->index, 0);
}

static int differs(struct lap_run *r, uint64_t lap, size_t at, unsigned int want, unsigned int got)
{
	error_set(r->wait->err, EXIT_DATA, 0,
		  "--verify: message %llu on QP 0x%06x differs at offset %zu: expected 0x%02x, got 0x%02x",
		  (unsigned long long)lap + 1, r->lane->qp->qp_num, at, want, got);
	r->wait->end = WAIT_FAILED;
	return -1;
}

static int check(struct lap_run *r, uint64_t lap, const char *data, size_t size, uint64_t key)
{
	size_t at = verify_check(data, size, key);

	return at == size ? 0 : differs(r, lap, at, verify_byte(key, at), (unsigned char)data[at]);
}

/* An atomic returns what was there before: as many as have been on this lane. */
static int check_atomic(struct pace *p, struct lap_run *r, uint64_t lap)
{
	uint64_t got, want = lap / p->lanes;

	memcpy(&got, r->lane->send, sizeof(got));
	if (got == want)
		return 0;
	error_set(r->wait->err, EXIT_DATA, 0,
		  "--verify: atomic %llu on QP 0x%06x returned %llu, expected %llu",
		  (unsigned long long)lap + 1, r->lane->qp->qp_num, (unsigned long long)got,
		  (unsigned long long)want);
	r->wait->end = WAIT_FAILED;
	return -1;
}

static void prepare(struct pace *p, struct lap_run *r, uint64_t lap)
{
	struct lane *l = r->lane;

	switch (p->data) {
	case PACE_EACH_WAY:
		verify_fill(l->send, p->size, key_of(r, lap, p->server));
		return;
	case PACE_AT_REST:
		/* What was read before would be right again. */
		memset(l->send, 0, p->size);
		return;
	case PACE_ATOMIC:
		if (l->wr.opcode != IBV_WR_ATOMIC_CMP_AND_SWP)
			return;
		l->wr.wr.atomic.compare_add = lap / p->lanes;
		l->wr.wr.atomic.swap = lap / p->lanes + 1;
		return;
	}
}

static int before_post(struct lap_run *r, uint64_t lap)
{
	struct pace *p = r->pace->arg;

	if (p->verify)
		prepare(p, r, lap);
	if (p->gap_ns && !p->server && wait_out_gap(p, r->wait))
		return -1;
	return p->load ? load_pump(p->load, r->wait) : 0;
}

static int after_seen(struct lap_run *r, uint64_t lap)
{
	struct pace *p = r->pace->arg;
	struct lane *l = r->lane;

	if (p->gap_ns)
		p->next = now_ns() + p->gap_ns;
	if (!p->verify)
		return 0;
	if (p->data == PACE_ATOMIC)
		return check_atomic(p, r, lap);
	if (p->data == PACE_AT_REST)
		return check(r, lap, l->send, p->size, key_at_rest(l));
	return check(r, lap, l->recv, p->size, key_of(r, lap, !p->server));
}

void pace_fill_at_rest(const struct lane *lanes, unsigned int count, uint64_t size)
{
	for (unsigned int i = 0; i < count; i++)
		verify_fill(lanes[i].recv, size, key_at_rest(&lanes[i]));
}

void pace_init(struct pace *p, const struct settings *set, enum op_kind op, const struct mark *mark,
	       uint64_t size, bool server)
{
	const struct op *o = op_get(op);

	*p = (struct pace){
		.hooks = { before_post, after_seen, p },
		.gap_ns = set->gap_ns,
		.verify = set->verify,
		.server = server,
		.lanes = set->qps,
		/* The word of the mark is checked by who waits for it. */
		.size = o->receives || o->fetches ? size : mark->word,
		.data = o->access == IBV_ACCESS_REMOTE_ATOMIC ? PACE_ATOMIC :
			o->fetches			      ? PACE_AT_REST :
							        PACE_EACH_WAY,
	};
}
