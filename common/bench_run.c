/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The run, one size after the other; the barrier, and why a run ended. */
#include "bench_peers.h"

#include <errno.h>

#include "cycles_json.h"

#define SPIN_NS NS_PER_MS /* of the end that posts first, after the barrier's last frame */

void bench_fill_wait(struct bench *b, struct wait *w)
{
	*w = (struct wait){
		.control = &b->control,
		.others = b->other_controls,
		.other_count = b->other_count,
		.async = b->endpoint.ctx,
		.port = b->path.port,
		.run_deadline = b->deadline,
		.yield = b->yield,
		.channel = b->endpoint.channel,
		.spin_ns = b->set.spin_ns,
		.idle_ns = WAIT_IDLE_NS + b->set.gap_ns,
		.err = b->err,
	};
}

/*
 * The last frame goes from the server, which then spins, to the client, which spins a little more
 * before it posts: the first exchange finds both awake.
 */
int bench_barrier(struct bench *b)
{
	uint64_t deadline = bench_stage(b, "ready"), spin;
	json_t *m;

	b->control.draining = false;
	if (b->server) {
		m = control_recv(&b->control, "ready", deadline, b->err);
		json_decref(m);
		if (!m)
			return -1;
		bench_passed("ready");
		if (control_send(&b->control, control_message("go"), deadline, b->err))
			return -1;
		bench_passed("go");
		return 0;
	}
	if (control_send(&b->control, control_message("ready"), deadline, b->err))
		return -1;
	bench_passed("ready");
	m = control_recv(&b->control, "go", deadline, b->err);
	json_decref(m);
	if (!m)
		return -1;
	bench_passed("go");
	for (spin = now_ns() + SPIN_NS; now_ns() < spin;)
		;
	return 0;
}

static int barrier_step(struct bench *b, void *arg)
{
	(void)arg;
	return bench_barrier(b);
}

int bench_barrier_all(struct bench *b)
{
	return bench_each_peer(b, barrier_step, NULL);
}

static bool timed_out(const struct bench *b)
{
	return deadline_passed(b->deadline);
}

/* Why the loops ended, as an error where it was one. */
void bench_note_end(struct bench *b, struct wait *w)
{
	if (w->end == WAIT_INTERRUPT || stop_signal)
		b->interrupted = true;
	b->control.draining = true;
	if (w->end != WAIT_FAILED && timed_out(b))
		error_set(b->err, EXIT_TIMED_OUT, 0, "the run did not end within --timeout");
}

void bench_send_interrupt(struct bench *b)
{
	control_send(&b->control, control_message("interrupt"), deadline_in(NS_PER_S), b->err);
}

/* A failed completion is often the peer's death: if the connection says so, that is the reason. */
void bench_prefer_news_of_peer(struct bench *b, struct wait *w)
{
	struct error ours = *b->err;
	json_t *m;

	if (w->end != WAIT_FAILED || ours.code != EXIT_FAILED || ours.from_peer)
		return;
	b->err->code = EXIT_OK;
	/* A client that has all its answers says done: then the failure is ours. */
	m = control_recv(&b->control, b->server ? "done" : "results", deadline_in(300 * NS_PER_MS),
			 b->err);
	json_decref(m);
	if (m || b->err->code == EXIT_TIMED_OUT || b->err->err == EPROTO)
		*b->err = ours;
}

int bench_run_once(struct bench *b, uint64_t size)
{
	int rc;

	if (b->program->bandwidth)
		return bench_stream_size(b, size);
	rc = bench_lap_size(b, size, false);
	if (!rc && bench_loads(b) && !b->interrupted)
		rc = bench_lap_size(b, size, true);
	return rc;
}

/* What the run says of the clock, and a calibration after it, for both ends' reports. */
static void certify_clock(struct bench *b)
{
	struct clock_pair end;

	clock_pair_read(b->clock, NULL, &end);
	for (unsigned int i = 0; i < b->result_count; i++)
		b->cert.backwards += (unsigned int)b->results[i].backwards;
	clock_cert_refine(&b->cert, &b->run_start, &end);
	clock_cert_again(&b->cert, NULL);
	if (b->local_facts)
		json_object_set_new(b->local_facts, "clock", clock_cert_json(&b->cert));
}

int bench_run_all(struct bench *b)
{
	int rc = 0;

	b->number = 1;
	bench_counters_before(b);
	clock_pair_read(b->clock, NULL, &b->run_start);
	for (unsigned int i = 0; i < b->set.sizes.count && !rc && !b->interrupted; i++)
		rc = bench_run_size(b, b->set.sizes.v[i]);
	certify_clock(b);
	bench_counters_after(b, !rc);
	return !rc && b->set.floor && !b->interrupted ? bench_floor(b) : rc;
}
