#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/lab does what its help says. One line a check, "ok NAME" or "not ok NAME"; about two minutes.
# What the VMs said lies in $work, which stays after a failure.
set -u
tree=$(cd "$(dirname "$0")/../.." && pwd -P)
lab=$tree/scripts/lab
work=$(mktemp -d "${TMPDIR:-/tmp}/lab-selftest.XXXXXX")
failed=0

"$lab" prepare >"$work/prepare" 2>&1
case $? in
0) ;;
2) echo "skip lab: $(tail -n 1 "$work/prepare")"; rm -r "$work"; exit 77 ;;
*) cat "$work/prepare" >&2; exit 1 ;;
esac

check() { # NAME COMMAND...
	local name=$1
	shift
	if "$@"; then
		echo "ok $name"
	else
		echo "not ok $name"
		failed=1
	fi
}

# in_lab RUN ARGS...: scripts/lab ARGS; leaves RUN.pid, RUN.out, RUN.err, RUN.code; LAB_OUT is RUN
in_lab() {
	local run=$work/$1
	shift
	mkdir -p "$run"
	LAB_OUT=$run "$lab" "$@" >"$run.out" 2>"$run.err" &
	echo $! >"$run.pid"
	wait $! 2>/dev/null
	echo $? >"$run.code"
}

code() { # RUN CODE
	[[ $(<"$work/$1.code") = "$2" ]] || { echo "$1: exit code $(<"$work/$1.code"), not $2" >&2; return 1; }
}

same() { # FILE TEXT, with escapes as for printf
	diff <(printf "$2") "$work/$1" >&2
}

has() { # FILE LINE, the whole of it
	grep -qxF -- "$2" "$work/$1" || { echo "$1 has no line: $2" >&2; return 1; }
}

not() { ! "$@"; }

running() { # RUN: its VM is there (a zombie is not)
	pgrep -r R,S,D -f "qemu-system.*path=$work/$1," >/dev/null
}

gone() { # RUN: its VM has ended, or does so within a second
	for _ in 1 2 3 4 5; do
		running "$1" || return 0
		sleep 0.2
	done
	echo "$1: a VM is still there" >&2
	return 1
}

wait_for() { # FILE RUN: until FILE is there, or RUN has ended without it
	until [[ -e $1 || -e $work/$2.code ]]; do sleep 0.05; done
	[[ -e $1 ]]
}

# ---- two runs at once: exit codes, the two streams, arguments, environment, what is kept
words=('a b' "it's" '"quoted"' $'two\nlines' '' '*' '$HOME' '-x' 'back\slash')
in_lab streams run --env COLOUR='dark red' sh -c \
	'echo out 1; echo err 1 >&2; printf "out 2"; echo err 2 >&2; echo "$COLOUR" >$LAB_OUT/env; exit 3' &
TIMEFORMAT='%0U %0S'
spent=$( { time in_lab words run printf '<%s>\n' "${words[@]}"; } 2>&1)
wait
# Not by the clock on the wall: a machine that has other work to do is no failure.
check 'boot within 30 s of CPU time' test $((${spent/ / + })) -lt 30
check 'exit code 0' code words 0
check 'exit code 3' code streams 3
check 'stdout apart' same streams.out 'out 1\nout 2'
sed -i '/^lab: /d' "$work/streams.err"
check 'stderr apart' same streams.err 'err 1\nerr 2\n'
printf '<%s>\n' "${words[@]}" >"$work/words.want"
check 'arguments intact' cmp "$work/words.want" "$work/words.out"
check '--env' same streams/env 'dark red\n'
check 'dmesg kept after failure' grep -q 'rxe1: added' "$work/streams/lab-run.dmesg"
check 'nothing kept after success' rmdir "$work/words"

# ---- inside a VM: the devices, the wire between them, the machine, the shared folder
cat >"$work/inside.sh" <<'EOT'
cd /tmp
for d in rxe0 rxe1; do
	port=/sys/class/infiniband/$d/ports/1
	echo "$d: $(cat $port/state), $(cat $port/gids/1), $(cat $port/gid_attrs/types/1)"
