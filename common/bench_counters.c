/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device's counters around a run, and the exchange of what they counted. */
#include "bench_peers.h"

#define EXCHANGE_NS (3 * NS_PER_S) /* beyond the peer's wait for its own */

void bench_counters_before(struct bench *b)
{
	/* A name of softverbs may be that of a real device. */
	if (!b->facts.software || strcmp(b->facts.software, "softverbs"))
		counters_read(&b->counters, "", b->facts.name, bench_port(b)->port);
}

/* The certificate as the run left it, where the endpoints told it as it was before. */
static void take_clock(struct bench *b, json_t *clock)
{
	if (b->remote_facts && json_is_object(clock))
		json_object_set(b->remote_facts, "clock", clock);
}

/*
 * Each end's, and its clock, to the other, in a frame of their own. The run is over and its results are there:
 * what a peer does not send is not known, and no failure. Those of the first peer are kept.
 */
static int exchange(struct bench *b, void *arg)
{
	uint64_t deadline = deadline_in(EXCHANGE_NS);
	json_t *m = control_message("counters");
	struct error ignored;

	(void)arg;
	error_init(&ignored, b->program->options.name);
	json_object_set(m, "values", b->local_counters ? b->local_counters : json_null());
	json_object_set(m, "clock", json_object_get(b->local_facts, "clock"));
	if (!control_send(&b->control, m, deadline, &ignored)) {
		m = control_recv(&b->control, "counters", deadline, &ignored);
		if (b->turn == 0)
			b->remote_counters = counters_from_peer(json_object_get(m, "values"));
		take_clock(b, json_object_get(m, "clock"));
		json_decref(m);
	}
	error_free(&ignored);
	return 0;
}

void bench_counters_after(struct bench *b, bool with_peer)
{
	struct counters after = { 0 };

	counters_wait(&b->counters);
	if (b->counters.count)
		counters_read(&after, "", b->facts.name, bench_port(b)->port);
	b->local_counters = counters_difference(&b->counters, &after);
	counters_free(&after);
	counters_free(&b->counters);
	if (with_peer)
		bench_each_peer(b, exchange, NULL);
}
