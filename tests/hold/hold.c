/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stops a program at a stage, for the tests that kill one end there: VERBSPERF_TEST_HOLD names it.
 * The process stops as by SIGSTOP; SIGCONT lets it go on. Linked into build/tests/hold-* only.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

void bench_stage_hook(const char *name)
{
	const char *wanted = getenv("VERBSPERF_TEST_HOLD");

	if (!wanted || strcmp(wanted, name))
		return;
	fprintf(stderr, "HELD %s\n", name);
	raise(SIGSTOP);
}
