#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/sweep: every combination a row, once; what was stopped or broken goes on; failures are rows.
cd "$(dirname "$0")/../.." || exit 1
. tests/tools/tap.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export SOFTVERBS_FABRIC=sweep_$$
csv=$tmp/all.csv

# Programs with known results: the median is 10 less the client's CPU, the rate 10 more than it.
mkdir "$tmp/bin"
program()
{
	cat >"$tmp/bin/$1" <<-EOT
	#!/bin/sh
	case "\$*" in *"-p 0"*) echo "x: listening on 127.0.0.1:1" >&2; exec sleep 0.03 ;; esac
	echo "\$*" >>$tmp/ran
	while [ \$# -gt 0 ]; do [ "\$1" != -T ] || cpu=\${2%,*}; shift; done
	$2
	EOT
	chmod +x "$tmp/bin/$1"
}
program known_lat 'echo "{\"results\": [{\"median_usec\": $((10 - cpu)).5, \"samples\": 7}], \"error\": null}"'
program known_bw 'echo "{\"results\": [{\"avg_gbit_s\": $((10 + cpu)).5}], \"error\": null}"'
program bad_lat 'echo "{\"results\": [], \"error\": {\"stage\": \"run\", \"errno\": 0, \"text\": \"a, \\\"b\\\" c\"}}"; exit 5'
program slow_lat 'exec sleep 60'

# sweep ARGS...: output in $tmp/out and $tmp/err, the number of runs in $tmp/ran.
sweep()
{
	rm -f "$tmp/ran"
	timeout -k 5 60 scripts/sweep -o "$csv" --path "$tmp/bin" "$@" >"$tmp/out" 2>"$tmp/err"
}

all="--programs known_lat,known_bw --sizes 8,4k"
two="0,1 2,3"

# code WANT RUNS ROWS CMD...: exit code, runs that were made, lines of the CSV that are whole.
code()
{
	local rc
	"${@:4}"
	rc=$?
	[ "$rc" = "$1" ] || { echo "exit code $rc, not $1"; cat "$tmp/out" "$tmp/err"; return 1; }
	[ "$(cat "$tmp/ran" 2>/dev/null | wc -l)" = "$2" ] || { echo "not $2 runs:"; cat "$tmp/ran"; return 1; }
	[ "$(grep -cE '^[a-z_]+,.*,[^,]*$' "$csv")" = "$3" ] || { echo "not $3 lines:"; cat "$csv"; return 1; }
}

said()
{
	grep -qE -- "$2" "$tmp/$1" || { echo "no \"$2\" in $1:"; cat "$tmp/$1"; return 1; }
}

# The last N bytes of the CSV go, as when a machine stops in the middle of a write.
break_off()
{
	truncate -s -"$1" "$csv"
}

interrupted()
{
	rm -f "$tmp/ran"
	set -m
	scripts/sweep -o "$csv" --path "$tmp/bin" $all --bindings "$two" >"$tmp/out" 2>"$tmp/err" &
	set +m
	until [ "$(cat "$tmp/ran" 2>/dev/null | wc -l)" -ge 3 ]; do sleep 0.02; done
	kill -INT -- -$!
	wait $!
	[ $? = 130 ] && ! pgrep -f "$tmp/bin/known" && said err ' of 8 are done'
}

check "every combination once" code 0 8 9 sweep $all --bindings "$two"
cp "$csv" "$tmp/whole.csv"
check "the best binding of a latency has the mark" said out '^known_lat +8  2,3 +[*] +8.500 usec$'
check "and no other" test "$(grep -c '[*]' "$tmp/out")" = 4
check "that of a bandwidth is the largest" said out '^known_bw +4096  2,3 +[*] +12.500 Gb/s$'
check "no progress where there is no terminal" test ! -s "$tmp/err"
check "a second start measures nothing" code 0 0 9 sweep $all --bindings "$two"
check "and says so" said err '8 of 8 are there'
check "a new binding is added" code 0 4 13 sweep $all --bindings "$two 3,2"
cp "$tmp/whole.csv" "$csv"
break_off 9
check "a broken last line is measured anew" code 0 1 9 sweep $all --bindings "$two"
check "and it is told" said err 'the last line is broken'
check "the file is as before but for the time" \
	diff <(sed 's/,20[0-9-]*T[0-9:]*Z,/,/' "$tmp/whole.csv") <(sed 's/,20[0-9-]*T[0-9:]*Z,/,/' "$csv")
break_off 1
check "so is one without its end of line" code 0 1 9 sweep $all --bindings "$two"
rm "$csv"
check "Ctrl-C ends it, and nothing is left" interrupted
made=$(($(wc -l <"$csv") - 1))
check "what was done is kept" test "$made" -ge 2
check "the same command goes on" code 0 $((8 - made)) 9 sweep $all --bindings "$two"

csv=$tmp/failures.csv
check "a failure is a row, and the rest goes on" code 1 3 4 \
	sweep --programs bad_lat,known_lat,slow_lat --bindings 0,1 --timeout 4s
check "with exit code and text" grep -qF ',5,"run: a, ""b"" c",' "$csv"
check "also when its time is up" grep -qE '^slow_lat,.*,6,time limit of 4 s' "$csv"
check "it shows in the table" said out 'bad_lat .*failed \(5\): run: a, "b" c'
check "it is not measured again" code 1 0 4 sweep --programs bad_lat,known_lat --bindings 0,1
program bad_lat 'echo "{\"results\": [{\"median_usec\": 1.5}], \"error\": null}"'
check "but with --retry" code 0 1 5 sweep --programs bad_lat,known_lat --bindings 0,1 --retry
check "whose row counts" code 0 0 5 sweep --programs bad_lat,known_lat --bindings 0,1

csv=$tmp/sets.csv
check "sets of options" code 0 2 3 sweep --programs known_lat --bindings 0,1 --options '' --options '--post send' -- -n 7
check "each with what is common" test "$(grep -c -- '-n 7 -s 8' "$tmp/ran") $(grep -c -- '--post send -n 7' "$tmp/ran")" = "2 1"
csv=$tmp/foreign.csv
echo "a,b" >"$csv"
check "another file is not touched" eval 'code 2 0 1 sweep $all; [ "$(cat "$csv")" = a,b ]'
csv=$tmp/real.csv
check "rdma_lat over softverbs" code 0 0 2 \
	sweep --path "${VERBSPERF_BUILD:-build}/bin" --soft --programs rdma_lat -- -n 50 --warmup 0
check "has its numbers" python3 -c 'import csv, sys
r = next(csv.DictReader(open(sys.argv[1])))
assert r["samples"] == "50" and 0 < float(r["min_usec"]) <= float(r["median_usec"]) <= float(r["max_usec"]), r' "$csv"
check "progress on a terminal" eval 'csv=$tmp/tty.csv; script -qec \
	"scripts/sweep -o $tmp/tty.csv --path $tmp/bin --programs known_lat --bindings \"0,1 1,0\"" /dev/null \
	</dev/null >"$tmp/out" 2>&1; said out "2 of 2, [0-9]+ s left: known_lat 8 1,0"'
finish
