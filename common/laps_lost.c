/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Laps where messages may be lost: long waits, what came too late or never, what is counted. */
#include "lap_lossy.h"

#include <errno.h>
#include <string.h>

/*
 * So many numbers may be left out at once; what is further away is none of this run. A peer of whom
 * nothing comes for so long was given up before. A mark of one byte has 256 numbers, and the words
 * of other lanes hold old ones.
 */
#define AHEAD_MOST 4096
#define AHEAD_MOST_OF_A_BYTE 63

/* A number is so far ahead of the awaited one: it may have come instead. */
static bool is_ahead(const struct lap_run *r, int64_t numbers)
{
	bool byte = r->marks && r->mark.width == 1;

	return numbers > 0 && numbers <= (byte ? AHEAD_MOST_OF_A_BYTE : AHEAD_MOST);
}

/* @l's own first, then all: after a loss the next message comes on another lane. */
static const struct endpoint_cqs *group_at(const struct lap_run *r, const struct lane *l,
					   unsigned int i)
{
	return i ? &r->loss.groups[i - 1] : l->cqs;
}

/* One completion with the device's time of it; as ibv_poll_cq(). */
static int poll_stamped(struct ibv_cq_ex *cq, struct ibv_wc *wc, uint64_t *stamp)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };
	int rc = ibv_start_poll(cq, &attr);

	if (rc)
		return rc == ENOENT ? 0 : -rc;
	*wc = (struct ibv_wc){ .wr_id = cq->wr_id, .status = cq->status,
			       .qp_num = ibv_wc_read_qp_num(cq) };
	if (wc->status == IBV_WC_SUCCESS) {
		wc->imm_data = ibv_wc_read_imm_data(cq);
		*stamp = ibv_wc_read_completion_ts(cq);
	} else {
		wc->vendor_err = ibv_wc_read_vendor_err(cq);
	}
	ibv_end_poll(cq);
	return 1;
}

/* Polls every group once: 1 the message of @lap is there, 0 it is not, -1 see wait->end. */
static int poll_groups(struct lap_run *r, struct lane *l, uint64_t lap, uint64_t *stamp)
{
	for (unsigned int i = 0; i <= r->loss.group_count; i++) {
		const struct endpoint_cqs *c = group_at(r, l, i);
		struct ibv_wc wc;
		uint64_t at = 0;
		int got = stamp ? poll_stamped(c->stamped, &wc, &at) : ibv_poll_cq(c->recv, 1, &wc);
		int rc = got ? lap_take(r, l, lap, got, &wc) : 0;

		if (rc > 0 && stamp)
			*stamp = at;
		if (rc)
			return rc;
	}
	return 0;
}

/* A lap that was given up is answered by all after all; anything else is there twice. */
static void take_late(struct lap_run *r, uint32_t number)
{
	struct lap_loss *s = &r->loss;
	unsigned int i = 0;

	while (i < s->open_count && s->open[i].number != number)
		i++;
	if (i == s->open_count || --s->open[i].left)
		return;
	memmove(&s->open[i], &s->open[i + 1], (--s->open_count - i) * sizeof(s->open[0]));
	r->lost--;
	r->late++;
}

/* The server's lap goes on from the message that came. */
static int skip(struct lap_run *r, int64_t numbers)
{
	if (r->laps + (uint64_t)numbers / 2 >= r->loss.bound)
		return 0;
	r->loss.skipped = (uint64_t)numbers;
	r->wait->end = WAIT_LOST;
	return -1;
}

int lap_take_other(struct lap_run *r, struct lane *l, uint64_t lap, int got,
		   const struct ibv_wc *wc)
{
	struct lane *owner = l - l->index + wc->wr_id;
	uint32_t number;
	int32_t ahead;

	if (got < 0)
		return wait_poll_failed(r->wait, got);
	if (wc->status != IBV_WC_SUCCESS)
		return wait_bad_completion(r->wait, wc);
	owner->consumed++;
	if (lap_receive(r, owner, SEE_LOSSY_COMPLETION))
		return -1;
	number = be32toh(wc->imm_data);
	ahead = (int32_t)(number - (uint32_t)lap_number(r, lap));
	if (r->loss.side == LAP_CLIENT)
		take_late(r, number);
	else if (is_ahead(r, ahead) && skip(r, ahead)) {
		r->loss.ahead = true;
		return -1;
	}
	return 0;
}

/* Looks at the words of all lanes, as poll_groups(). */
static int look_at_words(struct lap_run *r, struct lane *l, uint64_t lap)
{
	struct lane *at = l;

	do {
		const uint64_t *p = (const uint64_t *)(const void *)(at->recv + r->mark.word);
		int64_t ahead = mark_ahead(&r->mark, __atomic_load_n(p, __ATOMIC_ACQUIRE),
					   lap_number(r, lap));

		if (!ahead && at == l)
			return 1;
		if (r->loss.side == LAP_SERVER && is_ahead(r, ahead) && skip(r, ahead))
			return -1;
		at = at->next;
	} while (at != l);
	return 0;
}

