#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# build/tests/conform (tests/conformance/) on soft-RoCE in the lab: TAP. Known differences are passes
# that say so. Then two processes once more, each on its own device, with the wire between them.
set -u
. "$(dirname "$0")/lib.sh"
lab_or_skip tests/conform
# shellcheck disable=SC2016
exec timeout -k 10 500 scripts/lab run --timeout 300 bash -c '
	"$1" -d rxe0 -g 1; first=$?
	"$1" -d rxe0 -g 1 --peer-dev rxe1 --only process | sed "/^1\.\./d"
	exit $((first | PIPESTATUS[0]))' - "$build/tests/conform"
