/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * read_lat: the latency of an RDMA READ. The client posts and waits for the completion, which brings
 * the answer; the server only lends its memory. A sample is the full round trip.
 */
#include "bench.h"
#include "pingpong_ops.h"

BENCH_INITIATOR_LOOPS(loops)

static const char *const sections[] = {
	"EXAMPLES",
	"Median latency between two hosts:\n"
	"  host-a$ read_lat\n"
	"  host-b$ read_lat host-a\n"
	"Messages of 4 KiB:\n"
	"  host-b$ read_lat -s 4k host-a",
	BENCH_LATENCY_SECTIONS,
	NULL
};

static const struct bench_program program = {
	.options = {
		.name = "read_lat",
		.summary = "Measures the latency of RDMA READ: the full round trip",
		.mask = FOR_PAIR | FOR_LAT | FOR_CLOCK | FOR_FETCH,
		.argument = "HOST",
		.sections = sections,
	},
	.family = FAMILY_READ,
	.latency_kind = LATENCY_FULL_RTT,
	.loops = &loops,
};

int main(int argc, char **argv)
{
	return bench_main(&program, argc, argv);
}
