#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# make install puts programs, pages and libraries below DESTDIR and PREFIX, and they work there.
cd "$(dirname "$0")/../.." || exit 1
. tests/tools/tap.sh
dest=$(mktemp -d)
trap 'rm -rf "$dest"' EXIT

check "make install" make -s install DESTDIR="$dest" PREFIX=/opt/verbsperf
root=$dest/opt/verbsperf
for p in build/bin/*; do
	check "$(basename "$p") is installed" test -x "$root/bin/$(basename "$p")"
done
for p in build/man/*.1; do
	check "$(basename "$p") is installed" test -f "$root/share/man/man1/$(basename "$p")"
done
check "nothing beside them" test -z "$(find "$dest" -type f ! -path "$root/*")"
check "an installed program runs" "$root/bin/rdma_lat" --version
check "the installed softverbs finds its library" \
	"$root/bin/softverbs" ibv_devinfo -d soft0
finish
