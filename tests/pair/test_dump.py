#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--dump: one file with all that both ends measured, or none; the device's time in it."""
import contextlib
import json
import os
import resource
import signal
import subprocess
import tempfile
import time

from dumps import Dump, analysed, lat_stats
from ends import running_pair
from output import Report, full_table
from pair import (LAB, LINKED, SLOW, Skip, case, client, equal, has, main, messages, need_softverbs,
                  one_message, pair, server, start, table, true)

PAIRS = ["rdma_lat", "send_lat"]


def blocks(p):
    return [[[int(v) for v in row] for row in b.rows] for b in Report(p.out).blocks]


@contextlib.contextmanager
def both_dumped(*client_args, program="rdma_lat", server_args=(), **more):
    """The ends of a run in which both write a dump and print their samples in cycles; the dumps."""
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/{end}.dump" for end in ("server", "client")]
        ends = pair(["-cU", "--dump", files[0], *server_args],
                    ["-cU", "--dump", files[1], f"--json={folder}/json", *client_args],
                    program=program, **more)
        with open(f"{folder}/json") as f:
            yield *ends, *map(Dump, files), json.load(f)


# ---- what is in it

SAME = [("rdma_lat", []), ("send_lat", []), ("send_lat", ["--transport", "UD"]), ("rdma_lat", ["--imm"]),
        ("rdma_lat", ["--full-rtt"]), ("rdma_lat", ["--warmup", 0]), ("rdma_lat", ["--warmup", 7]),
        ("rdma_lat", ["-s", "1,64,4k"]), ("rdma_lat", ["--clock=gettime"])]


