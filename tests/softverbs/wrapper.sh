#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The command softverbs: what it sets, what it refuses, its exit codes, built and installed. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(realpath "${VERBSPERF_BUILD:-build}")
cmd=$build/bin/softverbs
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0 failed=0
unset SOFTVERBS LD_PRELOAD

result() { # CODE NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' "$work/out" "$work/err"
		failed=1
	fi
}

# gives NAME CODE OUT ERR COMMAND...: exit code, a pattern for stdout, one for stderr (or -: empty)
gives() {
	local name=$1 code=$2 out=$3 err=$4 rc ok=0
	shift 4
	timeout 20 "$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	[ "$rc" = "$code" ] || ok=1
	for f in out err; do
		if [ "${!f}" = - ]; then
			[ ! -s "$work/$f" ] || ok=1
		else
			grep -Eq -- "${!f}" "$work/$f" || ok=1
		fi
	done
	[ "$ok" = 0 ] || echo "exit code $rc, wanted $code" >>"$work/err"
	result "$ok" "$name"
}

lib=$build/lib/libsoftverbs.so
# shellcheck disable=SC2016
show='echo "<$SOFTVERBS> <$LD_PRELOAD>"'
gives "help" 0 '^usage: softverbs' - "$cmd" -h
gives "long help" 0 '^usage: softverbs' - "$cmd" --help
gives "the manual page" 0 '^\.TH SOFTVERBS 1' - "$cmd" --man
[ -z "$("$cmd" --help | awk 'length > 115')" ]
result $? "no line of the help is too wide"
# Keys: "  name=ARG   text" below the line on SPEC, up to the one on DELAY.
keys=$("$cmd" --help | sed -n '/^SPEC is/,/^DELAY is/s/^  \([a-z_]*\)\([=@ ].*\)*$/\1/p')
[ "$(echo "$keys" | wc -w)" -gt 30 ]
result $? "the help lists the keys"
for k in $keys; do
	"$cmd" --man | grep -q "^\.B $k" && grep -q "\`$k[=@\`]" doc/softverbs-spec.md
	result $? "$k is in the manual page and in doc/softverbs-spec.md"
done
gives "version" 0 '^softverbs [0-9]+\.' - "$cmd" -V
gives "no command" 2 - 'no command' "$cmd"
gives "no command behind a device" 2 - 'no command' "$cmd" -d soft0
gives "an unknown option" 2 - 'usage' "$cmd" --what true
gives "an option without its value" 2 - 'usage' "$cmd" -d
gives "a command that is not there" 127 - 'no-such-command' "$cmd" no-such-command
gives "a command that is not there, by path" 127 - '/no/such' "$cmd" /no/such
gives "a file that is no program" 126 - 'README|Permission|LICENSE' "$cmd" ./LICENSE
gives "the exit code is the command's" 7 - - "$cmd" sh -c 'exit 7'
gives "the default device and the library" 0 "^<soft0> <$lib>\$" - "$cmd" sh -c "$show"
gives "-d" 0 '^<a:lid=3> ' - "$cmd" -d a:lid=3 sh -c "$show"
gives "an inherited SPEC stands" 0 '^<b> ' - env SOFTVERBS=b "$cmd" sh -c "$show"
gives "-d is stronger than an inherited SPEC" 0 '^<a> ' - env SOFTVERBS=b "$cmd" -d a sh -c "$show"
gives "an empty SPEC is the default" 0 '^<soft0> ' - env SOFTVERBS= "$cmd" sh -c "$show"
gives "options behind the command are its own" 0 '^-d x -h$' - "$cmd" echo -d x -h
gives "-- ends the options" 0 '^hi$' - "$cmd" -d soft0 -- echo hi
gives "in front of what is preloaded" 0 "<$lib:/lib/x86_64-linux-gnu/libm.so.6>|<$lib:libm.so.6>" - \
	env LD_PRELOAD=libm.so.6 "$cmd" sh -c "$show"
gives "a wrong key shows its place" 2 - '^softverbs: SPEC at 6: found "lnk", allowed: ' \
	"$cmd" -d soft0:lnk=ib true
gives "a wrong inherited SPEC" 2 - '^softverbs: SPEC at 10: ' env SOFTVERBS=soft0:lid=x "$cmd" true
gives "a delay file that is not there" 2 - 'delay file /no/file: No such' \
	"$cmd" -d soft0:delay=file:/no/file true
printf '1us\nx\n' >"$work/delays"
gives "a delay file with a wrong line" 2 - "$work/delays:2: " \
	"$cmd" -d "soft0:out=file:$work/delays" true
[ "$(wc -l <"$work/err")" = 1 ]
result $? "a wrong SPEC is one line"

if command -v ibv_devinfo >/dev/null; then
	gives "the device comes first" 0 '^[[:space:]]*soft1' - "$cmd" -d soft1 ibv_devinfo -l
	gives "not without the command" 0 - - sh -c '! ibv_devinfo -l 2>&1 | grep soft'
fi

# Installed elsewhere, called by a link and through PATH.
mkdir -p "$work/usr/bin" "$work/usr/lib" "$work/links"
cp "$cmd" "$work/usr/bin" && cp "$lib" "$work/usr/lib"
ln -s "$work/usr/bin/softverbs" "$work/links/sv"
gives "installed, by path" 0 "<$work/usr/lib/libsoftverbs.so>" - "$work/usr/bin/softverbs" sh -c "$show"
gives "installed, by a link in PATH" 0 "<$work/usr/lib/libsoftverbs.so>" - \
	env PATH="$work/links:$PATH" sv sh -c "$show"
mkdir -p "$work/with space/bin" "$work/with space/lib"
cp "$cmd" "$work/with space/bin" && cp "$lib" "$work/with space/lib"
gives "a path that LD_PRELOAD cannot hold" 1 - 'LD_PRELOAD cannot hold' \
	"$work/with space/bin/softverbs" true
rm "$work/usr/lib/libsoftverbs.so"
gives "without its library" 1 - 'libsoftverbs.so: No such file' "$work/usr/bin/softverbs" true
echo "1..$n"
exit $failed
