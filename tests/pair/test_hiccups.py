#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Planted truth for lat_stats: what it finds in a dump is what softverbs planted, in its place.

Both ends trace their work requests (see test_truth.py), and a lap of a ping-pong falls into six
parts, each of which the trace knows:

    out     the client's request, from its post until it was due
    posted  the client's CPU came late to let it take effect
    seen    from there to the server's post: its CPU saw late
    back    the server's request
    posted  the server's CPU came late
    seen    the client's

so that a hiccup's place and length are known whoever caused it. A planted one with which the laps
around it had nothing else to do counts; one beside which the trace shows a step that is late by
over REST of it, or where the thread of an end that has nothing to do with it was switched out, is
left out, and counted as such. Single stamps cannot tell a request that was posted late from one
that was long under way: a stall in the client's post has the pair of the way out. The CPU that is
taken away while an end waits has its own pair.
Turns whose trace says that the machine disturbed more than a third of the laps say nothing. The
others, a bounded number, plant at least 100 hiccups of each sort, of which 80 have to count, and
98 % of those to be told rightly.
"""
import bisect
import collections
import contextlib
import json
import math
import os
import random
import re
import statistics
import subprocess
import tempfile
import threading
import time

import pair
from pair import BUILD, Fail, Skip, case, equal, main, true
import test_truth
from test_truth import (End, KINDS, LATE, MOST_LATE, TURNS, base, close, need_time, tolerance)

pair.CASES.clear()  # those of test_truth.py
os.environ["SOFTVERBS_FABRIC"] = f"hiccups{os.getpid()}"

PING_PONGS = [k for k in KINDS if k.ways == 2]
PLANTED = 100  # hiccups of a sort
COUNTED = 80  # of them, or of more than those
RIGHT = 0.98
REST = 0.1  # of a hiccup's length: what else may be late in the laps around it
LATE_HICCUP = 10.0  # us; a stall leaves laps behind it that are a little late
LONGEST = 450.0  # us; softverbs' helper thread leaves a delay of half a millisecond to the program
LEVEL = 0.25  # of a hiccup's length: the level that it is told over has lateness in it, too
AROUND = 32  # laps before and after, of which the machine must have left most alone
STEADY = 0.25  # us over the median: a step that is as late as most are

OUT, POSTED, SERVER_SEEN, BACK, SERVER_POSTED, SEEN = range(6)
WHERE = ("out", "client", "server", "back", "server", "client")
STAMPS = ("out_or_server",) * 3 + ("back_or_client",) * 3
CPU = {"client": (POSTED, SEEN), "server": (SERVER_POSTED, SERVER_SEEN)}
CPUS = POSTED, SERVER_SEEN, SERVER_POSTED, SEEN


# ---- a run, its trace, and what lat_stats says

def lat_stats(*files):
    """By role: what is said of the samples of that end."""
    p = subprocess.run([f"{BUILD}/bin/lat_stats", "--json", *files], text=True, capture_output=True,
                       timeout=30)
    equal(f"exit code of lat_stats ({p.stderr})", p.returncode, 0)
    return {f["role"]: f for f in json.loads(p.stdout)["files"]}


class Run:
    """A pair with a dump. Samples count from 1, as lat_stats has it; laps from 0, with warm-up."""
    def __init__(self, kind, specs, laps, args=(), detail=False, beside=contextlib.nullcontext()):
        with tempfile.TemporaryDirectory() as folder:
            dump, trace = f"{folder}/dump", f"{folder}/trace"
            args = ["-U", "-n", laps, "--dump", dump, *(["--detail"] if detail else []), *args]
            with beside as self.beside:
                processes = test_truth.run(kind, [f"soft0:{s},trace={trace}" for s in specs], args)
            self.client, self.server = (End(kind, p, trace) for p in processes)
            self.told = lat_stats(dump)
            self.stamps = lat_stats(*self.single_stamps(folder, processes)) if detail else None
        self.warmup = self.client.warmup
        for end in self.client, self.server:
            equal("work requests in the trace", len(end.wr), self.warmup + laps)
        self.laps = list(zip(self.client.wr, self.server.wr))
        self.parts = [self.parts_of(*lap, *after)
                      for lap, after in zip(self.laps, self.laps[1:] + [(None, None)])]
        self.typical = [median(p[i] for p in self.measured()) for i in range(6)]

    @staticmethod
    def single_stamps(folder, processes):
        """The text of both ends, without what --detail adds to a row."""
        for name, p in zip(("client", "server"), processes):
            with open(f"{folder}/{name}", "w") as f:
                f.write(re.sub(r"^(#|\d+)(, [^,\n]+), .*$", r"\1\2", p.out, flags=re.M))
            yield f"{folder}/{name}"

    @staticmethod
    def parts_of(c, s, after, _):
        return (c.due - c.post, c.at - c.due, s.post - c.at, s.due - s.post, s.at - s.due,
                after.post - s.at if after else 0)

    def measured(self):
        return self.parts[self.warmup:]

    def late(self, us, laps=slice(None)):
        """Share of laps in which a CPU was late by more than that."""
        late = [max(p[i] for i in CPUS) > us for p in self.measured()[laps]]
        return sum(late) / len(late)

    def spans(self, role):
        """From post to post, halved, of each sample; the client's last ends with its answer."""
        posts = [(c if role == "client" else s).post for c, s in self.laps[self.warmup:]]
        if role == "client":
            posts.append(self.laps[-1][1].at)
        return [(b - a) / 2 for a, b in zip(posts, posts[1:])]

    def between(self, a, b):
        """From one sample to another: how many the machine let alone, and how many not."""
        laps = self.measured()[min(a, b) - 1:max(a, b) - 1]
        late = sum(max(p[i] for i in CPUS) > LATE for p in laps)
        return len(laps) - late, late

    def number(self, role, lap, part):
        """The sample in which that part of a lap lies."""
        return lap - self.warmup + (1 if role == "client" or part >= BACK else 0)


