/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "load.h"

#include <math.h>
#include <string.h>

#include "wait_ops.h"

void load_init(struct load *l, const struct option_rate *rate, struct lane *lane,
	       enum clock_source clock, double hz, unsigned int depth)
{
	uint64_t now = cycles_read(clock);

	*l = (struct load){ .lane = lane, .clock = clock, .hz = hz, .depth = depth, .start = now };
	rate_start(&l->rate, rate_cost(rate->bits, rate->messages, LOAD_BYTES, hz), hz, now);
}

static int take_completions(struct load *l, struct wait *w)
{
	struct ibv_wc wc[16];
	int got = ibv_poll_cq(l->lane->cqs->send, 16, wc);

	if (got < 0)
		return wait_poll_failed(w, got);
	for (int i = 0; i < got; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			return wait_bad_completion(w, &wc[i]);
	if (!got)
		return 0;
	l->outstanding -= (unsigned int)got;
	l->messages += (unsigned int)got;
	l->end = cycles_read(l->clock);
	return 0;
}

int load_pump(struct load *l, struct wait *w)
{
	uint64_t due;

	if (l->outstanding && take_completions(l, w))
		return -1;
	due = rate_allowed(&l->rate, cycles_read(l->clock));
	while (due && l->outstanding < l->depth) {
		int rc = l->lane->post(l->lane, 0);

		if (rc) {
			error_set(w->err, EXIT_FAILED, rc, "posting the load on QP 0x%06x",
				  l->lane->qp->qp_num);
			w->end = WAIT_FAILED;
			return -1;
		}
		rate_take(&l->rate, 1);
		l->outstanding++;
		due--;
	}
	return 0;
}

int load_finish(struct load *l, struct wait *w)
{
	while (l->outstanding && w->end != WAIT_FAILED) {
		int got = wait_cq(w, l->lane->cqs->send, 16, CLOCK_SRC_GETTIME, NULL);

		if (got < 0)
			return -1;
		l->outstanding -= (unsigned int)got;
		l->messages += (unsigned int)got;
		l->end = cycles_read(l->clock);
	}
	return 0;
}

double load_bytes_per_s(const struct load *l)
{
	if (!l->messages || l->end <= l->start)
		return NAN;
	return (double)l->messages * LOAD_BYTES / ((double)(l->end - l->start) / l->hz);
}
