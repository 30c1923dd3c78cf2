#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The programs on real kernel verbs, soft-RoCE in one VM of the lab: the pair tests marked quick, the
# ratio to ib_write_lat (compare.py), a wire that loses packets or breaks (parts/loss.py), every
# latency program with each transport (parts/programs.py), then what only
# a kernel can show (parts/kernel.py). TAP; about three minutes. Words choose cases of the last.
set -u
. "$(dirname "$0")/lib.sh"
lab_or_skip bin/rdma_lat

# shellcheck disable=SC2016
exec timeout -k 10 560 scripts/lab run --timeout 500 --env PAIR=lab --env "VERBSPERF_BUILD=$build" \
	bash -c '
	failed=0
	if [ $# = 0 ]; then
		for t in basic options connect strangers death; do
			tests/pair/test_$t.py -q || failed=1
		done
		tests/lab/compare.py || failed=1
		tests/lab/parts/bw.py || failed=1
		tests/lab/parts/loss.py || failed=1
		tests/lab/parts/programs.py || failed=1
	fi
	tests/lab/parts/kernel.py "$@" || failed=1
	exit $failed' run "$@"
