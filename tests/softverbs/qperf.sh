#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Debian's qperf, unmodified, over softverbs. Its server serves all tests.
# shellcheck source=tests/softverbs/lib.sh
. "$(dirname "$0")/lib.sh"
need qperf

port=$((port + 1))
taskset -c $cpu0 timeout 170 "$soft" qperf -lp "$port" >"$tmp/server" 2>&1 &
server=$!
sleep 0.5

q() {	# q TEST: a line "key  =  value unit" that is not zero
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		timeout 60 taskset -c $cpu1 "$soft" qperf -lp "$port" -t "${QPERF_TIME:-1}" \
			127.0.0.1 "$1" >"$tmp/client" 2>&1
		rc=$?
		grep -q 'failed to connect' "$tmp/client" || break
		sleep 0.5	# the server is not there yet
	done
	[ $rc = 0 ] && grep -q '=  *[0-9.]*[1-9]' "$tmp/client"
	rc=$?
	[ $rc = 0 ] || say "$tmp/client"
	tap $rc "qperf $1"
}

for t in rc_lat uc_lat ud_lat rc_bw rc_rdma_read_lat rc_rdma_write_poll_lat rc_fetch_add_mr \
	 rc_compare_swap_mr ver_rc_compare_swap ver_rc_fetch_add; do
	q $t
done
kill $server 2>/dev/null
wait $server 2>/dev/null
finish
