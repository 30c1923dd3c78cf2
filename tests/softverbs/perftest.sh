#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Debian's perftest, unmodified, over softverbs.
# shellcheck source=tests/softverbs/lib.sh
. "$(dirname "$0")/lib.sh"
need ib_write_lat

# With -a the tool measures the clock anew for each size, which is slow under load.
export LIMIT=300

# The smallest time of a latency table is a positive number below a second.
sane_lat() {
	awk '$1 ~ /^[0-9]+$/ && NF >= 8 { rows++; if ($3 <= 0 || $3 > 1e6) bad = 1 }
	     END { exit !(rows && !bad) }' "$tmp/client"
}

sane_bw() {
	awk '$1 ~ /^[0-9]+$/ && NF >= 5 { rows++; if ($4 <= 0) bad = 1 }
	     END { exit !(rows && !bad) }' "$tmp/client"
}

lat() {
	pair soft0 "$@" -n 200 && sane_lat
	tap $? "$*"
}

bw() {
	pair soft0 "$@" -n 500 && sane_bw
	tap $? "$*"
}

for t in RC UC; do
	lat ib_write_lat -c $t
done
lat ib_write_lat -a
lat ib_read_lat
lat ib_read_lat -a
for t in RC UC UD; do
	lat ib_send_lat -c $t
	lat ib_send_lat -c $t -e
done
lat ib_send_lat -a
lat ib_send_lat --use-srq
lat ib_read_lat -e
lat ib_atomic_lat
lat ib_atomic_lat -A CMP_AND_SWAP
for p in ib_write_bw ib_read_bw ib_send_bw; do
	bw $p
	bw $p -a
	bw $p -b
	bw $p -q 16
done
bw ib_send_bw -e
bw ib_write_bw -c UC
bw ib_send_bw -c UD
bw ib_send_bw --use-srq
bw ib_atomic_bw
bw ib_atomic_bw -b
bw ib_atomic_bw -q 16
finish
