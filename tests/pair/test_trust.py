#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How far a figure can be trusted: runs that agree or do not, the loop's own cost, load, expectations, interval
lines, and the clock."""
import json
import math
import os
import re
import signal
import statistics
import tempfile
import time

from output import full_table
from pair import (SLOW, Fail, between, case, client, equal, has, hasnt, main, messages, need_softverbs, one_message,
                  pair, server, start, table, true)


TURNS = 4


def documents(server_args, client_args, **more):
    """The JSON of both ends of a run."""
    need_softverbs()
    s, c = pair([*server_args, "--json"], [*client_args, "--json"], **more)
    return json.loads(s.out), json.loads(c.out)


def together(s, *args, **more):
    """A client's stdout and stderr in the order in which they were written, and its exit code."""
    with tempfile.TemporaryFile("w+") as f:
        c = client(s, *args, stdout=f, stderr=f, **more)
        code = c.wait()
        f.seek(0)
        return f.read(), code


def in_turn(what, text, *patterns):
    """Each of @patterns follows the one before."""
    at = 0
    for p in patterns:
        found = re.compile(p, re.M).search(text, at)
        if not found:
            raise Fail(f"{what}: no \"{p}\" there or before its time in: {text[-2000:]}")
        at = found.end()


# ---- runs and their interval

STUDENT_90 = [2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753,
              1.746, 1.740, 1.734, 1.729]  # t for 3 runs, 4, ... 20
STUDENT_99_OF_4 = 5.8409


def half_percent(values, t):
    return 100 * t * statistics.stdev(values) / math.sqrt(len(values)) / statistics.fmean(values)


@case("runs that agree stop early: interval, number of runs, no warning", quick=True)
def agree():
    need_softverbs()
    s = server("--json", spec="soft0:bw=1Gb/s", program="rdma_bw")
    c = client(s, "-D", "60ms", "--runs", "12,3", "--confidence", "99,40", "--json", spec="soft0:bw=1Gb/s",
               program="rdma_bw")
    equal("exit codes", (c.wait(), s.wait()), (0, 0))
    doc = json.loads(c.out)
    runs = doc["runs"][0]
    true(f"reached: {runs}", runs["reached"] and 3 <= runs["runs"] < 12 and runs["half_percent"] <= 20)
    for d in doc, json.loads(s.out):
        equal("results", [r["run"] for r in d["results"]], list(range(1, runs["runs"] + 1)))
    between("the runs' mean", runs["avg_gbit_s"] / statistics.fmean(r["avg_gbit_s"] for r in doc["results"]),
            1 - 1e-9, 1 + 1e-9)
    equal("warnings", [w for w in doc["warnings"] if "runs" in w], [])


@case("latency runs stop with the first that makes the interval narrow enough")
def agree_latency():
    _, doc = documents([], ["-n", 2, "--warmup", 2, "--runs", "20,3", "--confidence", "90,40"],
                       spec="soft0:delay=uniform(1ms,20ms),seed=5")
    medians = [r["median_usec"] for r in doc["results"]]
    halves = [half_percent(medians[:n], t) for n, t in zip(range(3, len(medians) + 1), STUDENT_90)]
    runs = doc["runs"][0]
    equal(f"reached, at {halves}", (runs["reached"], [h <= 20 for h in halves]),
          (halves[-1] <= 20, [False] * (len(halves) - 1) + [halves[-1] <= 20]))
    true(f"runs: {runs}", runs["runs"] == len(medians) and (runs["reached"] or runs["runs"] == 20))
    between("half of the interval", runs["half_percent"] / halves[-1], 0.999, 1.001)


