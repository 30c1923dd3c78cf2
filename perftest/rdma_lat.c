/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_lat: the latency of an RDMA WRITE over RC. The client writes a marked message into the
 * server's memory, the server sees the mark and writes its answer. A sample is half of the time
 * from one post to the next.
 */
#include "bench.h"
#include "lap_ops.h"

static inline __attribute__((always_inline)) int
client_laps(struct lap_run *r, enum lap_record record, enum post_how how, enum clock_source clock)
{
	struct poll_gap gap, *g = record == RECORD_DETAIL ? &gap : NULL;
	uint64_t i, t = 0;
	int rc;

	for (i = r->first; i < r->last; i++) {
		t = cycles_read(clock);
		if (record != RECORD_HISTOGRAM)
			r->post[i] = t;
		if (t >= r->deadline || stop_signal)
			break;
		gap = (struct poll_gap){ .last = t };
		rc = lap_post_write(r, how, i);
		if (rc)
			return lap_post_failed(r, rc, i);
		lap_count(r, record, t);
		if (lap_reap(r, clock, g) || lap_wait_mark(r, i, clock, g))
			return -1;
		if (record == RECORD_DETAIL) {
			r->seen[i] = cycles_read(clock);
			r->gap[i] = gap.longest;
		}
		r->laps = i + 1;
	}
	/* The last lap ends here: "seen". */
	t = i == r->last ? cycles_read(clock) : t;
	if (record == RECORD_HISTOGRAM)
		lap_count(r, record, t);
	else
		r->post[i] = t;
	return 0;
}

static inline __attribute__((always_inline)) int
server_laps(struct lap_run *r, enum lap_record record, enum post_how how, enum clock_source clock)
{
	struct poll_gap gap = { .last = cycles_read(clock) };
	struct poll_gap *g = record == RECORD_DETAIL ? &gap : NULL;
	int rc;

	for (uint64_t i = r->first; i < r->last; i++) {
		uint64_t t;

		gap.longest = 0;
		if (lap_wait_mark(r, i, clock, g))
			return -1;
		if (record == RECORD_DETAIL)
			r->seen[i] = cycles_read(clock);
		t = cycles_read(clock);
		if (record != RECORD_HISTOGRAM)
			r->post[i] = t;
		if (t >= r->deadline || stop_signal)
			break;
		rc = lap_post_write(r, how, i);
		if (rc)
			return lap_post_failed(r, rc, i);
		lap_count(r, record, t);
		if (lap_reap(r, clock, g))
			return -1;
		if (record == RECORD_DETAIL)
			r->gap[i] = gap.longest;
		r->laps = i + 1;
	}
	return 0;
}

BENCH_LAP_LOOPS(write_loops, client_laps, server_laps)

static const char *const sections[] = {
	"EXAMPLES",
	"Median latency between two hosts:\n"
	"  host-a$ rdma_lat\n"
	"  host-b$ rdma_lat host-a\n"
	"Every sample in CPU cycles, in order of measurement:\n"
	"  host-a$ rdma_lat -cU >server.txt\n"
	"  host-b$ rdma_lat -cU host-a >client.txt\n"
	"All sizes, as JSON:\n"
	"  host-b$ rdma_lat -a --json host-a",
	BENCH_LATENCY_SECTIONS,
	NULL
};

static const struct bench_program program = {
	.options = {
		.name = "rdma_lat",
		.summary = "Measures the latency of RDMA WRITE: a ping-pong polled in memory",
		.mask = FOR_PAIR | FOR_LAT | FOR_CLOCK,
		.argument = "HOST",
		.sections = sections,
	},
	.operation = "RDMA WRITE",
	.opcode = IBV_WR_RDMA_WRITE,
	.wr_ops = IBV_QP_EX_WITH_RDMA_WRITE,
	.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	.latency_kind = LATENCY_HALF_RTT,
	.loops = &write_loops,
};

int main(int argc, char **argv)
{
	return bench_main(&program, argc, argv);
}
