#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# build/tests/conform (tests/conformance/) on softverbs: TAP of the default device, then one line for each other one.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${VERBSPERF_BUILD:-build}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
n=1 failed=0

for need in bin/softverbs lib/libsoftverbs.so tests/conform; do
	[ -e "$build/$need" ] || { echo "Bail out! $build/$need is not built: make tests"; exit 1; }
done

on() { # SPEC ARGS...: runs it on the first device of SPEC
	local spec=$1
	shift
	timeout -k 10 250 "$build/bin/softverbs" -d "$spec" "$build/tests/conform" \
		-d "${spec%%:*}" "$@" >"$log" 2>&1
}

# The ones that differ most; with SOFT_ALL=1, as in make soak-softverbs, the rest too.
specs()
{
	cat <<'END'
soft0:link=eth,gids=fe80::1|10.0.0.1
soft0:mode=pvm
soft0:async=7
soft0:mode=pvm;soft1:lid=7,gids=fe80::7 --peer-dev soft1 --only process
END
	[ -z "${SOFT_ALL:-}" ] || cat <<'END'
soft0 -g 0
soft0:link=eth
soft0:ports=2 -i 2
soft0:grh_required
soft0:mtu=256
soft0:delay=20us+exp(10us),seed=3
soft0:atomic=hca,max_rd_atomic=1
soft0:atomic=none
soft0:link=eth,gids=10.0.0.1;soft1:link=eth,gids=10.0.0.2 --peer-dev soft1 --only process
soft0:pkeys=0xffff|0x8001|0x0001
END
}

on soft0 || failed=1
cat "$log"
while read -r spec args; do
	n=$((n + 1))
	# shellcheck disable=SC2086
	if on "$spec" $args; then
		echo "ok - all of it on $spec $args ($(tail -n 1 "$log"))"
	else
		echo "not ok - all of it on $spec $args"
		grep -A 2 '^not ok' "$log" | sed 's/^/# /'
		tail -n 1 "$log"
		failed=1
	fi
done < <(specs)
exit $failed
