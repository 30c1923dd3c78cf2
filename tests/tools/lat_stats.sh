#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# lat_stats on dumps with planted answers, on texts, and on hostile files: an answer or one line.
cd "$(dirname "$0")/../.." || exit 1
. tests/tools/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
stats=$PWD/build/bin/lat_stats
data=$PWD/tests/tools/listings

if ! ${CC:-cc} -std=gnu11 -O2 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Icommon -Itests/unit \
	tests/tools/gen_dump.c build/lib/libcommon.a -ljansson -lm -lcmocka -o "$dir/gen_dump" 2>"$dir/cc"; then
	echo "Bail out! gen_dump does not build"
	cat "$dir/cc" >&2
	exit 1
fi
cd "$dir" || exit 1

# answers CODE WORDS...: lat_stats WORDS ends with CODE, a failure with one line that names itself.
answers()
{
	local want=$1 code
	shift
	timeout -k 5 60 "$stats" "$@" >out 2>err </dev/null
	code=$?
	if [ "$code" != "$want" ]; then
		echo "exit code $code, wanted $want"
		head -n 5 out err
		return 1
	fi
	if [ "$want" -gt 3 ] || [ "$want" = 2 ] || [ "$want" = 1 ]; then
		[ "$(wc -l <err)" = 1 ] && grep -q '^lat_stats: ' err || { cat err; return 1; }
	else
		[ ! -s err ] || { cat err; return 1; }
	fi
}

# says TEXT FILE: one line of the last answer.
says()
{
	grep -q -- "$1" out err || { echo "\"$1\" is not in:"; head -n 20 out err; return 1; }
}

# shown CODE TEXT WORDS...: both.
shown()
{
	local code=$1 text=$2
	shift 2
	answers "$code" "$@" && says "$text"
}

# json EXPRESSION WORDS...: a python expression over the document d is true.
json()
{
	local expression=$1
	shift
	"$stats" --json "$@" >doc.json 2>err
	python3 - "($expression)" <<'EOF'
import json, sys
d = json.load(open("doc.json"))
files = d.get("files")
sys.exit(0 if eval(sys.argv[1], globals()) else f"false: {sys.argv[1]}\n{json.dumps(d)[:2000]}")
EOF
}

# ---- what is planted comes out

./gen_dump pair pair.dump >pair.truth || exit 1
./gen_dump long long.dump 200000 >long.truth
./gen_dump flat flat.dump 50000 0 && ./gen_dump flat slow.dump 50000 5 || exit 1
check "a dump of both ends" answers 0 pair.dump
check "both ends are told" says '^pair.dump: server, 8 bytes, 19899 samples'
check "JSON of a dump" json 'len(files) == 2 and d["error"] is None and
	[f["role"] for f in files] == ["client", "server"]' pair.dump
places()
{
	"$stats" --json pair.dump >doc.json && python3 - <<'EOF'
import json, sys
truth = dict(line.split() for line in open("pair.truth"))
for f in json.load(open("doc.json"))["files"]:
    got = {h["lap"]: h["where"] for h in f["hiccups"]}
    # Of the server's sample k: back and client of lap k, out and server of lap k + 1.
    want = {int(k) - (f["role"] == "server" and w in ("out", "server")): w for k, w in truth.items()}
    if got != want:
        sys.exit(f"{f['role']}: {set(got.items()) ^ set(want.items())}")
EOF
}
check "40 hiccups are where they were planted, on both ends" places
check "start-up" json 'abs(files[0]["startup"]["laps"] - 50) <= 2 and
	abs(files[0]["startup"]["excess_cycles"] - 46000) < 1000' long.dump
check "change point" json 'len(files[0]["change_points"]) == 1 and
	abs(files[0]["change_points"][0]["lap"] - 120001) <= 3 and
	abs(files[0]["change_points"][0]["before_usec"] - 8.0) < 0.02 and
	abs(files[0]["change_points"][0]["after_usec"] - 9.6) < 0.02' long.dump
