/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * atomic_lat: the latency of an atomic operation. The client posts and waits for the completion, which brings
 * the answer; the server only lends its memory. A sample is the full round trip.
 */
#include "bench.h"
#include "pingpong_ops.h"

BENCH_INITIATOR_LOOPS(loops)

static const char *const sections[] = {
	"EXAMPLES",
	"Median latency between two hosts:\n"
	"  host-a$ atomic_lat\n"
	"  host-b$ atomic_lat host-a\n"
	"Compare and swap:\n"
	"  host-b$ atomic_lat -A cmp-swap host-a",
	BENCH_LATENCY_SECTIONS,
	NULL
};

static const struct bench_program program = {
	.options = {
		.name = "atomic_lat",
		.summary = "Measures the latency of FETCH_ADD and CMP_SWAP: the full round trip",
		.mask = FOR_PAIR | FOR_LAT | FOR_CLOCK | FOR_FETCH | FOR_ATOMIC,
		.argument = "HOST",
		.sections = sections,
	},
	.family = FAMILY_ATOMIC,
	.latency_kind = LATENCY_FULL_RTT,
	.loops = &loops,
};

int main(int argc, char **argv)
{
	return bench_main(&program, argc, argv);
}
