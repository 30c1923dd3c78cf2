#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/run-pair through a real sshd on loopback, with port, keys and configuration of its own. An
# sshd that is not installed is fetched and unpacked, not installed: no service is started.
# Skipped (77) where that is not possible.
cd "$(dirname "$0")/../.." || exit 1
. tests/tools/tap.sh
. tests/tools/run_pair_lib.sh
tmp=$(mktemp -d)
sshd_pid=
trap '[ -z "$sshd_pid" ] || kill $sshd_pid; rm -rf "$tmp"' EXIT
export SOFTVERBS_FABRIC=run_pair_ssh_$$
bin=$(cd "${VERBSPERF_BUILD:-build}/bin" && pwd)

give_up()
{
	echo "1..0 # SKIP $1"
	exit 77
}

# The processes that came through sshd have this folder in their PATH or command line.
left()
{
	grep -lsE "$tmp/remot[e]" /proc/[0-9]*/environ /proc/[0-9]*/cmdline | cut -d/ -f3 | sort -u
}

# unpacked: sshd from its package, in the cache; its folder in $root.
unpacked()
{
	root=${XDG_CACHE_HOME:-$HOME/.cache}/verbsperf/sshd
	[ ! -x "$root/usr/sbin/sshd" ] || return 0
	mkdir -p "$root" "$tmp/deb"
	(cd "$tmp/deb" && timeout 60 apt-get download openssh-server libwrap0 >/dev/null 2>&1) || return 1
	for f in "$tmp"/deb/*.deb; do dpkg -x "$f" "$root" || return 1; done
}

# Keys, configuration, and an ssh command that uses no file of the user.
configure()
{
	ssh-keygen -q -t ed25519 -N '' -f "$tmp/host" && ssh-keygen -q -t ed25519 -N '' -f "$tmp/key" || return 1
	cp "$tmp/key.pub" "$tmp/authorized"
	echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$tmp/host.pub")" >"$tmp/known"
	printf '%s\n' "Port $port" "ListenAddress 127.0.0.1" "HostKey $tmp/host" "StrictModes no" \
		"AuthorizedKeysFile $tmp/authorized" "UsePAM no" "PidFile none" \
		"SetEnv SOFTVERBS_FABRIC=$SOFTVERBS_FABRIC" >"$tmp/sshd_config"
	export VERBSPERF_RSH="ssh -T -F none -p $port -i $tmp/key -o BatchMode=yes -o IdentitiesOnly=yes
		-o UserKnownHostsFile=$tmp/known"
}

# As root it wants a user and a folder of its own: in a mount namespace the system does not see them.
serve()
{
	cat >"$tmp/serve" <<-EOT
	if [ "\$(id -u)" = 0 ]; then
		cp /etc/passwd "$tmp/passwd"
		echo 'sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin' >>"$tmp/passwd"
		mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd || exit 77
		grep -q ^sshd: /etc/passwd || mount --bind "$tmp/passwd" /etc/passwd || exit 77
		[ ! -e "$root/usr/lib/openssh/sshd-session" ] ||
			mount --bind "$root/usr/lib/openssh" /usr/lib/openssh || exit 77
	fi
	export LD_LIBRARY_PATH=$(echo "$root"/usr/lib/*-linux-gnu)
	exec "$root/usr/sbin/sshd" -D -e -f "$tmp/sshd_config"
	EOT
	if [ "$(id -u)" = 0 ]; then
		exec unshare -m sh "$tmp/serve"
	fi
	exec sh "$tmp/serve"
}

# The far end of a connection goes: sshd's process for it is killed in the laps.
cut_off()
{
	local p
	start "$@" -v
	until_said err '^rdma_lat: .*stage ready' || { kill -9 $pid; return 1; }
	for p in $(pgrep -P "$sshd_pid"); do kill -9 $(pgrep -P "$p") "$p"; done
	code 1 wait $pid
}

command -v ssh ssh-keygen >/dev/null || give_up "no ssh"
root=
[ -x /usr/sbin/sshd ] || unpacked || give_up "no sshd, and openssh-server cannot be fetched"
port=$((20000 + $$ % 20000))
configure || give_up "ssh-keygen failed"
serve >"$tmp/sshd.log" 2>&1 &
sshd_pid=$!
for _ in $(seq 100); do
	grep -q 'Server listening' "$tmp/sshd.log" && break
	kill -0 $sshd_pid 2>/dev/null || break
	sleep 0.05
done
grep -q 'Server listening' "$tmp/sshd.log" || { sshd_pid=; give_up "sshd does not start: $(tail -n 1 "$tmp/sshd.log")"; }
mkdir "$tmp/remote"
printf '#!/bin/sh\nexec %s/softverbs %s/rdma_lat "$@"\n' "$bin" "$bin" >"$tmp/remote/rdma_lat"
chmod +x "$tmp/remote/rdma_lat"

there="--path $tmp/remote"
check "both ends through ssh" code 0 pair $there --server 127.0.0.1 --client 127.0.0.1 rdma_lat -n 50 --json
check "stdout is the client's alone" eval 'said out "^  \"role\": \"client\"," &&
	[ "$(head -c 1 "$tmp/out")$(tail -n 1 "$tmp/out")" = "{}" ]'
check "the server there" code 0 pair $there --server 127.0.0.1 rdma_lat -n 50
check "the client there, which finds this host" code 0 pair $there --client 127.0.0.1 rdma_lat -n 50
check "its exit code" code 6 pair $there --client 127.0.0.1 rdma_lat -D 20s --timeout 100ms
check "SIGINT ends a run by time" stopped INT 0 $there --server 127.0.0.1 --client 127.0.0.1 rdma_lat -D 60s
check "and it reports" said out '^rdma_lat .client.: RDMA WRITE'
check "kill -9 leaves nothing there" stopped KILL 137 $there --server 127.0.0.1 --client 127.0.0.1 rdma_lat -D 60s
check "nor does a connection that is cut" cut_off $there --server 127.0.0.1 rdma_lat -D 60s
check "a refused login" eval 'mv "$tmp/authorized" "$tmp/away"; code 1 pair $there --server 127.0.0.1 rdma_lat'
finish
