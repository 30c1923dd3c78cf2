/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_bw: the bandwidth and message rate of RDMA WRITE over RC or UC. The sender keeps its send
 * queues full; that the data is there is confirmed by a READ behind the last WRITE of each queue
 * pair, or with --imm by the receiver.
 */
#include "bench.h"
#include "report_bw_keys.h"

static const char *const sections[] = {
	"EXAMPLES",
	"Bandwidth between two hosts, for a second:\n"
	"  host-a$ rdma_bw\n"
	"  host-b$ rdma_bw host-a\n"
	"Both ways at once, over four queue pairs, for ten seconds:\n"
	"  host-b$ rdma_bw -b -q 4 -D 10s host-a\n"
	"Message rate of small messages:\n"
	"  host-b$ rdma_bw -s 8 -l 16 host-a",
	BENCH_BANDWIDTH_SECTIONS,
	NULL
};

static const struct option_default defaults[] = BENCH_BANDWIDTH_DEFAULTS("64k");

static const struct bench_program program = {
	.options = {
		.name = "rdma_bw",
		.summary = "Measures the bandwidth and message rate of RDMA WRITE",
		.mask = FOR_PAIR | FOR_BW | FOR_CLOCK | FOR_IMM | FOR_RECV | FOR_LOSSY,
		.defaults = defaults,
		.argument = "HOST",
		.sections = sections,
	},
	.family = FAMILY_WRITE,
	.bandwidth = true,
};

int main(int argc, char **argv)
{
	return bench_main(&program, argc, argv);
}