def quiet_run(*args, most_late=MOST_LATE, laps=slice(None)):
    """The first one whose trace says that the machine let most of these laps alone."""
    late = []
    for n in range(TURNS):
        run = Run(*args)
        late.append(run.late(LATE, laps))
        if late[-1] <= most_late:
            print(f"# turn {n + 1} of at most {TURNS}: {late[-1]:.1%} of the laps over {LATE:g} us "
                  "late")
            return run
        time.sleep(0.2 * n)  # for what else is running to go by
    raise Fail(f"in each of {TURNS} turns more than {most_late:.0%} of the laps were over {LATE:g} "
               "us late in the trace (" + ", ".join(f"{s:.0%}" for s in late) + "): the machine is "
               "too busy")


def ends(run):
    return [(r, run.told[r], run.spans(r)) for r in ("client", "server")]


def programs(title, rows=((),)):
    """A case for each program and row."""
    def with_rows(function):
        for kind in PING_PONGS:
            for row in rows:
                case(f"{kind.name}: " + title.format(*row), args=(kind, *row))(
                    lambda *a: (need_time(), function(*a)))
        return function
    return with_rows


# ---- distribution, changes, periods

def median(values):
    return statistics.median(values)


def p99(values):
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


def near(what, got, want):
    close(what, got, want, tolerance(want))


def check_measured(run):
    """All samples against the time from post to post in the trace."""
    for role, told, spans in ends(run):
        got = told["results"][0]
        equal(f"{role}: samples", got["samples"], len(spans))
        near(f"{role}: median", got["median_usec"], median(spans))
        # A CPU that was lost between a stamp and its post moves a sample over the p99, or under it.
        ranked = sorted(spans)
        at = math.ceil(0.99 * len(spans)) - 1
        low, high = ranked[at - 1], ranked[at + 1]
        true(f"{role}: p99 {got['p99_usec']:.3f} us, in the trace {ranked[at]:.3f}",
             low - tolerance(low) <= got["p99_usec"] <= high + tolerance(high))


def check_planted(run, without):
    """Those of samples that no lateness is in, less the device's own time, against the draws."""
    for role, end in ("client", run.client), ("server", run.server):
        samples, planted = [], []
        for j, x in enumerate(end.samples[1:-1], 2):
            i = run.warmup + j - 1
            before, lap, after = run.parts[i - 1:i + 2]
            ways = (lap[OUT] if role == "client" else after[OUT]) + lap[BACK]
            if all(p[k] <= run.typical[k] + STEADY for p in (before, lap, after) for k in CPUS):
                samples.append(x)
                planted.append(ways / 2)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write("#, usec\n" + "".join(f"{k}, {x:.4f}\n" for k, x in enumerate(samples, 1)))
            f.flush()
            got = lat_stats(f.name)["unknown"]["results"][0]
        for name, function in ("median", median), ("p99", p99):
            us, want = got[f"{name}_usec"], function(planted)
            print(f"# {role}: {name} of {len(samples)} undisturbed samples {us:.3f} us, planted "
                  f"{want:.3f}, without a delay {without:.3f}")
            near(f"{role}: {name} of undisturbed samples less {without:.3f} us without a delay",
                 us - without, want)