@case("runs that do not: a warning after the table with the half-width, the same in the JSON, exit 0", quick=True)
def disagree():
    need_softverbs()
    spec = "soft0:delay=uniform(100us,20ms),seed=3"
    with tempfile.TemporaryDirectory() as folder:
        s = server(spec=spec)
        text, code = together(s, "-n", 4, "--warmup", 0, "--runs", "4,3", "--confidence", "99,1",
                              f"--json={folder}/j", spec=spec)
        equal("exit codes", (code, s.wait()), (0, 0))
        with open(f"{folder}/j") as f:
            doc = json.load(f)
    runs = doc["runs"][0]
    equal("runs, reached", (runs["runs"], runs["reached"]), (4, False))
    medians = [r["median_usec"] for r in doc["results"]]
    between("half of the interval, by hand from the medians",
            runs["half_percent"] / half_percent(medians, STUDENT_99_OF_4), 1 - 1e-4, 1 + 1e-4)
    warning = (rf"8 bytes: after 4 runs the interval of the median is \+/- {runs['half_percent']:.2f} %, "
               rf"wanted was \+/- 0\.50 %; the runs lie from -")
    in_turn("output", text, "^ +bytes ", r"8 bytes: 4 runs: median .*: not reached$", f"rdma_lat: warning: {warning}")
    equal("warnings in the JSON", len([w for w in doc["warnings"] if re.match(warning, w)]), 1)
    hasnt("the server's", s.err, "after 4 runs")


@case("a run between two levels is called bimodal, with both medians and shares")
def bimodal():
    for _ in range(TURNS):  # a machine that is busy fills the valley between them
        _, doc = documents([], ["-n", 120, "--warmup", 0],
                           client_spec="soft0:delay=steps(0:1ms|60:40ms)", server_spec="soft0")
        if doc["results"][0]["modes"]:
            break
    true("two modes", doc["results"][0]["modes"])
    low, high = doc["results"][0]["modes"]
    for mode, planted in (low, 500), (high, 20000):
        between("share", mode["share"], 0.3, 0.7)
        between(f"median of {planted} usec", mode["median_usec"], planted, 2.5 * planted)


# ---- the loop's own cost

@table("--floor: cost of stamp, poll and post, and their share: {0} {1}",
       [("rdma_lat", []), ("send_lat", []), ("read_lat", ["--full-rtt"])], quick=True)
def floor(program, args):
    share = {}
    for delay in "0us", "200us":
        both = documents(["--floor"] if program != "read_lat" else [], ["-n", 60, "--floor", *args],
                         spec=f"soft0:delay={delay}", program=program)
        for doc in both if program != "read_lat" else both[1:]:
            f, median = doc["floor"], doc["results"][0]["median_usec"]
            true(f"costs: {f}", all(f[k] > 0 for k in ("stamp_ns", "poll_ns", "post_ns")))
            between("share of the median", f["share"] * median * 1e3 / (f["stamp_ns"] + f["poll_ns"] + f["post_ns"]),
                    1 - 1e-6, 1 + 1e-6)
            share.setdefault(doc["role"], []).append(f["share"])
    for role, (without, delayed) in share.items():
        true(f"{role}: share {without} without a delay, {delayed} with one", without > 5 * delayed > 0)


@case("the floor's line stands below the table; without --floor nothing is there")
def floor_text():
    s, c = pair([], ["-n", 60, "--floor"], spec="soft0:delay=200us")
    has("text", c.out, r"^floor: stamp \d+\.\d ns, empty poll \d+\.\d ns, post \d+\.\d ns \(8 bytes, to itself\); "
                       r"together \d+ % of the median$")
    full_table(c.out)
    hasnt("the server, which was not asked", s.out, "^floor")
    s, c = pair([], ["-cn", 60, "--floor"])
    has("in cycles", c.out, r"^floor: stamp \d+\.\d cycles,")


# ---- idle and under load

