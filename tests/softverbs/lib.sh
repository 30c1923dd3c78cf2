# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Sourced by the shell tests: TAP, and pairs of programs over softverbs on loopback.

top=$(cd "$(dirname "$0")/../.." && pwd)
B=${B:-$top/build}
soft=$B/bin/softverbs
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0
bad=0
port=${SOFT_PORT:-$((20000 + $$ % 20000))}

tap() {		# tap RC NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		bad=1
	fi
}

skip() {	# skip NAME REASON
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

finish() {
	echo "1..$n"
	exit $bad
}

say() {		# FILE as TAP comments
	sed 's/^/# /' "$1"
}

# Two processors, so that a pair that spins does not share one; with one both take it.
cpu0=0
cpu1=$(($(nproc) > 1 ? 1 : 0))

# pair SPEC PROGRAM ARGS...: server, then client with 127.0.0.1 as the last argument; both have to
# end with 0. Output in $tmp/server and $tmp/client. -p takes the port.
pair() {
	spec=$1
	shift
	port=$((port + 1))
	timeout "${LIMIT:-30}" taskset -c $cpu0 "$soft" -d "$spec" "$@" -p "$port" \
		>"$tmp/server" 2>&1 &
	server=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do	# refused until the server listens
		sleep 0.2
		timeout "${LIMIT:-30}" taskset -c $cpu1 "$soft" -d "$spec" "$@" -p "$port" 127.0.0.1 \
			>"$tmp/client" 2>&1
		rc=$?
		grep -qi "connection refused\|couldn't connect\|Couldn't connect" "$tmp/client" || break
	done
	wait $server
	src=$?
	[ $rc = 0 ] && [ $src = 0 ] && return 0
	echo "# client $rc, server $src: $*"
	say "$tmp/client" | tail -5
	say "$tmp/server" | tail -5
	return 1
}

need() {	# need PROGRAM: 77 when it is not installed
	command -v "$1" >/dev/null 2>&1 || { echo "1..0 # SKIP no $1"; exit 77; }
}