done
counts() {
	cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts \
		/sys/class/infiniband/rxe1/ports/1/hw_counters/rcvd_pkts \
		/sys/class/net/v0/statistics/tx_packets
}
before=($(counts))
timeout 30 ibv_rc_pingpong -d rxe0 -g 1 -n 50 >server 2>&1 &
lab-listening 18515
timeout 30 ibv_rc_pingpong -d rxe1 -g 1 -n 50 10.77.0.1 >client 2>&1 && wait $! && echo pingpong || cat client
sleep 0.1 # hw_counters are read anew every 10 ms
after=($(counts))
((after[0] - before[0] >= 50)) && echo rxe0 sent
((after[1] - before[1] >= 50)) && echo rxe1 received
((after[2] - before[2] >= 50)) && echo v0 carried
busybox ping -q -c 5 -i 0.1 -I 10.77.0.1 10.77.0.2 >/dev/null
pinged=($(counts))
((pinged[2] - after[2] >= 5)) && echo v0 carried IP
echo "memlock $(ulimit -l), LAB $LAB, host $(hostname), CPUs $(nproc)"
echo "clock $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
grep -q '^SigIgn:[[:space:]]*0*$' /proc/self/status && echo no signal ignored
modprobe sch_netem && echo netem
nft 'table ip t { chain c { type filter hook input priority 0; ct state new reject; }; }' && echo nft
echo shadow >/etc/lab-selftest && echo writable
echo "$$" >"$LAB_OUT/question"
for ((i = 0; i < 100; i++)); do [[ -s $LAB_OUT/answer ]] && break; sleep 0.1; done
lag=$(($(date +%s) - $(<"$LAB_OUT/answer")))
((lag >= -1 && lag <= 11)) && echo "same clock"
exit 77
EOT
(cd "$tree/tests/lab" && in_lab inside run bash -c "pwd; . $work/inside.sh") &
wait_for "$work/inside/question" inside && date +%s >"$work/inside/answer"
wait
check 'exit code 77' code inside 77
check 'working folder' has inside.out "$tree/tests/lab"
check 'rxe0 active, GID 1 is 10.77.0.1' has inside.out \
	'rxe0: 4: ACTIVE, 0000:0000:0000:0000:0000:ffff:0a4d:0001, RoCE v2'
check 'rxe1 active, GID 1 is 10.77.0.2' has inside.out \
	'rxe1: 4: ACTIVE, 0000:0000:0000:0000:0000:ffff:0a4d:0002, RoCE v2'
for line in pingpong 'rxe0 sent' 'rxe1 received' 'v0 carried' 'v0 carried IP' \
	'memlock unlimited, LAB 1, host lab, CPUs 2' 'clock tsc' 'no signal ignored' netem nft writable; do
	check "$line" has inside.out "$line"
done
check 'host files untouched' not test -e /etc/lab-selftest
check 'LAB_OUT seen outside' test -s "$work/inside/question"
check 'LAB_OUT seen inside, same clock' has inside.out 'same clock'

# ---- the ends of a run that does not end: time, a signal, death of scripts/lab
in_lab timeout run --timeout 3 sh -c 'echo begun; sleep 60' &
in_lab killed run sh -c ': >$LAB_OUT/up; sleep 60' &
wait_for "$work/killed/up" killed
check 'running while it runs' running killed
kill -KILL "$(<"$work/killed.pid")"
check 'kill -9 leaves no VM' gone killed
in_lab term run sh -c ': >$LAB_OUT/up; sleep 60' &
wait_for "$work/term/up" term
kill -TERM "$(<"$work/term.pid")"
wait
check 'timeout gives 124' code timeout 124
check 'timeout passes on what was said' same timeout.out 'begun\n'
check 'timeout says so' grep -q '^lab: time is up after 3 s' "$work/timeout.err"
check 'timeout leaves no VM' gone timeout
check 'SIGTERM gives 143' code term 143
check 'SIGTERM leaves no VM' gone term
check 'a crash gives 125' eval 'in_lab crash run sh -c "echo c >/proc/sysrq-trigger"; code crash 125'
check 'console kept after a crash' grep -q 'Kernel panic' "$work/crash/lab-run.console"

# ---- two hosts
in_lab hosts hosts '
	ibv_rc_pingpong -d rxe0 -g 1 -n 20 >/tmp/server &
	lab-listening 18515; lab-sync up; wait $! && echo "served $LAB_HOST"
	echo "to B" >$LAB_OUT/a; lab-sync written; cat $LAB_OUT/b' '
	lab-sync up; ibv_rc_pingpong -d rxe0 -g 1 -n 20 10.77.0.1 >/tmp/client && echo "asked $LAB_HOST"
	hostname >&2; echo "to A" >$LAB_OUT/b; lab-sync written; cat $LAB_OUT/a; exit 5'
check 'hosts: a pingpong, A served' has hosts.out 'A| served A'
check 'hosts: a pingpong, B asked' has hosts.out 'B| asked B'
check 'hosts: LAB_OUT of both' eval 'has hosts.out "A| to A" && has hosts.out "B| to B"'
check 'hosts: stderr apart, with prefix' has hosts.err 'B| lab-b'
check 'hosts: every line has a prefix' not grep -v '^[AB]| ' "$work/hosts.out"
check 'hosts: code of B when A is 0' code hosts 5
in_lab first hosts 'exit 3' 'sleep 1; echo "still here"; exit 5'
check 'hosts: code of A before B' code first 3
check 'hosts: B goes on when A has failed' has first.out 'B| still here'
check 'hosts: no VM left' eval 'gone hosts && gone first'

if ((failed)); then
	echo "kept: $work" >&2
else
	rm -r "$work"
fi
exit "$failed"