@case("--load: idle and loaded side by side, slower where the wire is full", quick=True)
def load():
    _, doc = documents([], ["-n", 100, "--load", "2Gb/s"], spec="soft0:bw=1Gb/s")
    idle, loaded = doc["results"]
    equal("which is which", (idle["loaded"], loaded["loaded"], idle["size"]), (False, True, loaded["size"]))
    equal("load of the idle one", idle["load_gbit_s"], None)
    between("load", loaded["load_gbit_s"], 0.001, 1.05)
    true(f"medians: {idle['median_usec']} idle, {loaded['median_usec']} loaded",
         loaded["median_usec"] > 3 * idle["median_usec"])


@case("--load in the table: a row each, and both in one line")
def load_text():
    _, c = pair([], ["-n", 60, "-s", "8,64", "--load", "2Gb/s"], spec="soft0:bw=1Gb/s")
    rows = re.findall(r"^ +(\d+)([* ]) +60 +60 ", c.out, re.M)
    equal("rows", rows, [("8", " "), ("8", "*"), ("64", " "), ("64", "*")])
    for size in 8, 64:
        found = re.search(rf"^{size} bytes under load of (\S+) Gb/s: median (\S+) usec idle, (\S+) loaded \((\S+) x\); "
                          r"mean \S+ idle, \S+ loaded \(\S+ x\)$", c.out, re.M)
        true(f"line of {size} bytes in {c.out}", found)
        _, a, b, times = map(float, found.groups())
        between("how many times", times / (b / a), 0.98, 1.02)


# ---- expectations

EXPECTATIONS = [
    # client, server, exit codes of server and client, lines of the client
    (["median>1us", "p99<10s", "max >= 1 ns", "lost<=0", "median>1000cycles"], [], (0, 0), []),
    (["median>1us", "p99<1us", "max<1ns"], [], (0, 3),
     [r"p99<1us: p99_usec is \S+ \(8 bytes\)", r"max<1ns: max_usec is \S+ \(8 bytes\)"]),
    (["p99_9<10s"], [], (0, 3), [r"p99_9<10s: p99_9_usec was not measured \(8 bytes\)"]),
    ([], ["median<1us"], (3, 0), []),
    (["median<1us"], ["median<1us"], (3, 3), [r"median<1us: median_usec is \S+ \(8 bytes\)"]),
]


def options(expectations):
    return [w for e in expectations for w in ("--expect", e)]


@table("--expect {0}, server {1}: exit codes {2}", EXPECTATIONS, quick=True)
def expectations(of_client, of_server, codes, lines):
    s, c = pair(options(of_server), ["-n", 120, *options(of_client)], spec="soft0:delay=200us", codes=codes)
    check_missed(c, lines)
    full_table(c.out)
    equal("lines of the server", s.err.count("expected "), len(of_server))


def check_missed(c, lines, program="rdma_lat"):
    said = re.findall(r"^\S+: warning: expected (.*)$", c.err, re.M)
    true(f"lines {said}", len(said) == len(lines) and all(re.fullmatch(p, s) for p, s in zip(lines, said)))
    n = len(lines)
    equal("the last line", messages(c),
          [f"{program}: {n} expectation{'s were' if n > 1 else ' was'} not met"] if n else [])


@case("--expect of every size, after the table; the JSON has the reason")
def expect_sizes():
    need_softverbs()
    with tempfile.TemporaryDirectory() as folder:
        s = server(spec="soft0:delay=200us")
        text, code = together(s, "-n", 30, "-s", "8,64", "--expect", "median<1us", f"--json={folder}/j",
                              spec="soft0:delay=200us")
        equal("exit codes", (code, s.wait()), (3, 0))
        with open(f"{folder}/j") as f:
            doc = json.load(f)
    in_turn("output", text, "^ +bytes ", r"expected median<1us: .* \(8 bytes\)$",
            r"expected median<1us: .* \(64 bytes\)$", "2 expectations were not met$")
    has("error in the JSON", doc["error"]["text"], "2 expectations were not met")
    equal("results", len(doc["results"]), 2)


