#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --rdma-cm and --path-record on real kernel verbs, soft-RoCE in one VM of the lab (parts/cm.py). TAP; about
# a minute. Words choose cases; CM_RUNS says how many runs follow each other (12).
set -u
cd "$(dirname "$0")/../.." || exit 1

prepared=$(scripts/lab prepare 2>&1)
case $? in
0) ;;
2) echo "1..0 # SKIP lab: ${prepared##*$'\n'}"; exit 77 ;;
*) echo "Bail out! lab: $prepared"; exit 1 ;;
esac
[ -x "${VERBSPERF_BUILD:-build}/tests/hold-rdma_lat" ] || { echo "Bail out! not built: make tests"; exit 1; }

exec timeout -k 10 560 scripts/lab run --timeout 500 --env PAIR=lab --env "VERBSPERF_BUILD=${VERBSPERF_BUILD:-build}" \
	--env "CM_RUNS=${CM_RUNS:-12}" tests/lab/parts/cm.py "$@"
