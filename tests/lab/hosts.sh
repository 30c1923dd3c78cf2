#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdma_lat between two hosts: two VMs of the lab, joined by a wire. Both do the steps of
# tests/lab/parts/steps.sh; tests/lab/parts/judge.py then reads what the two ends left. TAP.
set -u
. "$(dirname "$0")/lib.sh"
lab_or_skip bin/rdma_lat

LAB_OUT=$(mktemp -d "${TMPDIR:-/tmp}/verbsperf-hosts.XXXXXX")
export LAB_OUT
steps="PATH=$(cd "$build/bin" && pwd):\$PATH bash tests/lab/parts/steps.sh"
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
