#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The programs on real kernel verbs, soft-RoCE in one VM of the lab: the pair tests marked quick, the
# ratio to ib_write_lat (compare.py), a wire that loses packets or breaks (parts/loss.py), every
# latency program with each transport (parts/programs.py), then what only
# a kernel can show (parts/kernel.py). TAP; about three minutes. Words choose cases of the last.
set -u
cd "$(dirname "$0")/../.." || exit 1

prepared=$(scripts/lab prepare 2>&1)
case $? in
0) ;;
2) echo "1..0 # SKIP lab: ${prepared##*$'\n'}"; exit 77 ;;
*) echo "Bail out! lab: $prepared"; exit 1 ;;
esac
[ -x "${VERBSPERF_BUILD:-build}/bin/rdma_lat" ] || { echo "Bail out! rdma_lat is not built: make tests"; exit 1; }

# shellcheck disable=SC2016
exec timeout -k 10 560 scripts/lab run --timeout 500 --env PAIR=lab --env "VERBSPERF_BUILD=${VERBSPERF_BUILD:-build}" \
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
