#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""rdma_lat beside Debian's ib_write_lat, on the same soft-RoCE devices of one VM, in turns: prints the
ratio of the medians. A report and no timed test. Runs itself in the lab; -n LAPS, -t TURNS, -s SIZE."""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "../pair"))
FAST = 1000  # usec: laps above it waited for a thread that shares the CPU (LAB.md: 20 us or 4 ms)

LEAST_SHARE = 0.3  # of fast laps; a turn in which one program has fewer says nothing


def options():
    p = argparse.ArgumentParser()
    p.add_argument("-n", type=int, default=300)
    p.add_argument("-t", type=int, default=5)
    p.add_argument("-s", type=int, default=8)
    return p.parse_args()


def on_the_host():
    """Exit code of this script in a VM."""
    return subprocess.run([f"{TREE}/scripts/lab", "run", "--env", "PAIR=lab", "--env",
                           f"VERBSPERF_BUILD={os.environ.get('VERBSPERF_BUILD', 'build')}",
                           os.path.realpath(__file__), *sys.argv[1:]], cwd=TREE, check=False).returncode


def ours(o):
    import pair
    s, c = pair.pair([], ["-T", "1,0", "-U", "-n", o.n, "-s", o.s])
    return samples(c.out)


def theirs(o):
    common = ["-x", "1", "-n", str(o.n), "-s", str(o.s), "-F", "-U"]
    s = subprocess.Popen(["taskset", "-c", "0", "ib_write_lat", "-d", "rxe0", *common],
                         stdout=subprocess.DEVNULL)
    subprocess.run(["lab-listening", "18515"], check=True)
    c = subprocess.run(["taskset", "-c", "1", "ib_write_lat", "-d", "rxe1", *common, "10.77.0.1"],
                       capture_output=True, text=True, timeout=120, check=True)
    s.wait(30)
    return samples(c.stdout)


def samples(text):
    return [float(v) for v in re.findall(r"^ ?\d+, ([0-9.]+)", text, re.M)]


def fast_median(v):
    fast = [x for x in v if x < FAST]
    return (statistics.median(fast), len(fast) / len(v)) if fast else (statistics.median(v), 0)


def turn(o, order):
    """Median and share of the fast laps, by program."""
    found = {}
    for f in order:
        v = f(o)
        if len(v) < o.n - 1:
            raise SystemExit(f"not ok 1 - {f.__name__}: {len(v)} samples, not {o.n}")
        found[f.__name__] = fast_median(v)
        time.sleep(0.2)
    return found["ours"], found["theirs"]


def compare(o):
    if not shutil.which("ib_write_lat"):
        print("ok 1 - rdma_lat beside ib_write_lat # SKIP ib_write_lat is not installed (package perftest)")
        return 0
    ratios = []
    for n in range(3 * o.t):
        (a, a_share), (b, b_share) = turn(o, (ours, theirs) if n % 2 == 0 else (theirs, ours))
        counts = min(a_share, b_share) >= LEAST_SHARE
        if counts:
            ratios.append(a / b)
        print("# turn %d: rdma_lat %.2f usec (%.0f %% of the laps fast), ib_write_lat %.2f usec (%.0f %%), %s"
              % (n + 1, a, 100 * a_share, b, 100 * b_share,
                 "ratio %.3f" % ratios[-1] if counts else "not counted: one was in the slow mode"))
        if len(ratios) == o.t:
            break
    if ratios:
        print("# ratio of the medians, rdma_lat / ib_write_lat: %.3f (%.3f to %.3f in %d turns)"
              % (statistics.median(ratios), min(ratios), max(ratios), len(ratios)))
    print("ok 1 - rdma_lat beside ib_write_lat, a report" + ("" if ratios else " # SKIP no turn in the fast mode"))
    return 0


if __name__ == "__main__":
    sys.exit(compare(options()) if os.environ.get("LAB") else on_the_host())
