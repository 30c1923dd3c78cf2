#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tests/cross.sh ARCH      the unit tests of the pure modules on another CPU, under qemu-user:
#                          arm64, s390x (big-endian), i386 (32 bits), ppc64el, riscv64
# tests/cross.sh generic   the same on this CPU without a cycle counter, as on an unknown one
#
# Libraries of the other architecture are packages that apt fetches into a cache outside the
# tree; nothing is installed. Without a compiler, an emulator or the packages: skipped, and says so.
set -u

# Tests that need no device, no threads of the emulated libc and no second process. A name whose
# file is not there is passed over.
pure="units samples stats histogram cycles calibration error frame golden plan options
	option_misuse option_json option_text gid candidate candidate_json address mark laps
	laps_end report report_json device memory dump listing expect op
	option_codec"
packages="libc6 libgcc-s1 libjansson4 libjansson-dev libcmocka0 libcmocka-dev libibverbs1
	libibverbs-dev librdmacm1 librdmacm-dev libnl-3-200 libnl-route-3-200"

cd "$(dirname "$0")/.." || exit 1
. tests/tools/tap.sh

arch=${1:-}
case $arch in
arm64) triple=aarch64-linux-gnu cpu=aarch64 ;;
s390x) triple=s390x-linux-gnu cpu=s390x ;;
i386) triple=i686-linux-gnu cpu=i386 libdir=i386-linux-gnu ;;
ppc64el) triple=powerpc64le-linux-gnu cpu=ppc64le ;;
riscv64) triple=riscv64-linux-gnu cpu=riscv64 ;;
generic) triple= ;;
*)
	sed -n '4,6p' "$0" | sed 's/^# \{0,1\}//' >&2
	exit 2
	;;
esac
libdir=${libdir:-$triple}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/verbsperf/cross-$arch
out=build/cross-$arch
log=$out/make.log
mkdir -p "$out"

# skip_all REASON: nothing can run here.
skip_all()
{
	skip "cross $arch" "$1"
	finish
	exit 0
}

# An apt of its own for the architecture: no dpkg --add-architecture, no root.
apt_fetch()
{
	local d=$cache/apt f
	local o="-o APT::Architecture=$arch -o APT::Architectures=$arch -o Dir::State=$d/state
		-o Dir::State::status=$d/status -o Dir::Cache=$d/cache -o Acquire::Retries=2"
	rm -rf "$d" "$cache/new" && mkdir -p "$d/state/lists/partial" "$d/cache/archives/partial" \
		"$cache/new" && : >"$d/status" || return 1
	apt-get -qq $o update # one index that is missing, of updates say, need not matter
	(cd "$d" && apt-get -qq $o download $packages) || return 1
	for f in "$d"/*.deb; do
		dpkg -x "$f" "$cache/new" || return 1
	done
	find "$cache/new" -type l -lname '/*' | while IFS= read -r f; do
		ln -sfn "$cache/sys$(readlink "$f")" "$f" # the loader of ppc64el, else looked for in /
	done
	rm -rf "$d" "$cache/sys" && mv "$cache/new" "$cache/sys" && echo $packages >"$cache/holds"
}

# Once for all runs on this machine, and anew when the list of packages has changed.
libraries_fetch()
{
	mkdir -p "$cache" || return 1
	(
		flock 9
		[ "$(cat "$cache/holds" 2>/dev/null)" = "$(echo $packages)" ] || apt_fetch
	) 9>"$cache/lock" >"$out/apt.log" 2>&1
}

# Only what the counter needs, where the libraries cannot be had.
compile_only()
{
	local f
	for f in common/cycles.c common/stats.c common/units.c common/histogram.c; do
		check "$arch compiles $f" "$triple-gcc" -std=gnu11 -O2 -D_GNU_SOURCE -Icommon -Wall \
			-Wextra -Wmissing-prototypes -Wshadow -Werror -c "$f" -o "$out/$(basename "$f").o"
	done
}

make_target()
{
	if [ "$arch" = generic ]; then
		make -s B="$out" CFLAGS="-O1 -DCYCLES_NO_COUNTER" "$@"
	else
		make -s B="$out" CC="$triple-gcc" AR="$triple-ar" \
			CFLAGS="-O1 -idirafter $cache/sys/usr/include" \
			LDFLAGS="-L$cache/sys/usr/lib/$libdir -Wl,-rpath-link,$cache/sys/usr/lib/$libdir:$cache/sys/lib/$libdir -Wl,--as-needed" \
			"$@"
	fi
}

emulated()
{
	if [ "$arch" = generic ]; then
		timeout -k 5 200 "$@"
	else
		timeout -k 5 200 "$emulator" -L "$cache/sys" -E OBJDUMP="$triple-objdump" -E \
			LD_LIBRARY_PATH="$cache/sys/lib/$libdir:$cache/sys/usr/lib/$libdir" "$@"
	fi
}

# One program: its own TAP lines, numbered on, with the module before the name.
program_run()
{
	local name=$1 text rc line failed=$tap_failed
	text=$(CMOCKA_MESSAGE_OUTPUT=TAP emulated "$out/tests/$name" 2>&1)
	rc=$?
	while IFS= read -r line; do
		case $line in
		1..* | '# ok'* | '# not ok'*) continue ;;
		ok\ * | not\ ok\ *)
			tap_count=$((tap_count + 1))
			[ "${line%% *}" = ok ] || tap_failed=$((tap_failed + 1))
			printf '%s %d - %s %s: %s\n' "${line%% [0-9]*}" "$tap_count" "$arch" "$name" \
				"${line#*- }"
			;;
		\#*) printf '%s\n' "$line" ;;
		'') ;;
		*) printf '# %s\n' "$line" ;;
		esac
	done <<<"$text"
	# Killed before its verdict, by a signal or the time limit.
	[ "$rc" = 0 ] || [ "$failed" != "$tap_failed" ] ||
		check "$arch $name ends with exit code 0, not $rc" false
}

if [ "$arch" != generic ]; then
	command -v "$triple-gcc" >/dev/null || skip_all "no $triple-gcc"
	emulator=$(command -v "qemu-$cpu" || command -v "qemu-$cpu-static")
	if [ -z "$emulator" ]; then
		compile_only
		skip "$arch runs" "no qemu-$cpu"
	elif ! libraries_fetch; then
		compile_only
		skip "$arch runs" "apt has no libraries of $arch here: $(grep -m1 '^E:' "$out/apt.log" |
			cut -c1-80)"
		emulator=
	fi
	[ -n "$emulator" ] || { finish; exit; }
fi

for name in $pure; do
	[ -e "tests/unit/$name.c" ] || continue
	if make_target "$out/tests/$name" >"$log" 2>&1; then
		program_run "$name"
	else
		check "$arch builds $name" sh -c "grep -E \"error|undefined|\*\*\*\" $log; false"
	fi
done
finish
