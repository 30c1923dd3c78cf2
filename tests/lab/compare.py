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


def compare(o):
    if not shutil.which("ib_write_lat"):
        print("ok 1 - rdma_lat beside ib_write_lat # SKIP ib_write_lat is not installed (package perftest)")
        return 0
    ratios = []
    for turn in range(o.t):
        pairs = []
        for f in (ours, theirs) if turn % 2 == 0 else (theirs, ours):
            v = f(o)
            if len(v) < o.n - 1:
                raise SystemExit(f"not ok 1 - {f.__name__}: {len(v)} samples, not {o.n}")
            pairs.append((f.__name__, *fast_median(v)))
            time.sleep(0.2)
        m = {name: (median, share) for name, median, share in pairs}
        ratios.append(m["ours"][0] / m["theirs"][0])
        print("# turn %d: rdma_lat %.2f usec (%.0f %% of the laps fast), ib_write_lat %.2f usec (%.0f %%), "
              "ratio %.3f" % (turn + 1, m["ours"][0], 100 * m["ours"][1], m["theirs"][0],
                              100 * m["theirs"][1], ratios[-1]))
    print("# ratio of the medians, rdma_lat / ib_write_lat: %.3f (%.3f to %.3f in %d turns)"
          % (statistics.median(ratios), min(ratios), max(ratios), len(ratios)))
    print("ok 1 - rdma_lat beside ib_write_lat, a report")
    return 0


if __name__ == "__main__":
    sys.exit(compare(options()) if os.environ.get("LAB") else on_the_host())
