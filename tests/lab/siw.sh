#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tests/lab/siw.sh         builds siw.ko, soft-iWARP, which Debian's kernels leave out, for the lab's
#                          kernel, from Debian's source and headers of the very same version, and prints
#                          its path; nothing is installed. Once for each kernel: 150 MB, a minute.
set -eu

cache=${XDG_CACHE_HOME:-$HOME/.cache}/verbsperf/lab
image=$(cd "$cache/kernel" && ls -dt linux-image-6.1.*-amd64_* 2>/dev/null | head -n 1)
[ -n "$image" ] || { echo "no kernel 6.1 in $cache; run scripts/lab prepare" >&2; exit 2; }
version=${image#*_}            # 6.1.192-3
release=${image%%_*}           # 6.1.0-57-amd64
release=${release#linux-image-}
module=$cache/siw-$release-$version.ko
if [ ! -e "$module" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	cd "$work"
	apt-get -qq download "linux-source-6.1=$version" "linux-headers-$release=$version" \
		"linux-headers-${release%-amd64}-common=$version" "linux-kbuild-6.1=$version" >&2
	for f in linux-headers-*.deb linux-kbuild-*.deb; do
		dpkg -x "$f" root
	done
	dpkg --fsys-tarfile linux-source-6.1_*.deb | tar -xO ./usr/src/linux-source-6.1.tar.xz |
		tar -xJ --strip-components=4 linux-source-6.1/drivers/infiniband/sw/siw
	# The headers name their other half by its installed path.
	grep -rlI -- '/usr/\(src\|lib\)/linux-' root/usr/src/linux-headers-"$release" |
		xargs sed -i "s#/usr/\(src\|lib\)/linux-#$work/root/usr/\1/linux-#g"
	make -s -C "root/usr/src/linux-headers-$release" M="$work/siw" CONFIG_RDMA_SIW=m modules >&2
	cp siw/siw.ko "$module.new" && mv "$module.new" "$module"
fi
echo "$module"