@programs("median and p99 of {0} are those of the trace",
     [("delay=20us",), ("delay=uniform(5us,50us)",), ("delay=exp(20us)",)])
def distribution(kind, spec):
    without = base(kind)
    run = quiet_run(kind, [f"{spec},seed=1", f"{spec},seed=2"], 1500)
    check_measured(run)
    check_planted(run, without)


@programs("a step at work request 900 is a change point within 3 laps")
def steps(kind):
    run = quiet_run(kind, ["delay=steps(0:10us|900:40us)", "delay=10us"], 1800,
                    most_late=0.15, laps=slice(700, 800))  # late laps before it would move it
    for role, told, spans in ends(run):
        at = run.number(role, 900, OUT)
        # The machine's own changes are small beside the 30 us that are planted, halved.
        found = [c for c in told["change_points"] if run.between(c["lap"], at)[0] <= 3
                 and c["after_usec"] - c["before_usec"] > 7]
        equal(f"{role}: changes within 3 laps of {at}: {told['change_points']}", len(found), 1)
        near(f"{role}: before", found[0]["before_usec"], median(spans[at - 201:at - 1]))
        near(f"{role}: after", found[0]["after_usec"], median(spans[at - 1:at + 199]))
        for c in told["change_points"]:
            about = spans[max(c["lap"] - 50, 0):c["lap"] + 50]
            small = abs(c["after_usec"] - c["before_usec"]) < 2  # the machine's own
            true(f"{role}: a change that is none: {c}", c in found or small or max(about) > 25 + LATE)


@programs("4 of every 32 laps: a period within 1 %, and the share")
def periodic(kind):
    run = quiet_run(kind, ["delay=uniform(8us,12us)+periodic(32,4,60us)", "delay=10us"], 5000)
    for role, told, spans in ends(run):
        true(f"{role}: no period", told["periods"])
        # There may be others: the machine has some, and so have the writes of the trace.
        got = min(told["periods"], key=lambda p: abs(p["laps"] - 32))
        close(f"{role}: laps of the period", got["laps"], 32, 0.32)
        want = 2 * 32 * statistics.fmean(spans[told["startup"]["laps"]:])  # sought behind it
        close(f"{role}: time of the period", got["usec"], want, 0.01 * want)
        close(f"{role}: half of the delay", got["amplitude_usec"], 30, 0.05 * 30)
        close(f"{role}: share of the samples", got["share"], 4 / 32, 0.1 * 4 / 32)
        equal(f"{role}: it follows the laps", got["by"], "lap")


