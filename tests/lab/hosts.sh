#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdma_lat between two hosts: two VMs of the lab, joined by a wire. Both do the steps of
# tests/lab/parts/steps.sh; tests/lab/parts/judge.py then reads what the two ends left. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1

prepared=$(scripts/lab prepare 2>&1)
case $? in
0) ;;
2) echo "1..0 # SKIP lab: ${prepared##*$'\n'}"; exit 77 ;;
*) echo "Bail out! lab: $prepared"; exit 1 ;;
esac
[ -x "${VERBSPERF_BUILD:-build}/bin/rdma_lat" ] || { echo "Bail out! rdma_lat is not built: make tests"; exit 1; }

LAB_OUT=$(mktemp -d "${TMPDIR:-/tmp}/verbsperf-hosts.XXXXXX")
export LAB_OUT
steps="PATH=$(cd "${VERBSPERF_BUILD:-build}/bin" && pwd):\$PATH bash tests/lab/parts/steps.sh"
timeout -k 10 400 scripts/lab hosts --timeout 300 "$steps" "$steps" >"$LAB_OUT/lab.out" 2>&1
code=$?
tests/lab/parts/judge.py "$LAB_OUT"
judged=$?
if [ "$code" != 0 ]; then
	echo "not ok - scripts/lab hosts: exit code $code"
	tail -n 20 "$LAB_OUT/lab.out" | sed 's/^/# /'
elif [ "$judged" = 0 ]; then
	rm -r "$LAB_OUT"
	exit 0
fi
echo "# kept: $LAB_OUT"
exit 1
