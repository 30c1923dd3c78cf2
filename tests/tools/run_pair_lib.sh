# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Sourced by the tests of scripts/run-pair: runs with what they say in $tmp/out and $tmp/err, and a
# search for what they leave behind. The caller sets $tmp, and defines `left`, which prints the
# processes that belong to a run.

# pair ARGS...: run-pair to its end, what it says in $tmp/out and $tmp/err. All that it starts here
# has RUN_PAIR_MARK in its environment.
pair()
{
	RUN_PAIR_MARK=${mark:-} timeout -k 5 60 scripts/run-pair "$@" >"$tmp/out" 2>"$tmp/err"
}

# start ARGS...: the same in the background, its id in $pid. With job control, since a shell
# without it has SIGINT ignored in what it starts in the background.
start()
{
	set -m
	RUN_PAIR_MARK=${mark:-} scripts/run-pair "$@" >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	set +m
}

# no_orphan: nothing is left, or gone within five seconds.
no_orphan()
{
	for _ in $(seq 100); do
		[ -n "$(left)" ] || return 0
		sleep 0.05
	done
	for p in $(left); do tr '\0' ' ' <"/proc/$p/cmdline"; echo; done
	kill -9 $(left)
	return 1
}

# code WANT CMD...
code()
{
	local want=$1 rc
	shift
	"$@"
	rc=$?
	[ "$rc" = "$want" ] || { echo "exit code $rc, not $want"; cat "$tmp/err"; return 1; }
	no_orphan
}

# said FILE PATTERN
said()
{
	grep -qE -- "$2" "$tmp/$1" || { echo "no \"$2\" in $1:"; cat "$tmp/$1"; return 1; }
}

# until_said FILE PATTERN: waits for what the run of `start` is to say.
until_said()
{
	for _ in $(seq 400); do
		grep -qsE -- "$2" "$tmp/$1" && return 0
		kill -0 $pid 2>/dev/null || break
		sleep 0.05
	done
	said "$1" "$2"
}

# stopped SIGNAL WANT ARGS...: a run that is in its laps gets a signal.
stopped()
{
	local number=$1 want=$2
	shift 2
	start "$@" -v
	until_said err '^rdma_lat: .*stage ready' || { kill -9 $pid; return 1; }
	sleep 0.2 # in the laps, most likely
	if [ "$number" = INT ]; then
		kill -INT -- -$pid # to the group, as a terminal does
	else
		kill "-$number" $pid
	fi
	code "$want" wait $pid
}