@programs("a start-up of 200 laps is so long, and 25 us slower")
def startup(kind):
    run = quiet_run(kind, ["delay=steps(0:60us|200:10us)", "delay=10us"], 2000, ["--warmup", 0],
                    most_late=0.15, laps=slice(200, 300))  # late laps behind it would lengthen it
    equal("warm-up", run.warmup, 0)
    for role, told, spans in ends(run):
        want, got = run.number(role, 200, OUT) - 1, told["startup"]["laps"]
        # A late lap right behind it belongs to it, and makes up for some that are not late.
        steady, late = run.between(got + 1, want + 1)
        true(f"{role}: {got} laps of start-up, planted {want}; {late} late ones between",
             steady - 2 * late <= 3)
        want = median(spans[:want]) - median(spans[len(spans) // 2:])
        near(f"{role}: slower by", told["startup"]["excess_usec"], want)
        close(f"{role}: half of what was planted", want, 25, 2.5)


# ---- hiccups

class Tally:
    """Of a sort of hiccup: how many counted, how many were left out, what was told wrongly."""
    def __init__(self):
        self.counted = self.left_out = 0
        self.told = {"detail": [0, 0, []], "stamps": [0, 0, []]}  # rightly, all, the others

    def take(self, how, where, got, want, excess, tell):
        ok = (got and got["where"] == where and
              abs(got["excess_usec"] - excess) <= max(1, LEVEL * excess))
        said = self.told[how]
        said[0] += bool(ok)
        said[1] += 1
        if not ok:
            said[2].append(f"{tell} {where} {excess:.1f} us: " + (
                f"{got['where']} {got['excess_usec']:.1f} us" if got else "not a hiccup"))

    def enough(self):
        return self.counted >= COUNTED and self.counted + self.left_out >= PLANTED

    def check(self, sort):
        for how, (right, n, others) in self.told.items():
            for text in others[:4]:
                print(f"# {sort}, {how}, told wrongly: {text}")
            print(f"# {sort}, {how}: {right} of {n} told rightly; {self.counted} hiccups counted, "
                  f"{self.left_out} left out")
            true(f"{sort}, {how}: {n - right} of {n} told wrongly, such as {others[:4]}",
                 right >= RIGHT * n)


class Places:
    """What lat_stats found in a run, by sample, and what the trace says of each lap."""
    def __init__(self, run):
        self.run = run
        self.level = {r: median(run.spans(r)) for r in ("client", "server")}
        self.spans = {r: run.spans(r) for r in ("client", "server")}
        self.found = {how: {r: {h["lap"]: h for h in said[r]["hiccups"]} for r in said}
                      for how, said in (("detail", run.told), ("stamps", run.stamps))}

    def excess(self, lap, part):
        return self.run.parts[lap][part] - self.run.typical[part]

    def disturbed(self, lap, part):
        """Something else was late here or in a lap beside it, or the wrong end switched out."""
        laps = range(max(lap - 1, 0), min(lap + 2, len(self.run.parts)))
        rest = sum(max(self.excess(k, p), 0) for k in laps for p in range(6)
                   if (k, p) != (lap, part))
        if rest > REST * self.excess(lap, part) or self.excess(lap, part) > LONGEST:
            return True
        # What a busy machine does to the first laps is told as a start-up, and has no hiccups.
        if any(self.run.number(r, lap, part) <= f["startup"]["laps"]
               for said in (self.run.told, self.run.stamps) for r, f in said.items()):
            return True
        first = max(lap - self.run.warmup - AROUND, 0)
        if self.run.late(LATE_HICCUP, slice(first, first + 2 * AROUND)) > MOST_LATE:
            return True
        for role, by_lap in self.found["detail"].items():
            h = by_lap.get(self.run.number(role, lap, part))
            if h and set(h["switched_out"] or ()) - {WHERE[part]}:
                return True
        return False

    def take(self, tally, lap, part):
        if not self.run.warmup + 2 <= lap < len(self.run.parts) - 2:
            return
        if self.disturbed(lap, part):
            tally.left_out += 1
            return
        tally.counted += 1
        for how, names in ("detail", WHERE), ("stamps", STAMPS):
            for role, by_lap in self.found[how].items():
                n = self.run.number(role, lap, part)
                excess = self.spans[role][n - 1] - self.level[role]
                tally.take(how, names[part], by_lap.get(n), part, excess, f"{role} {n}")


def turns(kind, sorts, plan):
    """Until enough of each sort count: @plan() makes a run, with a list of (lap, part) of each."""
    tallies = {s: Tally() for s in sorts}
    late = []
    while not all(t.enough() for t in tallies.values()):
        if len(late) == plan.turns:
            raise Fail(f"{len(late)} turns, and only " +
                       ", ".join(f"{t.counted} {s} hiccups" for s, t in tallies.items()) +
                       " count; late laps in each: " + ", ".join(f"{s:.0%}" for s in late) +
                       ": the machine is too busy")
        run, planted = plan(kind, len(late))
        late.append(run.late(LATE_HICCUP))
        if late[-1] > MOST_LATE:
            continue
        places = Places(run)
        for sort in sorts:
            for lap, part in planted[sort]:
                places.take(tallies[sort], lap, part)
    print(f"# {len(late)} turns, late laps in each: " + ", ".join(f"{s:.1%}" for s in late))
    for sort, tally in tallies.items():
        tally.check(sort)


def spread(seed, first, last, count):
    """So many laps, in no order that repeats, none beside another."""
    r = random.Random(seed)
    return [3 * k for k in sorted(r.sample(range(first // 3, last // 3), count))]


@contextlib.contextmanager
def delay_file(laps, n, seed):
    """0 but in these laps."""
    r = random.Random(seed)
    ns = [0] * n
    for k in laps:
        ns[k] = r.randrange(250000, 400000)
    with tempfile.NamedTemporaryFile("w", suffix=".delays") as f:
        f.write("".join(f"{v}\n" for v in ns))
        f.flush()
        yield f"out=10us+file:{f.name}"


def plan_ways(kind, turn):
    laps, both = 3000, spread(turn, 105, 3090, 240)
    random.Random(turn).shuffle(both)
    out, back = both[:120], both[120:]
    with delay_file(out, laps + 100, turn) as there, delay_file(back, laps + 100, -turn) as here:
        run = Run(kind, [there, here], laps, detail=True)
    equal("warm-up", run.warmup, 100)
    for end, laps in (run.client, out), (run.server, back):
        equal("laps that were planted", [n for n, w in enumerate(end.wr) if w.ns > 10000],
              sorted(laps))
    return run, {"out": [(k, OUT) for k in out], "back": [(k, BACK) for k in back]}


def plan_stalls(kind, turn):
    """A device has room for 16 of them."""
    both = spread(turn, 105, 1590, 32)
    random.Random(turn).shuffle(both)
    planted = {"client": sorted(both[:16]), "server": sorted(both[16:])}
    specs = ["out=10us," + ",".join(f"stall={150 + 5 * i}us@{k + 1}" for i, k in enumerate(laps))
             for laps in planted.values()]
    run = Run(kind, specs, 1500, detail=True)
    for name, end in ("client", run.client), ("server", run.server):
        equal(f"{name}: stalls in the trace", [n - 1 for n, _ in end.faults], planted[name])
    return run, {n: [(k, CPU[n][0]) for k in planted[n]] for n in planted}


@programs("hiccups on the way out and on the way back")
def ways(kind):
    turns(kind, ("out", "back"), plan_ways)


@programs("stalls of the client and of the server, in their posts")
def stalls(kind):
    turns(kind, ("client", "server"), plan_stalls)


# ---- bursts of a real-time thread

BURST = 200e-6  # s
MOST_BURSTS = 1000


class Bursts(threading.Thread):
    """Takes a CPU away for 200 us at a time, with up to 2 ms between, until it is told to stop."""
    def __init__(self, cpu, seed):
        super().__init__(daemon=True)
        self.cpu, self.random = cpu, random.Random(seed)
        self.ended = False
        self.taken = []  # us, as in the trace: from, to

    def run(self):
        os.sched_setaffinity(0, {self.cpu})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        while not self.ended and len(self.taken) < MOST_BURSTS:
            time.sleep(self.random.uniform(1e-3, 2e-3))
            begun = now = time.monotonic()
            while now < begun + BURST:
                now = time.monotonic()
            self.taken.append((1e6 * begun, 1e6 * now))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.join()


def need_real_time():
    """A try, in a thread of its own, which ends with it."""
    said = []

    def attempt():
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError as e:
            said.append(e)
    t = threading.Thread(target=attempt)
    t.start()
    t.join()
    if os.geteuid() != 0 or said:
        raise Skip(f"only root may have a real-time thread ({(said or ['not root'])[0]})")


def burst_plan(who):
    """The end whose CPU is taken away has no delay of its own: it waits nearly all the time."""
    def plan(kind, turn):
        cpus = sorted(os.sched_getaffinity(0))[:2]
        specs = ["out=0", "out=40us"] if who == "client" else ["out=40us", "out=0"]
        run = Run(kind, specs, 5000, ["-T", f"{cpus[0]},{cpus[1]}"], detail=True,
                  beside=Bursts(cpus[who == "server"], turn))
        posts = [(c if who == "client" else s).post for c, s in run.laps]
        hit = []
        for begun, ended in run.beside.taken:
            k = bisect.bisect(posts, begun) - 1
            if not 0 <= k < len(posts) - 1:
                continue
            # The server's turn after the burst is that of the next lap.
            for lap, part in ((k, CPU[who][0]), (k + (who == "server"), CPU[who][1])):
                if run.parts[lap][part] > (ended - begun) / 2:
                    hit.append((lap, part))
        return run, {who: hit}
    plan.turns = TURNS
    return plan


plan_ways.turns = TURNS
plan_stalls.turns = math.ceil(PLANTED / 16) + 2 * TURNS


@programs("bursts of a real-time thread on the CPU of the {0}", [("client",), ("server",)])
def bursts(kind, who):
    need_real_time()
    turns(kind, (who,), burst_plan(who))


main()
