#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# iWARP on real kernel verbs: soft-iWARP in one VM of the lab (parts/iwarp.py), built by siw.sh. TAP; a
# minute, and 150 MB from the distribution's archive the first time. Words choose cases.
set -u
cd "$(dirname "$0")/../.." || exit 1

prepared=$(scripts/lab prepare 2>&1)
case $? in
0) ;;
2) echo "1..0 # SKIP lab: ${prepared##*$'\n'}"; exit 77 ;;
*) echo "Bail out! lab: $prepared"; exit 1 ;;
esac
module=$(tests/lab/siw.sh 2>/dev/null) || { echo "1..0 # SKIP siw.ko could not be built (tests/lab/siw.sh)"; exit 77; }

exec timeout -k 10 400 scripts/lab run --timeout 360 --env PAIR=lab --env "VERBSPERF_BUILD=${VERBSPERF_BUILD:-build}" \
	--env "SIW_KO=$module" tests/lab/parts/iwarp.py "$@"