check "period" json 'len(files[0]["periods"]) == 1 and abs(files[0]["periods"][0]["hz"] - 250) < 2.5 and
	abs(files[0]["periods"][0]["amplitude_usec"] - 1.2) < 0.1 and
	abs(files[0]["periods"][0]["share"] - 0.00431) < 0.0004' long.dump
check "the period's name" shown 0 'looks like a 250 Hz tick' long.dump
check "the one large hiccup" json '140001 in [h["lap"] for h in files[0]["hiccups"]
	if h["excess_usec"] > 900]' long.dump
check "two modes" shown 0 'two modes .*% around 8.00' long.dump

# ---- compare

check "a file is the same as itself" shown 0 'verdict .*B is the same' compare pair.dump pair.dump
check "5 % slower" shown 3 'verdict .*B is slower' compare flat.dump slow.dump
check "5 % faster" shown 0 'verdict .*B is faster' compare slow.dump flat.dump
check "within 10 %" shown 0 'verdict .*B is the same' compare --tolerance 10% flat.dump slow.dump
check "within a time" shown 0 'verdict .*B is the same' compare --tolerance 1us flat.dump slow.dump
check "JSON of a comparison" json 'd["compare"][0]["verdict"] == "slower" and
	4 < d["compare"][0]["shift_percent"] < 6 and
	d["compare"][0]["shift_ci95_usec"][0] <= d["compare"][0]["shift_usec"]' \
	compare flat.dump slow.dump
check "compare takes two" shown 2 'compare takes two files' compare flat.dump
check "units that cannot be compared" shown 2 'not in the same unit' \
	compare "$data/2005-client.txt" "$data/perftest-usec.txt"
for t in 2 -1% 2%% abc 1001% nan%; do
	check "--tolerance $t" shown 2 'allowed is a share' compare "--tolerance=$t" pair.dump pair.dump
done

# ---- convert

rows()
{
	answers 0 convert pair.dump && [ "$(wc -l <out)" = $((1 + 20000 + 19999)) ] || return 1
	python3 - <<'EOF'
import csv, sys
rows = [r for r in csv.DictReader(open("out")) if r["role"] == "client"]
assert [int(r["number"]) for r in rows] == list(range(-99, 19901))
assert sum(int(r["warmup"]) for r in rows) == 100
whole = sum(float(r["cycles"]) for r in rows[:-1]) * 2 / 2.1e9 * 1e6
assert abs(whole - float(rows[-1]["start_usec"])) < 1, whole
assert all(r["wait_cycles"] and r["gap_cycles"] for r in rows)
EOF
}
check "CSV has every lap" rows
check "gnuplot's rows" answers 0 convert --format gnuplot --output x.dat pair.dump "$data/2005-client.txt"
check "three blocks of them" test "$(grep -c '^# number' x.dat)" = 3
check "convert has no JSON" shown 2 'has no --json' convert --json pair.dump
check "a full disk" shown 1 'No space left' convert --output /dev/full pair.dump
check "nothing half is left" test "$(ls | grep -c tmp)" = 0

# ---- texts

check "as printed in 2005" json 'files[0]["results"][0]["samples"] == 5 and files[0]["unit"] == "cycles"
	and files[0]["results"][0]["median_cycles"] == 7318 and
	files[0]["results"][0]["median_usec"] is None' "$data/2005-client.txt"
sed 's/$/\r/' "$data/2005-client.txt" >crlf.txt
check "with CRLF" json 'files[0]["results"][0]["median_cycles"] == 7318' crlf.txt
check "perftest's usec" json 'files[0]["role"] == "client" and files[0]["results"][0]["samples"] == 40
	and files[0]["results"][0]["max_usec"] == 1186.81 and
	files[0]["results"][0]["median_cycles"] is None' "$data/perftest-usec.txt"
check "perftest's cycles with an exponent" json 'files[0]["results"][0]["max_cycles"] == 1591450' \
	"$data/perftest-cycles.txt"
