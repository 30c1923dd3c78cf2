#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Every symbol that the installed libibverbs (or the one named by LIBIBVERBS) exports is interposed, or is on the pass list below
# because it looks at no context of ours. A new one fails here, by its name: look at what it does
# with its context, then write it or list it.
# shellcheck source=tests/softverbs/lib.sh
. "$(dirname "$0")/lib.sh"
need nm

# Pure functions of their arguments, of sysfs paths, or of the program's memory.
pass="ibv_copy_ah_attr_from_kern ibv_copy_path_rec_from_kern ibv_copy_path_rec_to_kern
ibv_copy_qp_attr_from_kern ibv_dofork_range ibv_dontfork_range ibv_event_type_str ibv_fork_init
ibv_get_sysfs_path ibv_is_fork_initialized ibv_node_type_str ibv_port_state_str ibv_rate_to_mbps
ibv_rate_to_mult ibv_read_sysfs_file ibv_read_ibdev_sysfs_file ibv_register_driver
ibv_wc_status_str mbps_to_ibv_rate mult_to_ibv_rate"
# Of objects that the device never makes.
pass="$pass ibv_dealloc_dmah ibv_destroy_comp_cntr ibv_dm_export_dmabuf_fd ibv_inc_comp_cntr
ibv_inc_err_comp_cntr ibv_read_comp_cntr ibv_read_err_comp_cntr ibv_set_comp_cntr
ibv_set_err_comp_cntr"

lib=${LIBIBVERBS:-$(ldconfig -p 2>/dev/null | awk '/libibverbs\.so\.1 / { print $NF; exit }')}
[ -n "$lib" ] || lib=$(find /usr/lib /lib -name libibverbs.so.1 2>/dev/null | head -1)
[ -n "$lib" ] || { echo "1..0 # SKIP no libibverbs.so.1"; exit 77; }

# name@version of what a library defines. The default version only: an executable of today binds
# to that. What providers alone use (the private version: ibv_cmd_*, verbs_*, ioctls) never sees
# a context of ours, but for the one that tools call.
defined() {
	nm -D --defined-only "$1" | awk '$2 ~ /[TW]/ { print $3 }'
}
defined "$lib" | grep '@@' | sed 's/@@/@/' | grep -v '@IBVERBS_PRIVATE' >"$tmp/real"
defined "$lib" | grep '@@IBVERBS_PRIVATE' | sed 's/@@/@/' | grep '^ibv_query_gid_type@' >>"$tmp/real"
defined "$B/lib/libsoftverbs.so" | sed 's/@@/@/' >"$tmp/ours"

[ -s "$tmp/real" ]
tap $? "the symbols of $lib"
for s in $(cat "$tmp/real"); do
	name=${s%@*}
	if echo " $pass " | tr '\n' ' ' | grep -q " $name "; then
		! grep -q "^$name@" "$tmp/ours"
		tap $? "$name passes"
	elif [ "${s%@*}" = ibv_query_gid_type ]; then
		# Its version is that of the release: ours has none, and answers to all.
		grep -qx "$name" "$tmp/ours"
		tap $? "$s is interposed"
	else
		grep -qx "$s" "$tmp/ours"
		tap $? "$s is interposed"
	fi
done

# Nothing but those: a name of our own would get in the way of programs.
cut -d@ -f1 "$tmp/ours" | grep -v '^IBVERBS_\|^_*ibv_' >"$tmp/extra"
[ ! -s "$tmp/extra" ]
tap $? "no other symbol is exported"
finish
