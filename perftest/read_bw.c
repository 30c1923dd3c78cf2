/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * read_bw: the bandwidth and message rate of RDMA READ. The initiator keeps READs under way on every
 * queue pair; the other end only lends its memory.
 */
#include "bench.h"
#include "report_bw_keys.h"

static const char *const sections[] = {
	"EXAMPLES",
	"Bandwidth between two hosts, for a second:\n"
	"  host-a$ read_bw\n"
	"  host-b$ read_bw host-a\n"
	"At most four READs under way on each of two queue pairs:\n"
	"  host-b$ read_bw -q 2 -o 4 host-a",
	BENCH_BANDWIDTH_SECTIONS,
	NULL
};

static const struct option_default defaults[] = BENCH_BANDWIDTH_DEFAULTS("64k");

static const struct bench_program program = {
	.options = {
		.name = "read_bw",
		.summary = "Measures the bandwidth and message rate of RDMA READ",
		.mask = FOR_PAIR | FOR_BW | FOR_CLOCK | FOR_FETCH,
		.defaults = defaults,
		.argument = "HOST",
		.sections = sections,
	},
	.family = FAMILY_READ,
	.bandwidth = true,
};

int main(int argc, char **argv)
{
	return bench_main(&program, argc, argv);
}
