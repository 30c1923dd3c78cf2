#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Planted truth for lat_stats: what it finds in a dump is what softverbs planted, in its place.

What it says of figures, levels, start-up and period is held against the trace of that very run
(traced.py), in which the machine's own lateness is, too, and against the draws. A step or the end
of a start-up counts where the trace says that the machine let the laps around it alone; whatever
else is told as a change has to be one in the trace. Other periods than the planted one are the
machine's: its tick, and the writing of the trace every so many laps.

A hiccup's place and length are known whoever caused it. A planted one with which the laps around
it had nothing else to do counts; one beside which the trace shows a step that is late by over REST
of it, or where the thread of an end that has nothing to do with it was switched out, is left out,
and counted as such. Single stamps cannot tell a request that was posted late from one that was
long under way: a stall in the client's post has the pair of the way out (doc/dump.md). The CPU
that is taken away while an end waits has its own pair.
Turns whose trace says that the machine disturbed more than a third of the laps say nothing. The
others, a bounded number, plant hiccups until COUNTED of each sort count, and 98 % of those are to
be told rightly.
"""
import bisect
import contextlib
import math
import os
import random
import tempfile
import threading
import time
from statistics import fmean, median

import pair
from pair import Fail, Skip, equal, main, true
from test_truth import LATE, MOST_LATE, TURNS, close, same, tolerance
from traced import (BACK, CPUS, LATE_LAP, OUT, POSTED, SEEN, SERVER_POSTED, SERVER_SEEN, Run,
                    lat_stats, programs, quiet, turns_of)

pair.CASES.clear()  # those of test_truth.py
os.environ["SOFTVERBS_FABRIC"] = f"hiccups{os.getpid()}"

COUNTED = 100  # hiccups of a sort
RIGHT = 0.98
REST = 0.1  # of a hiccup's length: what else may be late in the laps around it
LONGEST = 450.0  # us; softverbs' helper thread leaves a delay of half a millisecond to the program
LEVEL = 0.25  # of a hiccup's length: the level that it is told over has lateness in it, too
AROUND = 32  # laps before and after, of which the machine must have left most alone
STEADY = 0.25  # us over the median: a step that is as late as most are

WHERE = ("out", "client", "server", "back", "server", "client")
STAMPS = ("out_or_server",) * 3 + ("back_or_client",) * 3
CPU = {"client": (POSTED, SEEN), "server": (SERVER_POSTED, SERVER_SEEN)}


# ---- distribution

def p99(values):
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


def near(what, got, want):
    close(what, got, want, tolerance(want))


def check_measured(run):
    """All samples against the time from post to post in the trace."""
    for role, told, spans in run.ends():
        got = told["results"][0]
        equal(f"{role}: samples", got["samples"], len(spans))
        near(f"{role}: median", got["median_usec"], median(spans))
        # A CPU that was lost between a stamp and its post moves a sample over the p99, or under it.
        ranked = sorted(spans)
        at = math.ceil(0.99 * len(spans)) - 1
        low, high = ranked[at - 1], ranked[at + 1]
        true(f"{role}: p99 {got['p99_usec']:.3f} us, in the trace {ranked[at]:.3f}",
             low - tolerance(low) <= got["p99_usec"] <= high + tolerance(high))


def check_planted(run):
    """Those of samples that no lateness is in, less what CPUs usually take, against the draws."""
    without = sum(run.typical[k] for k in CPUS) / 2
    for role, end in ("client", run.client), ("server", run.server):
        samples, planted = [], []
        for j, (x, ways) in enumerate(zip(end.samples, run.ways(role))):
            around = run.measured()[max(j - 1, 0):j + 2]
            if all(p[k] <= run.typical[k] + STEADY for p in around for k in CPUS):
                samples.append(x)
                planted.append(ways)
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
    run = turns_of(lambda: Run(kind, [f"{spec},seed=1", f"{spec},seed=2"], 1500), quiet)
    check_measured(run)
    check_planted(run)


# ---- levels: changes and start-up

def levels(told, samples):
    """What is told of them, piece by piece: (samples before it, those up to its end, level)."""
    changes = told["change_points"]
    bounds = [told["startup"]["laps"], *(c["lap"] - 1 for c in changes), samples]
    if not changes:
        return [(*bounds, told["results"][0]["median_usec"])]
    for c, after in zip(changes, changes[1:]):
        equal(f"the level between {c} and {after}", c["after_usec"], after["before_usec"])
    after = [c["after_usec"] for c in changes]
    return list(zip(bounds, bounds[1:], [changes[0]["before_usec"], *after]))


def deviations(a, b):
    """By how many of its deviations the rank sum says that those of b are larger (Mann-Whitney)."""
    b = sorted(b)
    n, m = len(a), len(b)
    above = sum(m - (bisect.bisect_left(b, x) + bisect.bisect_right(b, x)) / 2 for x in a)
    return (above - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)


def check_levels(role, told, spans):
    """Whoever made a change: each level is the median of its piece in the trace, and differs."""
    pieces = levels(told, len(spans))
    for a, b, level in pieces:
        # It is that of blocks, which begin and end some laps beside the change.
        few = b - a < 64
        ranked = sorted(spans[max(a - 8, 0):b + 8] if few else spans[a:b])
        low, high = (ranked[int(q * len(ranked))] for q in ((0.1, 0.9) if few else (0.4, 0.6)))
        true(f"{role}: from sample {a + 1} to {b} a level of {level:.3f} us, in the trace "
             f"{low:.3f} to {high:.3f}", low - tolerance(low) <= level <= high + tolerance(high))
    for (a, b, before), (_, c, after) in zip(pieces, pieces[1:]):
        z = deviations(spans[a:b], spans[b:c]) * (1 if after > before else -1)
        true(f"{role}: no change at sample {b + 1} from {before:.3f} to {after:.3f} us: {z:.1f} "
             "deviations in the trace", z > 2.5)


STEPS = range(300, 2000, 200)
BUSY = 0.25  # of the laps late: beyond it they change their level as often as not


def step_told(told, at, rises):
    """The planted step of @told that is within 3 laps: by how much it goes where it should."""
    found = [c for c in told["change_points"] if abs(c["lap"] - at) <= 3]
    equal(f"{told['role']}: changes within 3 laps of {at}: {told['change_points']}", len(found), 1)
    return (found[0]["after_usec"] - found[0]["before_usec"]) * (1 if rises else -1)


@programs("each step of a work request's delay is a change point within 3 laps")
def steps(kind):
    def us(n):
        return 40 if bisect.bisect(STEPS, n) % 2 else 10
    spec = "|".join(f"{n}:{us(n)}us" for n in (0, *STEPS))
    sizes = {"client": [], "server": []}
    late = []
    while len(sizes["client"]) < len(STEPS):
        true(f"in {len(late)} turns the machine let the laps around {len(sizes['client'])} steps "
             f"alone, {len(STEPS)} are needed; late laps: {late}", len(late) < 2 * TURNS)
        run = Run(kind, [f"delay=steps({spec})", "delay=10us"], 2000)
        late.append(f"{run.late(LATE):.0%}")
        if run.late(LATE) > BUSY:
            continue
        same("draws", [w.ns for w in run.client.wr], [1000 * us(n) for n in range(len(run.laps))])
        for role, told, spans in run.ends():
            check_levels(role, told, spans)
            sizes[role] += [step_told(told, run.number(role, n, OUT), us(n) > 10)
                            for n in STEPS if run.let_alone(n, (-1, 1))]
    print(f"# late laps in each turn: {', '.join(late)}; {len(sizes['client'])} steps count")
    for role, of_role in sizes.items():
        true(f"{role}: all steps that way: {of_role}", min(of_role) > 0)
        close(f"{role}: half of a step", median(of_role), 15, 0.5)


STARTUP = 200


def starts_alone(run):
    """Behind its end there is no more than what the steady laps have: that would be one, too."""
    laps = len(run.measured())
    behind, steady = slice(STARTUP, laps // 3), slice(laps // 2, laps)
    return (run.let_alone(STARTUP, (1,), most=2) and
            run.late(LATE_LAP, behind) <= run.late(LATE_LAP, steady) + 0.05)


@programs("a start-up of 200 laps is so long, and 100 us slower")
def startup(kind):
    # The way back is not always the same, so that a tenth of a microsecond is no start-up.
    specs = [f"delay=steps(0:210us|{STARTUP}:10us)", "delay=uniform(8us,12us)"]
    run = turns_of(lambda: Run(kind, specs, 2000, ["--warmup", 0]), starts_alone, 2 * TURNS)
    equal("warm-up", run.warmup, 0)
    same("draws", [w.ns for w in run.client.wr], [210000] * STARTUP + [10000] * (2000 - STARTUP))
    for role, told, spans in run.ends():
        want, got = run.number(role, STARTUP, OUT) - 1, told["startup"]["laps"]
        late = round(run.late(LATE_LAP, slice(STARTUP, STARTUP + 8)) * 8)  # they may belong to it
        true(f"{role}: {got} laps of start-up, planted {want}, {late} late ones behind it",
             -3 <= got - want <= 3 + late)
        excess = told["startup"]["excess_usec"]
        near(f"{role}: slower by", excess, median(spans[:got]) - median(spans[len(spans) // 2:]))
        cpus = [x - ways for x, ways in zip(spans, run.ways(role))]
        machine = median(cpus[:got]) - median(cpus[len(cpus) // 2:])
        close(f"{role}: half of what was planted", excess - machine, 100, 1)


# ---- periods

PERIOD, HIT = 32, 4


def check_period(run, role, told, spans):
    first = told["startup"]["laps"]  # sought behind it
    level = [v for a, b, v in levels(told, len(spans)) for _ in range(a, b)]
    excess = [x - v for x, v in zip(spans[first:], level)]
    # 0 to HIT - 1 are planted; of those beside them, some may count where the machine was late.
    place = [(first + k + 1 - run.number(role, 0, OUT)) % PERIOD for k in range(len(excess))]
    hit = [x for x, p in zip(excess, place) if p < HIT]
    by_chance = sum(x > LATE for x, p in zip(excess, place) if p in (HIT, PERIOD - 1))
    true(f"{role}: no period", told["periods"])
    got = min(told["periods"], key=lambda p: abs(p["laps"] - PERIOD))
    close(f"{role}: laps of the period", got["laps"], PERIOD, 0.01 * PERIOD)
    want = 2 * PERIOD * fmean(spans[first:])
    close(f"{role}: time of the period", got["usec"], want, 0.01 * want)
    want = median(hit) - median(x for x, p in zip(excess, place) if p >= HIT)
    near(f"{role}: half of the delay, in the trace", got["amplitude_usec"], want)
    near(f"{role}: half of the delay", got["amplitude_usec"], 30)
    low, high = (n / len(excess) for n in (0.98 * len(hit), len(hit) + by_chance))
    true(f"{role}: a share of {got['share']:.4f} of the samples, in the trace {low:.4f} to "
         f"{high:.4f}", low <= got["share"] <= high)
    equal(f"{role}: it follows the laps", got["by"], "lap")


@programs("4 of every 32 laps: a period within 1 %, and the share")
def periodic(kind):
    specs = [f"delay=uniform(8us,12us)+periodic({PERIOD},{HIT},60us)", "delay=10us"]
    run = turns_of(lambda: Run(kind, specs, 5000), quiet)
    for role, told, spans in run.ends():
        check_levels(role, told, spans)
        check_period(run, role, told, spans)


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
        return self.counted >= COUNTED

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
        if self.run.late(LATE_LAP, slice(first, first + 2 * AROUND)) > MOST_LATE:
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
        late.append(run.late(LATE_LAP))
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
    laps, both = 3600, spread(turn, 105, 3690, 290)
    random.Random(turn).shuffle(both)
    out, back = both[:145], both[145:]
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
plan_stalls.turns = math.ceil(COUNTED / 16) + 2 * TURNS


@programs("bursts of a real-time thread on the CPU of the {0}", [("client",), ("server",)])
def bursts(kind, who):
    need_real_time()
    turns(kind, (who,), burst_plan(who))


main()
