#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/run-pair: exit codes, what goes where, and no process left, here or behind a remote shell
# (tests/tools/rsh stands for ssh).
cd "$(dirname "$0")/../.." || exit 1
. tests/tools/tap.sh
. tests/tools/run_pair_lib.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export VERBSPERF_RSH=tests/tools/rsh
mark=run_pair_$$ # in the environment of all that is started here
export SOFTVERBS_FABRIC=$mark # nobody else is on it
slow=soft0:delay=1ms # few laps a second

left()
{
	grep -lsz "^RUN_PAIR_MARK=$mark\$" /proc/[0-9]*/environ | cut -d/ -f3
}

# lost END WANT ARGS...: the remote shell of one end, server or client, dies in the laps.
lost()
{
	local p
	start "--$1" here --address 127.0.0.1 --path "$tmp/soft" rdma_lat "${@:3}" -v
	until_said err '^rdma_lat: .*stage ready' || { kill -9 $pid; return 1; }
	for p in $(left); do
		grep -qsz tests/tools/rsh "/proc/$p/cmdline" && kill -9 $p
	done
	code "$2" wait $pid
}

# across OPTION: run-pair in a network namespace, with the end that OPTION names in another; only
# the address that the remote shell tells leads from one to the other.
across()
{
	RUN_PAIR_MARK=$mark unshare -n sh -c '
		ip link set lo up
		unshare -n sleep 60 & n=$!
		until [ "$(readlink /proc/$n/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
		ip link add a0 type veth peer name b0 netns $n
		ip addr add 10.99.0.1/24 dev a0; ip link set a0 up
		nsenter --net=/proc/$n/ns/net sh -c "ip addr add 10.99.0.2/24 dev b0; ip link set b0 up"
		timeout -k 5 30 scripts/run-pair "$1" netns:$n --path "$2" rdma_lat -n 50 --warmup 0; r=$?
		kill $n; exit $r' across "$1" "$tmp/soft" >"$tmp/out" 2>"$tmp/err"
}

# Programs that a case needs, as scripts: in them $role is server or client.
mkdir "$tmp/bin"
program()
{
	printf '#!/bin/sh\ncase "$*" in *-p\\ 0*) role=server ;; *) role=client ;; esac\n%s\n' "$2" >"$tmp/bin/$1"
	chmod +x "$tmp/bin/$1"
}
# rdma_lat over softverbs, for two ends that are not on one host to the eye.
mkdir "$tmp/soft"
bin=$(cd "${VERBSPERF_BUILD:-build}/bin" && pwd)
printf '#!/bin/sh\nexec %s/softverbs -d %s %s/rdma_lat "$@"\n' "$bin" $slow "$bin" >"$tmp/soft/rdma_lat"
chmod +x "$tmp/soft/rdma_lat"
listen='echo "x: listening on 0.0.0.0:4711" >&2; exec sleep'
program mute_lat 'exec sleep 60'
program echo_lat "if [ \$role = server ]; then $listen 0.2; fi; printf '<%s>\\n' \"\$@\""
program three_lat "if [ \$role = server ]; then $listen 60; fi; exit 3"
program late_lat "if [ \$role = server ]; then sleep 0.7; : >$tmp/ready; $listen 0.2; fi; test -e $tmp/ready"
program stdin_lat "if [ \$role = server ]; then echo ON STDOUT; $listen 0.2; fi; cat"

laps="-n 50 --warmup 0"
check "both ends here, over softverbs" code 0 pair --soft rdma_lat $laps --json
check "stdout is the client's alone" eval 'said out "^  \"role\": \"client\"," &&
	[ "$(head -c 1 "$tmp/out")$(tail -n 1 "$tmp/out")" = "{}" ]'
check "the server's stderr has a prefix" said err '^server\| rdma_lat: listening on 127.0.0.1:'
check "exit code of a client that is misused" code 2 pair --soft rdma_lat -n 0
check "exit code of a client whose time is up" code 6 pair --soft rdma_lat -D 20s --timeout 100ms
check "exit code 3 of a client" code 3 pair --path "$tmp/bin" three_lat
check "a server that fails first" code 2 pair --soft --server-options='-d none' rdma_lat
check "its reason is told" said err '^server\| rdma_lat: no RDMA device none'
check "a server that is late is awaited" code 0 pair --path "$tmp/bin" late_lat
check "a server that is never ready" code 6 pair --path "$tmp/bin" --ready-timeout 300ms mute_lat
check "--server-output" code 0 pair --path "$tmp/bin" --server-output "$tmp/kept" stdin_lat
check "keeps the server's stdout" said kept '^ON STDOUT$'
check "--server-output that cannot be" code 2 pair --soft --server-output "$tmp/none/x" rdma_lat
check "no such program" code 2 pair --soft nonsense_lat
check "an unknown option" code 2 pair --nonsense rdma_lat
check "in one line" test "$(wc -l <"$tmp/err")" = 1
check "--soft between two hosts" code 2 pair --soft --server here rdma_lat

check "SIGINT ends a run by time" stopped INT 0 --soft rdma_lat -D 60s
check "and it reports" said out '^rdma_lat .client.: RDMA WRITE'
check "SIGTERM ends a run by laps" stopped TERM 4 --soft=$slow rdma_lat -n 300000
check "SIGTERM before the server is ready" eval \
	'start --path "$tmp/bin" mute_lat; sleep 0.3; kill -TERM $pid; code 143 wait $pid'
check "kill -9 leaves nothing" eval 'stopped KILL 137 --soft rdma_lat -D 60s'

check "both ends on another host" code 0 pair --soft --server here --client here rdma_lat $laps
check "arguments arrive intact there" eval 'code 0 pair --path "$tmp/bin" --client here --server here \
	echo_lat "a b" "it'\''s" "\$HOME" "*" "" "\"q\"" && said out "^<a b>$" && said out "^<it.s>$" &&
	said out "^<\\\$HOME>$" && said out "^<[*]>$" && said out "^<>$" && said out "^<\"q\">$"'
check "with port and address" eval 'said out "^<4711>$" && said out "^<127.0.0.1>$"'
check "exit code from another host" code 3 pair --path "$tmp/bin" --client here three_lat
check "SIGINT with both on another host" stopped INT 0 --soft --server here --client here rdma_lat -D 60s
check "kill -9 with both on another host" stopped KILL 137 --soft --server here --client here rdma_lat -D 60s
check "a server whose connection is lost, by laps" lost server 4 -n 300000
check "and by time" lost server 1 -D 60s
check "a client whose connection is lost" lost client 1 -n 300000
if unshare -n ip link add a0 type veth 2>/dev/null; then
	check "the server behind an address of its own" code 0 across --server
	check "the client, which finds this host" code 0 across --client
else
	skip "another network namespace" "not allowed here"
fi
check "a host that is not reached" code 1 pair --server gone --address 127.0.0.1 rdma_lat
check "nor asked for its address" code 1 pair --client gone rdma_lat
check "a host that does not answer" code 6 pair --server silent --ready-timeout 300ms rdma_lat
check "no such program there" code 2 pair --server here nonsense_lat
finish