check "ours, both ends joined" json '[h["where"] for f in files for h in f["hiccups"]] ==
	["out_or_server", "back_or_client"] * 2' "$data/ours-client.txt" "$data/ours-server.txt"
check "one end alone knows less" json '[h["where"] for h in files[0]["hiccups"]] == ["unknown"] * 2' \
	"$data/ours-client.txt"
check "a pipe" json 'files[0]["results"][0]["samples"] == 5' - <"$data/2005-client.txt"
piped()
{
	cat pair.dump | "$stats" - >out 2>err && says 'client, 8 bytes, 19900 samples'
}
check "a dump from a pipe" piped
closed()
{
	"$stats" pair.dump 2>err | head -n 1 >out
	[ "${PIPESTATUS[0]}" = 0 ] && [ ! -s err ]
}
check "a reader that goes early" closed

# ---- hostile files

printf '' >empty
head -c 100000 /dev/urandom >noise
head -c 5000 pair.dump >short
size=$(wc -c <pair.dump)
head -c $((size - 8)) pair.dump >short8
cp pair.dump flipped && printf 'X' | dd of=flipped bs=1 seek=$((size / 2)) conv=notrunc status=none
sed '1,40s/"laps": 20000/"laps": 2305843009213693950/' pair.dump >huge
sed '1,40s/2999000000.0/NaN/' pair.dump >nan
sed '1,60s/"little"/"big"   /' pair.dump >big
sed '1s/$/\r/' pair.dump >crlf.dump
cat pair.dump pair.dump >twice
printf '#, usec\n1, 2.5\n2, nan\n' >nan.txt
printf '#, usec\n1, 2.5\n2, -3\n' >negative.txt
mkdir directory
check "no file" shown 2 'no file is given'
check "not there" shown 2 'No such file' missing
check "a directory" shown 2 'is a directory' directory
check "empty" shown 2 'no samples in it' empty
check "noise" answers 2 noise
check "/dev/null" shown 2 'no samples in it' /dev/null
check "cut short" shown 2 'cut short' short
check "cut by a word" shown 2 '8 bytes of data are missing' short8
check "a flipped byte" shown 2 'checksum' flipped
check "a huge count" answers 2 huge
check "NaN in the header" shown 2 'no JSON' nan
check "big-endian" shown 2 'big-endian' big
check "CRLF in a dump" shown 2 'CRLF' crlf.dump
check "two dumps in one file" shown 2 'two files in one' twice
check "nan in a text" shown 2 'line 3' nan.txt
check "a negative sample" shown 2 'line 3' negative.txt
check "an error reaches the JSON" json 'd["error"]["stage"] == "read" and "line 3" in d["error"]["text"]' \
	nan.txt
check "text on a full disk" shown 1 'No space left' --json=/dev/full pair.dump
check "--hiccup 1" shown 2 'allowed is' --hiccup 1 pair.dump

# ---- every JSON key is in the manual page

keys()
{
	"$stats" --json pair.dump long.dump >doc.json &&
		"$stats" --json compare flat.dump slow.dump >doc2.json
	"$stats" --man | sed 's/\\-/-/g' >page
	python3 - <<'EOF'
import json, re, sys
page = set(re.findall(r"\w+", open("page").read()))
def walk(v):
    if isinstance(v, dict):
        for k, x in v.items():
            yield k
            if k != "settings":
                yield from walk(x)
    elif isinstance(v, list):
        for x in v:
            yield from walk(x)
def known(k):
    return k in page or (k.endswith("_cycles") and k[:-7] + "_usec" in page)
keys = set(walk(json.load(open("doc.json")))) | set(walk(json.load(open("doc2.json"))))
missing = sorted(k for k in keys - {"program", "version", "time", "settings"} if not known(k))
sys.exit(f"not in the page: {missing}" if missing else 0)
EOF
}
check "every JSON key is in the manual page" keys
finish