@table("--expect on bandwidth: {0}: exit code {1}",
       [(["avg>0.5Gb/s", "avg<2Gb/s", "avg>60MB/s", "msg_rate>500/s", "lost<=0"], 0, []),
        (["avg>90Gb/s", "msg_rate<1/s"], 3, [r"avg>90Gb/s: avg_gbit_s is 0\.\d+ \(65536 bytes\)",
                                            r"msg_rate<1/s: msg_rate_per_s is \d\S+ \(65536 bytes\)"])])
def expect_bandwidth(expect, code, lines):
    need_softverbs()
    spec = "soft0:bw=1Gb/s"
    _, c = pair([], ["-D", "300ms", *options(expect)], spec=spec, codes=(0, code), program="send_bw")
    check_missed(c, lines, "send_bw")


@table("--expect {1!r} is misuse of {0}, before anything is done",
       [("rdma_lat", e) for e in ("median", "median<", "<5us", "median=5us", "median<5xs", "medain<5us", "median<5Gb/s",
                                  "loaded<1")] + [("rdma_bw", "median<5us"), ("rdma_bw", "avg<5us")], device=False)
def expect_misuse(program, expect):
    for role in [], ["127.0.0.1"]:
        p = start(["--expect", expect, *role], plain=True, program=program)
        equal("exit code", p.wait(10 * SLOW), 2)
        one_message("misuse", p, rf"--expect {re.escape(expect)}: ")


# ---- interval lines

LINE = r"^interval (\d+): (\d+\.\d{3}) s, (\d+) laps, usec, median (\S+), p99 (\S+), p99\.9 (\S+), max (\S+)$"


def check_lines(text, result, least):
    lines = re.findall(LINE, text, re.M)
    equal(f"lines in {text}", [int(x[0]) for x in lines], list(range(1, len(lines) + 1)))
    true(f"{len(lines)} lines", len(lines) >= least)
    equal("laps of all lines", sum(int(x[2]) for x in lines), result["iterations"])
    true("each has laps", all(int(x[2]) > 0 for x in lines))
    between("the largest of all", max(float(x[6]) for x in lines) / result["max_usec"], 0.99, 1.01)
    medians = [float(x[3]) for x in lines]
    true("the median lies among theirs", min(medians) * 0.99 <= result["median_usec"] <= max(medians) * 1.01)
    return sum(float(x[1]) for x in lines)


@table("--interval: the lines' laps are all that the run has: {0} {1}",
       [("rdma_lat", []), ("rdma_lat", ["--warmup", 0]), ("send_lat", ["--gap", "100us"]), ("read_lat", [])],
       quick=True)
def interval(program, args):
    need_softverbs()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        _, c = pair([], ["-D", "600ms", "--interval", "100ms", *args, f"--json={folder}/j"], spec="soft0:delay=100us",
                    program=program)
        took = time.monotonic() - begun
        with open(f"{folder}/j") as f:
            r = json.load(f)["results"][0]
    between("seconds of the lines", check_lines(c.out, r, 3), 0.5, took)
    in_turn("output", c.out, "^interval 1:", "^interval 2:", "^ +bytes ")


@case("a line is of its own interval, and not of the run so far")
def interval_alone():
    need_softverbs()
    _, c = pair([], ["-D", "900ms", "--interval", "150ms", "--warmup", 0],
                client_spec="soft0:delay=steps(0:200us|60:20ms)", server_spec="soft0")
    last = re.findall(LINE, c.out, re.M)[-1]
    true(f"the last one, of laps of 10 ms: {last}", float(last[3]) > 9500)
    # More than half of all were before.
    has("the run", c.out, r"^ +8 +\d+ +\d+ +\d+\.\d+ +\d{2,4}\.\d+ ")


@case("--interval in cycles, and on stderr where the document has stdout")
def interval_elsewhere():
    s, c = pair([], ["-c", "-D", "300ms", "--interval", "100ms", "--json"], spec="soft0:delay=100us")
    equal("error", json.loads(c.out)["error"], None)
    has("stderr", c.err, r"^interval 1: \S+ s, \d+ laps, cycles, median \d+\.\d+, ")


