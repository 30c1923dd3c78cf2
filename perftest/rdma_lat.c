/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_lat: the latency of an RDMA WRITE. The client writes a marked message into the server's
 * memory, the server sees the mark and writes its answer; with --imm both see a completion
 * instead. A sample is half of the time from one post to the next.
 */
#include "bench.h"
#include "pingpong_ops.h"

LAP_INLINE int write_client(struct lap_run *r, enum lap_record record, enum clock_source clock)
{
	return pingpong_client(r, SEE_MEMORY, record, clock);
}

LAP_INLINE int write_server(struct lap_run *r, enum lap_record record, enum clock_source clock)
{
	return pingpong_server(r, SEE_MEMORY, record, clock);
}

LAP_INLINE int imm_client(struct lap_run *r, enum lap_record record, enum clock_source clock)
{
	return pingpong_client(r, SEE_COMPLETION, record, clock);
}

LAP_INLINE int imm_server(struct lap_run *r, enum lap_record record, enum clock_source clock)
{
	return pingpong_server(r, SEE_COMPLETION, record, clock);
}

/* On UC, where messages may be lost. */
LAP_INLINE int lossy_client(struct lap_run *r, enum lap_record record, enum clock_source clock)
{
	return pingpong_client(r, SEE_LOSSY_MEMORY, record, clock);
}

LAP_INLINE int lossy_server(struct lap_run *r, enum lap_record record, enum clock_source clock)
{
	return pingpong_server(r, SEE_LOSSY_MEMORY, record, clock);
}

LAP_INLINE int lossy_imm_client(struct lap_run *r, enum lap_record record, enum clock_source clock)
{
	return pingpong_client(r, SEE_LOSSY_COMPLETION, record, clock);
}

LAP_INLINE int lossy_imm_server(struct lap_run *r, enum lap_record record, enum clock_source clock)
{
	return pingpong_server(r, SEE_LOSSY_COMPLETION, record, clock);
}

BENCH_LAP_LOOPS(write_loops, write_client, write_server)
BENCH_LAP_LOOPS(imm_loops, imm_client, imm_server)
BENCH_LAP_LOOPS(lossy_loops, lossy_client, lossy_server)
BENCH_LAP_LOOPS(lossy_imm_loops, lossy_imm_client, lossy_imm_server)

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
		.mask = FOR_PAIR | FOR_LAT | FOR_CLOCK | FOR_IMM | FOR_RECV | FOR_LOSSY,
		.argument = "HOST",
		.sections = sections,
	},
	.family = FAMILY_WRITE,
	.latency_kind = LATENCY_HALF_RTT,
	.loops = &write_loops,
	.imm_loops = &imm_loops,
	.lossy_loops = &lossy_loops,
	.lossy_imm_loops = &lossy_imm_loops,
};

int main(int argc, char **argv)
{
	return bench_main(&program, argc, argv);
}