@table("both ends' samples, as -U of each end has them, in both files: {0} {1}", SAME)
def same_samples(program, args):
    with both_dumped("-n", 60, *args, program=program) as (s, c, sd, cd, doc):
        for role, p in ("server", s), ("client", c):
            shown = blocks(p)
            for n, (rows, result) in enumerate(zip(shown, doc["results"])):
                series = cd.of(role)[n]
                divisor = 2 if result["latency_kind"] == "half_rtt" else 1
                equal(f"{role}'s samples", [v // divisor for v in series.samples], [r[1] for r in rows])
                equal("laps, warm-up with them", (series.laps, series.warmup),
                      (result["iterations"] + result["warmup"], result["warmup"]))
                equal("size, kind, run", (series.size, series.latency_kind, series.run),
                      (result["size"], result["latency_kind"], 1))
            equal("series of an end", len(cd.of(role)), len(shown))
            for a, b in zip(sd.of(role), cd.of(role)):
                equal(f"{role} in both files", vars(a), vars(b))


@table("READ and atomics: the client alone has laps: {0} {1}",
       [("read_lat", ["-s", "8,64"]), ("atomic_lat", ["--runs", "2,2"])])
def alone(program, args):
    with both_dumped("-n", 60, *args, program=program) as (_, c, sd, cd, _):
        for d in sd, cd:
            equal("series", [s.role for s in d.series], ["client"] * 2)
            equal("samples", [s.samples for s in d.series], [[r[1] for r in rows] for rows in blocks(c)])


@case("warm-up laps are in it, before the measured ones", quick=True)
def warmup():
    with both_dumped("-n", 30, "--warmup", 12) as (_, _, _, d, _):
        for s, more in (d.of("client")[0], 1), (d.of("server")[0], 0):
            equal("stamps, laps, warm-up", (len(s.post), s.laps, s.warmup), (42 + more, 42, 12))
            equal("in order", s.post, sorted(s.post))


@case("every run and size is a series, with its run's number")
def all_runs():
    with both_dumped("-n", 20, "-s", "8,64", "--runs", "3,3") as (_, _, _, d, _):
        for role in "client", "server":
            equal(f"series of the {role}", [(s.size, s.run) for s in d.of(role)],
                  [(size, run) for size in (8, 64) for run in (1, 2, 3)])


@case("a run by time keeps every lap for it")
def by_time():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x"
        s, c = pair(["--json"], ["--json", "-D", "50ms", "--dump", path])
        d = Dump(path, check=False)
        for p in s, c:
            doc = json.loads(p.out)
            equal("samples", len(d.of(doc["role"])[0].samples), doc["results"][0]["samples"])
    true("a run of some length", len(d.series[0].post) > 20)


@case("--detail: seen, gap and CPU of every lap, as -U has them", quick=True)
def detail():
    with both_dumped("-n", 60, "--detail") as (s, c, _, d, _):
        for p, role in (c, "client"), (s, "server"):
            x = d.of(role)[0]
            rows = blocks(p)[0]
            # A server's sample ends with the answer to the next lap: what it waited for is that one.
            own = x.warmup + (role == "server")
            laps = range(own, own + len(rows))
            waits = [x.seen[k] - x.post[k - (role == "server")] for k in laps]
            equal(f"{role}: post to seen", [r[2] for r in rows], waits)
            equal(f"{role}: longest gap", [r[3] for r in rows], [x.gap[k] for k in laps])
            equal(f"{role}: lengths", (len(x.seen), len(x.gap), len(x.device)), (x.laps, x.laps, 0))
            true(f"{role}: a gap is within its wait", all(g <= w for g, w in zip((x.gap[k] for k in laps), waits)))
            true(f"{role}: CPUs", all(v & 0xffffffff < os.cpu_count() for v in x.cpu))
            turns = zip(x.seen, x.post) if role == "server" else zip(x.post, x.seen)
            order = [t for lap in turns for t in lap]
            equal(f"{role}: posts and sights in turns", order, sorted(order))


def rounded(facts):
    """Documents have 15 digits."""
    return json.loads(json.dumps(facts), parse_float=lambda text: f"{float(text):.12g}")


@case("its header says who, where, by which clock; it is the clock of the report")
def header():
    with both_dumped("-n", 200) as (_, _, sd, cd, doc):
        for h in sd.header, cd.header:
            equal("form", [h[k] for k in ("unit", "halved", "bits", "byte_order")], ["counter", False, 64, "little"])
            equal("program", h["program"], "rdma_lat")
            for end, facts in ("client", doc["local"]), ("server", doc["remote"]):
                equal(f"facts of the {end}", rounded(h[end]), rounded(facts))
                true("rates before and after the run", h[end]["clock"]["hz_before"] and h[end]["clock"]["hz_after"])
        equal("settings", cd.header["settings"]["iters"], 200)


@case("lat_stats says of it what the report said")
def same_figures():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x"
        s, c = pair(["--json"], ["--json", "-n", 1000, "--dump", path])
        told = analysed(path)
    for p in s, c:
        doc = json.loads(p.out)
        a, b = doc["results"][0], told[doc["role"]]["results"][0]
        for key in "samples", "min_usec", "median_usec", "mean_usec", "p99_usec", "max_usec", "max_at":
            true(f"{doc['role']}: {key} {a[key]}, by lat_stats {b[key]}", abs(a[key] - b[key]) <= 1e-9 * a[key])


# ---- all of it or nothing

def damaged(data, at):
    out = bytearray(data)
    out[at] ^= 4
    return bytes(out)


@case("a file that was changed, cut short or added to is found out", quick=True)
def integrity():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x.dump"
        pair([], ["-n", 40, "--dump", path])
        equal("as it was written", lat_stats(path)[0], 0)
        with open(path, "rb") as f:
            good = f.read()
        size = Dump(path).at * 8  # to the checksum
        bad = {f"a bit of byte {at}": damaged(good, at) for at in (size - 1, size - 500, size + 3, 300)}
        bad.update({"the last word gone": good[:-8], "half of it": good[:len(good) // 2],
                    "empty words": good + bytes(16)})
        for what, data in bad.items():
            with open(path, "wb") as f:
                f.write(data)
            code, out, err = lat_stats(path)
            equal(f"{what}: exit code, stdout, lines on stderr", (code, out, len(err.splitlines())), (2, "", 1))
            has(what, err, "x.dump")


@case("a new dump takes an old one's place; a run that never began leaves it", quick=True)
def over_old():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x.dump"
        pair([], ["-n", 20, "--dump", path])
        pair([], ["-n", 30, "--dump", path])
        d = Dump(path)
        equal("samples of the second", len(d.of("client")[0].samples), 30)
        equal("files", os.listdir(folder), ["x.dump"])
        c = start(["--connect-timeout", "100ms", "-p", 1, "--dump", path, "127.0.0.1"])
        true("it fails", c.wait() in (4, 6))
        equal("what is there still", Dump(path).words, d.words)
        equal("files", os.listdir(folder), ["x.dump"])


@case("a run that the server's death ends leaves the client's laps, whole")
def partial():
    need_softverbs()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x.dump"
        s, c = running_pair(client_args=["-n", 5000, "--dump", path], spec="soft0:delay=1ms")
        s.kill()
        equal("exit code when the server is killed", c.wait(20 * SLOW), 4)
        d = Dump(path)
        equal("series", [x.role for x in d.series], ["client"])
        true(f"laps: {d.series[0].laps}", 10 < d.series[0].laps < 5000)
        equal("files", os.listdir(folder), ["x.dump"])


@case("a name that cannot be written is one line; the table is there, the server has its own")
def no_place():
    with tempfile.TemporaryDirectory() as folder:
        for path in "/nowhere/x.dump", folder, "/dev/full":
            s, c = pair(["--dump", f"{folder}/s"], ["-n", 20, "--dump", path], codes=(0, 1))
            full_table(c.out)
            one_message(path, c, f"writing {path}: ")
            Dump(f"{folder}/s")
            equal("files", os.listdir(folder), ["s"])


# On a disk of 64 KiB that is there for one command; what is left on it is told at the end.
ON_SMALL_DISK = """mount -t tmpfs -o size=64k none "$0" || exit 77
echo old >"$0/x.dump"
"$@"
code=$?
ls -A "$0" | sed 's/^/LEFT /' >&2
cat "$0/x.dump" >&2
exit $code"""


def plain_build():
    if LINKED or LAB:
        raise Skip("the plain build on softverbs shows it")


def private_mounts():
    """A command line that gives mounts of its own to another one."""
    for words in ["unshare", "-m"], ["unshare", "-rm"]:
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(FileNotFoundError):
            if not subprocess.run([*words, "mount", "-t", "tmpfs", "none", folder], capture_output=True).returncode:
                return words
    raise Skip("no mounts of our own")


@table("a full disk under the {0}: one line, the old file, no half one", [("client",), ("server",)])
def full_disk(which):
    plain_build()
    with tempfile.TemporaryDirectory() as folder:
        small = {"before": [*private_mounts(), "sh", "-c", ON_SMALL_DISK, folder]}
        dump = ["--dump", f"{folder}/x.dump"]
        s = server(*(dump if which == "server" else []), **(small if which == "server" else {}))
        c = client(s, "-n", 20000, *(dump if which == "client" else []), **(small if which == "client" else {}))
        victim, other = (c, s) if which == "client" else (s, c)
        equal("exit codes", (victim.wait(), other.wait()), (1, 0))
        full_table(victim.out)
        equal("what is said and left", [line.partition(": ")[2] or line for line in messages(victim)],
              [f"writing {folder}/x.dump: No space left on device", "LEFT x.dump", "old"])


@case("a limit on the size of files is a full disk")
def size_limit():
    plain_build()
    with tempfile.TemporaryDirectory() as folder:
        s, c = running_pair(client_args=["-D", "2s", "--dump", f"{folder}/x.dump"])
        resource.prlimit(c.pid, resource.RLIMIT_FSIZE, (100000, 100000))
        equal("exit codes", (c.wait(), s.wait()), (1, 0))
        has("stderr", c.err, f"writing {folder}/x.dump: File too large$")
        equal("files", os.listdir(folder), [])


# ---- --hw-timestamps

def hardware(folder, program, *args, n=400, **more):
    """The dump of a run with the device's time."""
    path = f"{folder}/x.dump"
    pair([], ["--detail", "--hw-timestamps", "-n", n, "--dump", path, *args], program=program, **more)
    return path


@table("the device's time of every lap, never backwards: {0} {1}",
       [("send_lat", []), ("rdma_lat", ["--imm"]), ("read_lat", []), ("atomic_lat", [])])
def device_column(program, args):
    need_softverbs()
    with tempfile.TemporaryDirectory() as folder:
        path = hardware(folder, program, *args, n=2000)
        d, told = Dump(path, check=False), analysed(path)
    equal("ends", [s.role for s in d.series], ["client", "server"] if program in PAIRS else ["client"])
    for s in d.series:
        f = told[s.role]
        equal("values", len(s.device), s.laps)
        equal("in order", s.device, sorted(s.device))
        true("not all the same", s.device[0] < s.device[-1])
        equal("laps with a known time", f["device"]["laps"], f["results"][0]["samples"])
        # softverbs' clock is in ns.
        true(f"rate of the device's clock: {f['device']['clock_hz']}", abs(f["device"]["clock_hz"] / 1e9 - 1) < 0.01)
        true("late by no more than a lap",
             0 <= f["device"]["late_median_usec"] <= 2 * f["results"][0]["median_usec"])


@case("without --hw-timestamps there is no device's time, and none is told")
def device_absent():
    with both_dumped("-n", 200, "--detail") as (_, _, _, d, _):
        equal("columns", [s.device for s in d.series], [[], []])
    with tempfile.TemporaryDirectory() as folder:
        pair([], ["-n", 200, "--detail", "--dump", f"{folder}/x"])
        for f in analysed(f"{folder}/x").values():
            equal("device", (f["device"], {h["device"] for h in f["hiccups"]} - {None}), (None, set()))


def sides(path, role, least_usec):
    """Sample and side of the device's completion of what is that much over its level."""
    found = analysed("--hiccup", 2, path)[role]["hiccups"]
    return {h["lap"]: h["device"] for h in found if h["excess_usec"] > least_usec}


SPIKES = range(100, 500, 60)  # laps, from 1


@case("what the wire held up lies before the device's completion, on both ends")
def held_up_by_wire():
    need_softverbs()
    # The first is lap 0 there.
    steps = "|".join(f"{n - 1}:100ms|{n}:500us" for n in SPIKES)
    with tempfile.TemporaryDirectory() as folder:
        path = hardware(folder, "send_lat", "--warmup", 0, n=520, client_spec=f"soft0:delay=steps(0:500us|{steps})",
                        server_spec="soft0:delay=500us")
        # A half of it is in the sample; the server's is the one before.
        for role, ahead in ("client", 0), ("server", 1):
            found = sides(path, role, 30000)
            got = [found.get(n - ahead) for n in SPIKES]
            true(f"{role}: {got}", got.count("before") >= len(SPIKES) - 1)


@case("what a stopped client held up lies after its device's completion, and before the server's")
def held_up_by_host():
    need_softverbs()
    stops = 6
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x.dump"
        # The client's message is there at once, and it waits for the answer when it is stopped.
        s = server("-v", spec="soft0:delay=2ms", program="send_lat")
        c = client(s, "-v", "--detail", "--hw-timestamps", "-n", 1000, "--warmup", 0, "--dump", path,
                   program="send_lat")
        c.wait_err("stage ready$")
        time.sleep(0.5)  # what is told as a start-up has no hiccups
        for _ in range(stops):
            time.sleep(0.05)
            c.kill(signal.SIGSTOP)
            time.sleep(0.15)
            c.kill(signal.SIGCONT)
        equal("exit codes", (c.wait(), s.wait()), (0, 0))
        for role, side in ("client", "after"), ("server", "before"):
            got = list(sides(path, role, 50000).values())
            true(f"{role}: {got}", got.count(side) >= stops - 2)
        true("late at the most", analysed(path)["client"]["device"]["late_max_usec"] > 100000)


if __name__ == "__main__":
    main()