int lap_seek(struct lap_run *r, struct lane *l, enum lap_sight sight, uint64_t lap,
	     enum clock_source clock, struct poll_gap *gap)
{
	bool memory = sight == SEE_LOSSY_MEMORY;
	struct wait_slow slow = { .cq = memory ? NULL : l->cqs->recv, .groups = r->loss.groups,
				  .group_count = r->loss.group_count };
	uint64_t *stamp = gap && r->device ? &r->device[lap] : NULL;
	unsigned int n = r->wait->spins;
	int rc;

	while (!(rc = memory ? look_at_words(r, l, lap) : poll_groups(r, l, lap, stamp))) {
		if (gap)
			poll_gap_see(gap, clock);
		if (--n)
			continue;
		n = r->wait->spins;
		if (wait_slow_look(r->wait, &slow))
			return -1;
	}
	if (slow.start)
		wait_slow_end(r->wait, &slow);
	return rc < 0 ? -1 : 0;
}

/* The oldest one is not waited for any longer. */
static void leave_open(struct lap_run *r, uint32_t number)
{
	struct lap_loss *s = &r->loss;

	if (s->open_count == LAP_OPEN_MAX)
		memmove(&s->open[0], &s->open[1], --s->open_count * sizeof(s->open[0]));
	s->open[s->open_count++] = (struct lap_open){ number, s->left };
}

/*
 * The next answer may fall on the word of this one, so a late one is waited for here, as long
 * again: 1 it came, 0 it did not, -1 see wait->end.
 */
static int comes_late(struct lap_run *r)
{
	if (!lap_see_mark(r, r->lane, r->laps, CLOCK_SRC_GETTIME, NULL))
		return 1;
	if (r->wait->end != WAIT_LOST)
		return -1;
	r->wait->end = WAIT_OK;
	return 0;
}

/*
 * The word of a lane that was left out has an old number, and few of them fit into a byte. What came
 * may be in this very word.
 */
static void renew_word(struct lap_run *r)
{
	uint64_t *p, number = lap_number(r, r->laps);

	if (!r->marks)
		return;
	p = (uint64_t *)(void *)(r->lane->recv + r->mark.word);
	if (!is_ahead(r, mark_ahead(&r->mark, *p, number)))
		*p = mark_word(&r->mark, number);
}

int laps_give_up(struct lap_run *r, enum lap_record record)
{
	int late = r->marks ? comes_late(r) : 0;

	if (late < 0)
		return -1;
	if (late)
		r->late++;
	else
		r->lost++;
	if (!r->marks)
		leave_open(r, (uint32_t)lap_number(r, r->laps));
	if (!lap_record_counts(record))
		r->post[r->laps] |= LAP_LOST;
	r->before = 0;
	renew_word(r);
	r->number++; /* the next one says that this was given up */
	r->laps++;
	r->lane = r->lane->next;
	return 0;
}

/* The stamps of a lap whose message never came, where laps are kept. */
static void mark_missed(struct lap_run *r, uint64_t lap)
{
	r->post[lap] = LAP_LOST;
	if (r->seen)
		r->seen[lap] = 0;
	if (r->gap)
		r->gap[lap] = 0;
	if (r->device)
		r->device[lap] = 0;
	if (r->cpu)
		r->cpu[lap] = LAP_CPU_UNKNOWN;
}

void laps_skip(struct lap_run *r, enum lap_record record, uint64_t last)
{
	bool kept = !lap_record_counts(record);
	uint64_t missed = r->loss.skipped / 2;

	/* What its last answer begins ends with the client's wait, or with nothing. */
	if (kept && r->laps)
		r->post[r->laps - 1] |= LAP_LOST;
	r->before = 0;
	r->number += r->loss.skipped - missed;
	for (; missed; missed--, r->laps++) {
		if (kept && r->laps < last)
			mark_missed(r, r->laps);
		else
			r->missed++;
		renew_word(r);
		r->lane = r->lane->next;
	}
}

void laps_wait_for_late(struct lap_run *r)
{
	struct wait *w = r->wait;
	struct wait_slow slow = { .groups = r->loss.groups, .group_count = r->loss.group_count };
	uint64_t loss_ns = w->loss_ns;
	unsigned int open = 0;

	if (!r->loss.open_count)
		return;
	slow.cq = r->lane->cqs->recv;
	w->loss_ns = 2 * loss_ns;
	while (r->loss.open_count && w->end == WAIT_OK) {
		if (r->loss.open_count != open)
			slow.start = 0;
		open = r->loss.open_count;
		if (poll_groups(r, r->lane, r->laps, NULL) < 0 || wait_slow_look(w, &slow))
			break;
	}
	w->loss_ns = loss_ns;
	r->loss.open_count = 0;
	if (w->end == WAIT_LOST)
		w->end = WAIT_OK;
}