@table("--run-infinitely ends by {1} at the {0}, with all laps and exit code 0",
       [("client", "SIGINT"), ("server", "SIGTERM")], quick=True)
def infinite(which, name):
    need_softverbs()
    with tempfile.TemporaryDirectory() as folder:
        s = server(f"--json={folder}/s", spec="soft0:delay=100us")
        c = client(s, "--run-infinitely", "--interval", "100ms", f"--json={folder}/c", spec="soft0:delay=100us")
        end = time.monotonic() + 20 * SLOW
        while c.out.count("\ninterval ") < 4 and time.monotonic() < end:
            time.sleep(0.05)
        true("lines come while it runs", c.out.count("\ninterval ") >= 4 and c.code is None)
        (c if which == "client" else s).kill(getattr(signal, name))
        equal("exit codes", (c.wait(10 * SLOW), s.wait(10 * SLOW)), (0, 0))
        docs = {}
        for end in "cs":
            with open(f"{folder}/{end}") as f:
                docs[end] = json.load(f)["results"][0]
    check_lines(c.out, docs["c"], 4)
    equal("laps of the server", docs["s"]["iterations"], docs["c"]["iterations"])
    full_table("\n".join(line for line in c.out.splitlines() if not line.startswith("interval ")))


# ---- the clock's certificate

def check_clock(k):
    true(f"rates: {k}", k["hz_before"] > 1e6 and k["hz_after"] > 1e6)
    apart = abs(k["hz_after"] / k["hz_before"] - 1) * 1e6
    true(f"{k['between_ppm']} ppm between them, not {apart}", abs(k["between_ppm"] - apart) < 1e-3)
    between("the rate that is used, against them", k["hz"] / k["hz_before"], 0.99, 1.01)
    true("invariant is yes, no or unknown", k["invariant"] in (True, False, None))
    true("cost and step of a stamp", k["read_ns"] > 0 and k["resolution_ns"] > 0)
    true("it says why", k["source"] and k["why"])


@table("the clock's certificate, on both ends of {0} {1}",
       [("rdma_lat", ["-n", 50]), ("read_lat", ["-n", 50]), ("send_bw", ["-n", 50]), ("rdma_lat", ["-D", "200ms"])])
def certificate(program, args):
    a, b = documents([], args, program=program)
    for doc, other in (a, b), (b, a):
        check_clock(doc["local"]["clock"])
        equal("the peer's clock as the peer has it", doc["remote"]["clock"], other["local"]["clock"])


@case("the certificate in the text; of clock_gettime nothing is measured, and none is claimed")
def certificate_text():
    s, c = pair(["--clock=gettime", "--json"], ["-n", 50])
    has("text", c.out, r"^  clock:  \S+ \d+\.\d{3} MHz \+/- \d+\.\d ppm, (trusted|NOT TRUSTED): .*\n"
                       r"          \d+\.\d{3} MHz before the run, \d+\.\d{3} MHz after it, \d+\.\d ppm apart; "
                       r"invariant: (yes|no|the CPU does not say); a stamp costs \d+ ns, steps by \d+ ns$")
    k = json.loads(s.out)["local"]["clock"]
    equal("not measured", [k[w] for w in ("hz_before", "hz_after", "between_ppm", "invariant")], [None] * 4)
    equal("source, rate", (k["source"], k["hz"]), ("gettime", 1e9))


@case("clock_test has the same certificate", device=False)
def clock_test():
    # On one CPU it is quick: nothing is handed from one to another.
    p = start(["--json"], plain=True, program="clock_test", before=["taskset", "-c", str(min(os.sched_getaffinity(0)))])
    true("exit code", p.wait() in (0, 1))
    k = json.loads(p.out)["clock"]
    check_clock(k)
    equal("calibrations", k["calibrations"], 10)


if __name__ == "__main__":
    main()
