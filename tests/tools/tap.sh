# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# TAP for shell tests: `check NAME CMD...` is ok when CMD is; `finish` ends with the verdict.

tap_count=0
tap_failed=0

check()
{
	local name=$1 out
	shift
	tap_count=$((tap_count + 1))
	if out=$("$@" 2>&1); then
		printf 'ok %d - %s\n' "$tap_count" "$name"
		return 0
	fi
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$name"
	printf '%s\n' "$out" | head -n 20 | sed 's/^/# /'
	return 1
}

skip()
{
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

finish()
{
	printf '1..%d\n' "$tap_count"
	[ "$tap_failed" = 0 ]
}
