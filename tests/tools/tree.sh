#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# House rules that a program can check, over the files that git has.
cd "$(dirname "$0")/../.." || exit 1
. tests/tools/tap.sh

files()
{
	git ls-files -- "$@"
}

# none PATTERN FILES...: prints and fails where a line matches.
none()
{
	local pattern=$1
	shift
	[ $# = 0 ] || ! grep -nE -- "$pattern" "$@"
}

spdx()
{
	local f rc=0
	for f in $(files '*.c' '*.h' '*.sh' '*.py' Makefile scripts/test scripts/quickstart); do
		head -n 3 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause' ||
			{ echo "$f"; rc=1; }
	done
	return $rc
}

# longer LINES FILES...: prints and fails where a file has more lines.
longer()
{
	local most=$1 f rc=0
	shift
	for f in "$@"; do
		[ "$(wc -l <"$f")" -le "$most" ] || { echo "$f: $(wc -l <"$f") lines"; rc=1; }
	done
	return $rc
}

syntax()
{
	local f
	for f in $(files '*.sh' scripts/test scripts/quickstart .ci/run scripts/fuzz); do
		bash -n "$f" || return 1
	done
}

check "every source file has its SPDX line" spdx
check "no .c file over 400 lines" longer 400 $(files '*.c')
# A header of inline code, or of a test's world, counts as code.
check "no header over 120 lines" longer 120 $(files '*.h' | grep -v -e '_ops\.h$' -e ^tests/)
check "no header of code over 300 lines" longer 300 $(files '*_ops.h' 'tests/*.h')
check "nothing below main calls exit()" \
	none '(^|[^_a-z])exit\(' $(files 'common/*.c' 'perftest/*.c')
check "nothing is left over" none '\b(TODO|FIXME|XXX)\b' $(files '*.c' '*.h' '*.py')
check "no path of one machine" none '/(work|home/[a-z]+)/' $(files)
check "scripts parse" syntax
check "nothing generated is committed" test -z "$(files build)"
finish
