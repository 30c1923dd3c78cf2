#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Manual pages are roff that mandoc and groff accept, and have every option of --help.
cd "$(dirname "$0")/../.." || exit 1
. tests/tools/tap.sh

silent()
{
	local out
	out=$("$@" 2>&1 >/dev/null)
	[ -z "$out" ] || { printf '%s\n' "$out"; return 1; }
}

lint()
{
	local out
	out=$(mandoc -Tlint -W warning "$1")
	[ -z "$out" ] || { printf '%s\n' "$out"; return 1; }
}

same_options()
{
	local help man
	help=$("build/bin/$1" --help | grep -o -- '--[a-z0-9-]*' | sort -u)
	man=$(mandoc -Tutf8 "build/man/$1.1" | col -b | grep -o -- '--[a-z0-9-]*' | sort -u)
	[ -n "$help" ] && [ -z "$(comm -23 <(printf '%s\n' "$help") <(printf '%s\n' "$man"))" ]
}

for page in build/man/*.1; do
	p=$(basename "$page" .1)
	check "mandoc -Tlint $p" lint "$page"
	check "groff -ww $p" silent groff -ww -man -Tutf8 "$page"
	check "every option of --help is in the manual page of $p" same_options "$p"
done
finish
