#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# iWARP on real kernel verbs: soft-iWARP in one VM of the lab (parts/iwarp.py), built by siw.sh. TAP; a
# minute, and 150 MB from the distribution's archive the first time. Words choose cases.
set -u
. "$(dirname "$0")/lib.sh"
lab_or_skip bin/rdma_lat
module=$(tests/lab/siw.sh 2>/dev/null) || { echo "1..0 # SKIP siw.ko could not be built (tests/lab/siw.sh)"; exit 77; }

exec timeout -k 10 400 scripts/lab run --timeout 360 --env PAIR=lab --env "VERBSPERF_BUILD=$build" \
	--env "SIW_KO=$module" tests/lab/parts/iwarp.py "$@"
