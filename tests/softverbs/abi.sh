#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The number of the shared layout is made of every member of every shared struct, and another
# layout makes another number; segment.c sees that a segment with another number is refused.
# shellcheck source=tests/softverbs/lib.sh
. "$(dirname "$0")/lib.sh"
cc=${CC:-cc}
need "$cc"

structs="fabric.h:sv_slot,sv_qpn,sv_group,sv_fabric lock.h:sv_lock
shm.h:sv_piece,sv_mr_sh,sv_ctx_sh,sv_arena spec.h:spec_port event.h:sv_event
shm_queue.h:sv_cqe,sv_cq_sh,sv_chan_msg,sv_rqe,sv_rq,sv_srq_sh,sv_qp_sh"

cp -r "$top/softverbs" "$tmp/softverbs"
cat >"$tmp/show.c" <<'C'
#include <stdio.h>
#include "abi.c"
int main(void) { printf("%u\n", sv_abi()); return 0; }
C

abi() {		# the number of the sources in $tmp
	"$cc" -D_GNU_SOURCE -std=gnu11 -w -I"$tmp/softverbs" -o "$tmp/show" "$tmp/show.c" \
		2>"$tmp/err" && "$tmp/show"
}

# lines FILE STRUCT: what is between the braces, comments and attributes off, a line number before.
lines() {
	awk -v s="struct $2 {" '
		/^}/ { on = 0 }
		on {
			gsub(/\/\*.*\*\//, ""); sub(/__attribute__.*/, ";")
			if (/;/) print NR, $0
		}
		index($0, s) == 1 { on = 1 }' "$1"
}

# The names in "type a, *b, c[N];"; padding is nobody's, and what has no size has to be last.
members() {
	lines "$1" "$2" | sed 's/.*\[\];//; s/;.*//' | tr , '\n' |
		awk 'NF { n = $NF; sub(/\[.*/, "", n); sub(/^\*/, "", n); if (n != "pad") print n }'
}

was=$(abi)
tap $? "the number is $was"
for f in $structs; do
	h=$top/softverbs/${f%:*}
	for s in $(echo "${f#*:}" | tr , ' '); do
		all=$(members "$h" "$s")
		[ -n "$all" ]
		tap $? "$s has members"
		for m in $all; do
			grep -q "M($s, $m)" "$top/softverbs/abi.c"
			tap $? "the number knows $s.$m"
		done
		at=$(lines "$h" "$s" | awk 'NR == 1 { print $1 }')
		sed "${at}i\\	uint64_t one_more;" "$h" >"$tmp/softverbs/${f%:*}"
		new=$(abi) && [ "$new" != "$was" ]
		tap $? "$s with a member more has another number"
		[ ! -s "$tmp/err" ] || say "$tmp/err" | head -3
		cp "$h" "$tmp/softverbs/${f%:*}"
	done
done
finish
