#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Debian's ibverbs-utils, unmodified, over softverbs.
# shellcheck source=tests/softverbs/lib.sh
. "$(dirname "$0")/lib.sh"
need ibv_devinfo

timeout 10 "$soft" -d "soft0;soft1:link=eth,ports=2" ibv_devices >"$tmp/out" 2>&1 &&
	grep -q soft0 "$tmp/out" && grep -q soft1 "$tmp/out"
tap $? "ibv_devices shows both devices"

timeout 10 "$soft" ibv_devinfo -v >"$tmp/out" 2>&1 && grep -q PORT_ACTIVE "$tmp/out" &&
	grep -q 'fw_ver:.*softverbs' "$tmp/out"
tap $? "ibv_devinfo -v: an active port, and named softverbs"

timeout 10 "$soft" -d soft0:link=eth,state=down ibv_devinfo -v >"$tmp/out" 2>&1 &&
	grep -q PORT_DOWN "$tmp/out" && grep -q Ethernet "$tmp/out"
tap $? "ibv_devinfo -v: an Ethernet port that is down"

ping() {
	pair "$@" -n 500 && grep -q '500 iters' "$tmp/client"
	shift
	tap $? "$*"
}

ping soft0 ibv_rc_pingpong
ping soft0 ibv_rc_pingpong -e
ping soft0 ibv_rc_pingpong -t
ping soft0 ibv_rc_pingpong -c
ping soft0 ibv_rc_pingpong -N
ping soft0:link=eth ibv_rc_pingpong -g 0
ping soft0 ibv_uc_pingpong
ping soft0 ibv_uc_pingpong -e
ping soft0 ibv_ud_pingpong
ping soft0 ibv_ud_pingpong -e
ping soft0:link=eth ibv_ud_pingpong -g 0
ping soft0 ibv_srq_pingpong
ping soft0 ibv_srq_pingpong -e

# A planted event, and the end by a signal.
timeout 10 "$soft" -d soft0:event=port_err@0 ibv_asyncwatch >"$tmp/out" 2>&1 &
watch=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
	sleep 0.2
	grep -q 'port error\|PORT_ERR\|port_err' "$tmp/out" && break
done
pkill -TERM -P $watch
wait $watch
rc=$?
cp "$tmp/out" "$tmp/client"
grep -qi 'port' "$tmp/out" && { [ "$rc" = 143 ] || [ "$rc" = 124 ]; }
tap $? "ibv_asyncwatch sees a planted event and ends by SIGTERM"
finish
