# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Sourced by the lab's tests.

# lab_or_skip PROGRAM: into the tree's top; ends the test where there is no lab, or where PROGRAM is not built.
lab_or_skip()
{
	local prepared
	cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
	build=${VERBSPERF_BUILD:-build}
	prepared=$(scripts/lab prepare 2>&1)
	case $? in
	0) ;;
	2) echo "1..0 # SKIP lab: ${prepared##*$'\n'}"; exit 77 ;;
	*) echo "Bail out! lab: $prepared"; exit 1 ;;
	esac
	[ -x "$build/$1" ] || { echo "Bail out! $build/$1 is not built: make tests"; exit 1; }
}
