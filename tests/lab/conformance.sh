#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# build/tests/conform (tests/conformance/) on soft-RoCE in the lab: TAP. Known differences are passes
# that say so. Then two processes once more, each on its own device, with the wire between them.
set -u
cd "$(dirname "$0")/../.." || exit 1

prepared=$(scripts/lab prepare 2>&1)
case $? in
0) ;;
2) echo "1..0 # SKIP lab: ${prepared##*$'\n'}"; exit 77 ;;
*) echo "Bail out! lab: $prepared"; exit 1 ;;
esac
program=${VERBSPERF_BUILD:-build}/tests/conform
[ -x "$program" ] || { echo "Bail out! $program is not built: make tests"; exit 1; }
# shellcheck disable=SC2016
exec timeout -k 10 500 scripts/lab run --timeout 300 bash -c '
	"$1" -d rxe0 -g 1; first=$?
	"$1" -d rxe0 -g 1 --peer-dev rxe1 --only process | sed "/^1\.\./d"
	exit $((first | PIPESTATUS[0]))' - "$program"
