/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * send_bw: the bandwidth and message rate of SEND and RECV over RC, UC or UD. Under credits: no more
 * messages are under way than the receiver has posted receives. What is lost is counted.
 */
#include "bench.h"
#include "report_bw_keys.h"

static const char *const sections[] = {
	"EXAMPLES",
	"Bandwidth between two hosts, for a second:\n"
	"  host-a$ send_bw\n"
	"  host-b$ send_bw host-a\n"
	"Unreliable datagrams, with losses counted:\n"
	"  host-b$ send_bw --transport UD -s 4k --allow-loss host-a",
	BENCH_BANDWIDTH_SECTIONS,
	NULL
};

static const struct option_default defaults[] = BENCH_BANDWIDTH_DEFAULTS("64k");

static const struct bench_program program = {
	.options = {
		.name = "send_bw",
		.summary = "Measures the bandwidth and message rate of SEND and RECV",
		.mask = FOR_PAIR | FOR_BW | FOR_CLOCK | FOR_IMM | FOR_RECV | FOR_LOSSY | FOR_MCAST,
		.defaults = defaults,
		.argument = "HOST",
		.sections = sections,
	},
	.family = FAMILY_SEND,
	.bandwidth = true,
};

int main(int argc, char **argv)
{
	return bench_main(&program, argc, argv);
}
