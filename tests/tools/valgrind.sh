#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# valgrind finds no error and no leak: unit tests, a run that is refused, both ends of a real run.
cd "$(dirname "$0")/../.." || exit 1
. tests/tools/tap.sh
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

# memcheck REFUSED CMD...: exit code REFUSED of the program, and nothing found (then 99).
memcheck()
{
	local want=$1 rc
	shift
	timeout -k 5 120 valgrind -q --error-exitcode=99 --leak-check=full \
		--errors-for-leak-kinds=definite,possible "$@"
	rc=$?
	[ "$rc" = "$want" ] || { echo "exit code $rc, expected $want"; return 1; }
}

# Without the search for leaks, which would read all the memory that softverbs maps of its peers:
# the ASan builds look for leaks in whole runs.
errors_only()
{
	timeout -k 5 120 build/bin/softverbs valgrind -q --error-exitcode=99 --leak-check=no \
		build/bin/rdma_lat --bind 127.0.0.1 "$@"
}

real_run()
{
	local server
	errors_only -p 0 >"$log/out" 2>"$log/err" &
	server=$!
	while ! grep -q 'listening on' "$log/err" && kill -0 $server 2>/dev/null; do sleep 0.2; done
	errors_only -n 200 -s 8,4k -p "$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' "$log/err")" \
		127.0.0.1 || return 1
	wait $server || { cat "$log/err"; return 1; }
}

# A refusal on a device leaves nothing behind; the library is loaded, and not yet mapped.
refused()
{
	local rc
	timeout -k 5 120 build/bin/softverbs valgrind -q --error-exitcode=99 --leak-check=full \
		--errors-for-leak-kinds=definite,possible build/bin/rdma_lat -d none0
	rc=$?
	[ "$rc" = 2 ] || { echo "exit code $rc, expected 2"; return 1; }
}

check "--help" memcheck 0 build/bin/rdma_lat --help
check "an unknown option" memcheck 2 build/bin/rdma_lat --nonsense
check "no device" memcheck 1 build/bin/rdma_lat --json=/dev/null
check "no such device" refused
for t in error options plan frame candidate report; do
	check "unit test $t" memcheck 0 build/tests/$t
done
check "both ends of a run" real_run
finish
