#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --rdma-cm and --path-record on real kernel verbs, soft-RoCE in one VM of the lab (parts/cm.py). TAP; about
# a minute. Words choose cases; CM_RUNS says how many runs follow each other (12).
set -u
. "$(dirname "$0")/lib.sh"
lab_or_skip tests/hold-rdma_lat

exec timeout -k 10 560 scripts/lab run --timeout 500 --env PAIR=lab --env "VERBSPERF_BUILD=$build" \
	--env "CM_RUNS=${CM_RUNS:-12}" tests/lab/parts/cm.py "$@"
