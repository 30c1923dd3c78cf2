# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The rate of this machine's cycle counter, which the VM's counter shares. The guest would measure
it against an emulated timer, and on a loaded machine that was once wrong by a factor of 27: then ten
seconds of every program in it are over in less than half of one."""
import ctypes
import mmap
import platform
import time

RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl $32,%rdx; or %rdx,%rax; ret
WINDOW_SECONDS = 0.05


def moment(read):
    """(ns, counter): of a few tries the one that was interrupted least."""
    tries = []
    for _ in range(10):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        counter = read()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        tries.append((after - before, (before + after) // 2, counter))
    return min(tries)[1:]


def khz():
    """kHz, or None where this cannot be known."""
    if platform.machine() != "x86_64":
        return None
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return None
    page.write(RDTSC)
    code = ctypes.c_char.from_buffer(page)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(code))
    ns0, counter0 = moment(read)
    time.sleep(WINDOW_SECONDS)
    ns1, counter1 = moment(read)
    return round((counter1 - counter0) * 1e6 / (ns1 - ns0))
