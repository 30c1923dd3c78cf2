# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# In both VMs of tests/lab/hosts.sh: A is the server, B the client. A step NAME leaves in $LAB_OUT
# NAME.A.out, .err, .code and .end (seconds since the epoch), the same of B, and of some NAME.cut,
# the time of the deed.
set -u
[ "$LAB_HOST" = A ] && peer="" || peer=10.77.0.1

# step NAME OPTIONS...: this end of a run, in the background; both begin together
step()
{
	name=$1
	at=$LAB_OUT/$1.$LAB_HOST
	shift
	lab-sync "begin-$name"
	[ "$LAB_HOST" = A ] || lab-sync "listening-$name"
	{
		timeout -k 1 60 rdma_lat "$@" $peer >"/tmp/$name.out" 2>"/tmp/$name.err"
		echo $? >"$at.code"
		date +%s.%N >"$at.end"
	} &
	ended=$!
	[ "$LAB_HOST" = B ] || { lab-listening 18515; lab-sync "listening-$name"; }
}

finish()
{
	wait "$ended"
	cp "/tmp/$name.out" "$at.out"
	cp "/tmp/$name.err" "$at.err"
	lab-sync "end-$name"
}

# deed NAME COMMAND...: A does it once laps go to and fro
deed()
{
	until grep -q 'stage ready' "/tmp/$name.err"; do sleep 0.1; done
	lab-sync "running-$name"
	[ "$LAB_HOST" = A ] || return 0
	sleep 2
	date +%s.%N >"$LAB_OUT/$name.cut"
	"$@"
}

laps="-n 50"
[ "$LAB_HOST" = A ] && laps=""

step plain -cU $laps
finish

[ "$LAB_HOST" = A ] && ip link set eth0 mtu 4200
step mtu --json $laps
finish
[ "$LAB_HOST" = A ] && ip link set eth0 mtu 1500

long="-v -D 50s"
[ "$LAB_HOST" = A ] && long=-v

step killed $long
deed pkill -KILL -x rdma_lat
finish

step silent $long
deed nft 'table ip cut { chain i { type filter hook input priority -300; drop; }; chain o { type filter hook output priority -300; drop; }; }'
finish
exit 0
