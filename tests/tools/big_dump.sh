#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# big_dump.sh [LAPS [SECONDS [KIB]]]   lat_stats on a dump of LAPS laps (10^6): what is planted comes
#                                      out, within SECONDS of CPU (60) and KIB of memory (1048576)
#
# The goals: 100000000 laps in 10 s and 1 GiB; 500000000 laps (a 4 GB dump) in the same memory. The
# dump and as much again for its making go to TMPDIR.
cd "$(dirname "$0")/../.." || exit 1
. tests/tools/tap.sh
laps=${1:-1000000}
seconds=${2:-60}
kib=${3:-1048576}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

room=$(df -k --output=avail "$dir" | tail -n 1)
if [ "$room" -lt $((laps / 1024 * 17 + 102400)) ]; then
	skip "a dump of $laps laps" "$dir has no room for two of them: set TMPDIR"
	finish
	exit
fi
if ! ${CC:-cc} -std=gnu11 -O2 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Icommon -Itests/unit \
	tests/tools/gen_dump.c build/lib/libcommon.a -ljansson -lm -lcmocka -o "$dir/gen_dump" ||
	! "$dir/gen_dump" long "$dir/big.dump" "$laps" >/dev/null; then
	echo "Bail out! no dump"
	exit 1
fi

# CPU time and the largest resident set of the child.
measured()
{
	timeout -k 5 1200 python3 - "$dir" "$seconds" "$kib" <<'EOF'
import resource, subprocess, sys
d, seconds, kib = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
with open(f"{d}/doc.json", "w") as out:
    code = subprocess.run(["build/bin/lat_stats", "--json", f"{d}/big.dump"], stdout=out).returncode
u = resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = u.ru_utime + u.ru_stime
with open(f"{d}/cost", "w") as f:
    print(f"# {cpu:.1f} s of CPU, {u.ru_maxrss} KiB", file=f)
if code or cpu > seconds or u.ru_maxrss > kib:
    sys.exit(f"exit code {code}, {cpu:.1f} s of CPU, {u.ru_maxrss} KiB")
EOF
}

right()
{
	python3 - "$dir" "$laps" <<'EOF'
import json, sys
laps = int(sys.argv[2])
f = json.load(open(f"{sys.argv[1]}/doc.json"))["files"][0]
r, = f["results"]
assert r["samples"] == laps, r
assert abs(r["p99_usec"] - 9.66) < 0.05 and r["max_at"] == laps * 7 // 10 + 1, r
assert abs(f["startup"]["laps"] - 50) <= 2, f["startup"]
c, = f["change_points"]
assert abs(c["lap"] - (laps * 6 // 10 + 1)) <= 3, c
assert any(abs(p["hz"] - 250) < 2.5 for p in f["periods"]), f["periods"]
assert laps * 7 // 10 + 1 in [h["lap"] for h in f["hiccups"]]
EOF
}

check "$laps laps within $seconds s of CPU and $kib KiB" measured
cat "$dir/cost" 2>/dev/null
check "what is planted comes out" right
finish
