/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * atomic_bw: the rate of FETCH_ADD or CMP_SWAP. The initiator keeps atomics under way on every queue
 * pair, each of which has a word of its own in the other end's memory.
 */
#include "bench.h"
#include "report_bw_keys.h"

static const char *const sections[] = {
	"EXAMPLES",
	"Rate between two hosts, for a second:\n"
	"  host-a$ atomic_bw\n"
	"  host-b$ atomic_bw host-a\n"
	"Compare and swap, over four queue pairs:\n"
	"  host-b$ atomic_bw -A cmp-swap -q 4 host-a",
	BENCH_BANDWIDTH_SECTIONS,
	NULL
};

static const struct option_default defaults[] = BENCH_BANDWIDTH_DEFAULTS("8");

static const struct bench_program program = {
	.options = {
		.name = "atomic_bw",
		.summary = "Measures the rate of remote atomics",
		.mask = FOR_PAIR | FOR_BW | FOR_CLOCK | FOR_FETCH | FOR_ATOMIC,
		.defaults = defaults,
		.argument = "HOST",
		.sections = sections,
	},
	.family = FAMILY_ATOMIC,
	.bandwidth = true,
};

int main(int argc, char **argv)
{
	return bench_main(&program, argc, argv);
}
