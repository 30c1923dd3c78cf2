/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_lat: the latency of an RDMA WRITE. The client writes a marked message into the server's
 * memory, the server sees the mark and writes its answer; with --imm both see a completion
 * instead. A sample is half of the time from one post to the next.
 */
#include "bench.h"
#include "pingpong_ops.h"

BENCH_LAP_LOOPS(write_loops, SEE_MEMORY)
BENCH_LAP_LOOPS(imm_loops, SEE_COMPLETION)
/* On UC, where messages may be lost. */
BENCH_LAP_LOOPS(lossy_loops, SEE_LOSSY_MEMORY)
BENCH_LAP_LOOPS(lossy_imm_loops, SEE_LOSSY_COMPLETION)

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
