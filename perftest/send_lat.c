/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * send_lat: the latency of SEND and RECV over RC, UC or UD. Both ends see a message by the
 * completion of the receive that took it. A sample is half of the time from one post to the next.
 */
#include "bench.h"
#include "pingpong_ops.h"

BENCH_LAP_LOOPS(send_loops, SEE_COMPLETION)
BENCH_LAP_LOOPS(lossy_loops, SEE_LOSSY_COMPLETION)

static const char *const sections[] = {
	"EXAMPLES",
	"Median latency between two hosts:\n"
	"  host-a$ send_lat\n"
	"  host-b$ send_lat host-a\n"
	"Over unreliable datagrams, sleeping instead of polling:\n"
	"  host-b$ send_lat --transport UD -e host-a",
	BENCH_LATENCY_SECTIONS,
	NULL
};

static const struct bench_program program = {
	.options = {
		.name = "send_lat",
		.summary = "Measures the latency of SEND and RECV: a ping-pong of completions",
		.mask = FOR_PAIR | FOR_LAT | FOR_CLOCK | FOR_IMM | FOR_RECV | FOR_LOSSY | FOR_MCAST,
		.argument = "HOST",
		.sections = sections,
	},
	.family = FAMILY_SEND,
	.latency_kind = LATENCY_HALF_RTT,
	.loops = &send_loops,
	.lossy_loops = &lossy_loops,
};

int main(int argc, char **argv)
{
	return bench_main(&program, argc, argv);
}
