# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Shared by the scripts: where the tree is, and the one function that installs packages.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What each purpose needs, as Debian 12 and 13 and Ubuntu 24.04 name it.
packages_build="gcc make libc6-dev libibverbs-dev librdmacm-dev libjansson-dev pkg-config"
packages_run="ibverbs-providers iproute2"
packages_lab="qemu-system-x86 busybox-static cpio kmod xz-utils zstd python3 rdma-core
	ibverbs-providers iproute2 procps util-linux"
packages_test="clang libcmocka-dev python3 perftest qperf ibverbs-utils rdmacm-utils nftables
	valgrind mandoc groff-base procps git bsdextrautils iputils-ping openssh-client gnuplot-nox"
packages_cross="gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu
	libc6-dev-s390x-cross qemu-user"

# The sanitizer and fuzzer runtime has the version of the distribution's clang in its name.
packages_clang_runtime()
{
	local v
	apt-cache show clang >/dev/null 2>&1 || as_root apt-get -qq update >/dev/null 2>&1
	v=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -1)
	[ -n "$v" ] && echo "libclang-rt-$v-dev"
}

say()
{
	printf '%s\n' "$*" >&2
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		say "this needs root: $*"
		return 1
	fi
}

missing_packages()
{
	local p
	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
	done
}

# install_packages NAME...: installs what is missing, with apt; elsewhere says what to install.
install_packages()
{
	local missing
	if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
		say "no apt here; install what these Debian packages hold, then run this again:"
		say "  $*"
		return 1
	fi
	missing=$(missing_packages "$@")
	[ -z "$missing" ] && return 0
	say "installing: $(echo $missing)"
	if ! { as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
			--no-install-recommends install $missing; } >"${TMPDIR:-/tmp}/verbsperf-apt.$$" 2>&1; then
		tail -n 20 "${TMPDIR:-/tmp}/verbsperf-apt.$$" >&2
		say "installing failed; by hand: apt-get install $(echo $missing)"
		rm -f "${TMPDIR:-/tmp}/verbsperf-apt.$$"
		return 1
	fi
	rm -f "${TMPDIR:-/tmp}/verbsperf-apt.$$"
}

# progress TEXT: a line for who waits.
progress()
{
	printf '== %s\n' "$*" >&2
}
