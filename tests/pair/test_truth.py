#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Planted truth: what a latency program reports is what was planted, within 2 % or 0.5 us.

Both ends trace their planted delays: of each work request its draw, when it was posted, was due
and took effect (softverbs/trace.h). From these three comparisons are made, on both ends:
  - measured: the samples, and their median and mean as reported, are the times from post to post
    in the trace. All laps count: where the machine held a lap up, both say so.
  - planted: median and mean of the samples, less what the same pair takes without a delay, are
    those of the draws. A lap in which the TRACE shows a step more than LATE behind its time (an
    effect behind its due time, a post behind what it waited for) is left out of both sides, and
    counted. A turn with more than a third of such laps says nothing and is followed by another,
    at most TURNS in all; the first one that counts is judged, whatever it says.
  - drawn: the draws are those that the SPEC describes.
"""
import bisect
import math
import os
import random
import re
import statistics
import tempfile
import time

import pair
from output import full_table
from pair import (BUILD, LINKED, Fail, Skip, case, client, end_all, equal, main, need_softverbs,
                  server, true)

LATE = 2.0  # us
MOST_LATE = 1 / 3
TURNS = 8
OUT_OF_PLACE = 0.02  # share of laps that may disagree one by one: a CPU lost between stamp and post
# Ahead of what else is running, where that is allowed: in a session of its own, since the kernel
# may share the CPUs out among sessions.
FIRST = ["setsid", "sh", "-c", "{ echo -19 >/proc/self/autogroup; } 2>/dev/null; "
         "exec nice -n -19 \"$@\"", "sh"] if os.geteuid() == 0 else []


class Kind:
    """A program: how many work requests, one after the other, its sample holds, halved or not."""
    def __init__(self, name, op, ways, divisor):
        self.name, self.op, self.ways, self.divisor = name, op, ways, divisor


KINDS = [k for k in (Kind("rdma_lat", "RDMA_WRITE", 2, 2), Kind("read_lat", "RDMA_READ", 1, 1),
                     Kind("send_lat", "SEND", 2, 2), Kind("atomic_lat", "ATOMIC_FETCH_AND_ADD", 1, 1))
         if k.name == "rdma_lat" or os.path.exists(f"{BUILD}/bin/{k.name}")]
SHAPES = [k for k in KINDS if k.name in ("rdma_lat", "read_lat")]


def tolerance(us):
    return max(0.5, 0.02 * us)


def same(what, got, want):
    """Lists that are equal; where they first are not."""
    equal(f"{what}: how many", len(got), len(want))
    for n, (a, b) in enumerate(zip(got, want), 1):
        equal(f"{what}: number {n}", a, b)


def close(what, got, want, allowed):
    if not abs(got - want) <= allowed:
        raise Fail(f"{what}: {got:.3f} us, not {want:.3f} within {allowed:.3f}")


# ---- what was planted, and what was measured

class Request:
    """A work request in the trace; times in us."""
    def __init__(self):
        self.ns, self.at = 0, None

    def wait_ns(self):
        return round(1e3 * (self.due - self.post))

    def effect(self, field):
        self.post, self.due, self.at = (int(field[k]) / 1e3 for k in ("post", "due", "t"))
        equal("late= is t= less due=", int(field["late"]), int(field["t"]) - int(field["due"]))
        true(f"never early: {field}", int(field["t"]) >= int(field["due"]) >= int(field["post"]))


class End:
    """What an end printed and what it traced."""
    def __init__(self, kind, process, trace):
        table = full_table(process.out)
        self.samples = [float(v) for v in table.blocks[0].values]
        self.row = table.rows[0]
        self.warmup = int(re.search(r"(\d+) warm-up laps before", process.out).group(1))
        self.faults = []
        self.requests = {}
        with open(f"{trace}.{process.pid}") as f:
            for line in f:
                self.record(kind, line.split())
        self.wr = [self.requests[n] for n in sorted(self.requests)]
        equal("work requests", sorted(self.requests), list(range(1, len(self.wr) + 1)))
        true("each took effect", all(w.at for w in self.wr))

    def record(self, kind, words):
        field = dict(w.split("=", 1) for w in words[1:])
        if words[0] == "fault":
            self.faults.append((int(field["wr"]), field["kind"]))
        if words[0] not in ("delay", "effect") or field["op"] != kind.op:
            return
        w = self.requests.setdefault(int(field["wr"]), Request())
        if words[0] == "delay":
            w.ns += int(field["ns"])
        else:
            w.effect(field)


class Lap:
    """A sample and its truth: @chain is the request before it, those in it, and the one after it."""
    def __init__(self, kind, sample, chain):
        steps = chain[1:-1]
        self.sample = sample
        self.planted = sum(w.due - w.post for w in steps) / kind.divisor
        self.span = (chain[-1].post - steps[0].post) / kind.divisor
        # Behind its due time, or posted behind the effect that it waited for. The first post counts
        # too: a CPU that was lost just before it was lost before or after the stamp.
        self.late = max([w.at - w.due for w in steps] +
                        [w.post - before.at for before, w in zip(chain, chain[1:])])
        self.clean = self.late <= LATE


class Turn:
    """A run of a pair. The client's last sample ends with no post, and so is in no comparison."""
    def __init__(self, kind, specs, laps, args=()):
        self.kind = kind
        with tempfile.TemporaryDirectory() as folder:
            trace = f"{folder}/t"
            processes = run(kind, [f"soft0:{s},trace={trace}" for s in specs],
                            ["-U", "-n", laps, *args])
            self.ends = [End(kind, p, trace) for p in processes[:kind.ways]]
        self.client, self.server = (*self.ends, None)[:2]
        for end in self.ends:
            equal("work requests in the trace", len(end.wr), end.warmup + laps)
            true("a lap of warm-up stands before the first", end.warmup)
        # In the order in which they were posted: out, back, out ...
        order = [w for lap in zip(*(end.wr for end in self.ends)) for w in lap]
        self.laps = [self.laps_of(kind, i, end, order) for i, end in enumerate(self.ends)]
        self.client_laps = self.laps[0]

    @staticmethod
    def laps_of(kind, i, end, order):
        first = kind.ways * end.warmup + i
        starts = range(first, len(order) - kind.ways, kind.ways)
        return [Lap(kind, x, order[n - 1:n + kind.ways + 1]) for x, n in zip(end.samples, starts)]

    def sides(self):
        return list(zip(("client", "server"), self.ends, self.laps))

    def late_share(self):
        return max(sum(not p.clean for p in laps) / len(laps) for _, _, laps in self.sides())


def run(kind, specs, args):
    """A pair that went to its end: (client, server). @specs: client's, server's."""
    end_all()  # the turn before, which nobody asks any more
    pair.PROGRAM = kind.name
    try:
        s = server("-U", spec=specs[1], before=FIRST)
        c = client(s, *args, spec=specs[0], before=FIRST)
    finally:
        pair.PROGRAM = "rdma_lat"
    for p in c, s:
        equal(f"exit code of {p}", p.wait(), 0)
    return c, s


def quiet_turn(kind, specs, laps, args=()):
    """The first turn whose trace says that the machine let most laps alone."""
    shares = []
    for _ in range(TURNS):
        turn = Turn(kind, specs, laps, args)
        shares.append(turn.late_share())
        if shares[-1] <= MOST_LATE:
            out = [sum(not p.clean for p in laps_) for _, _, laps_ in turn.sides()]
            print(f"# {kind.name} {specs[0]}: turn {len(shares)} of at most {TURNS}; of {laps} laps "
                  f"{' and '.join(map(str, out))} left out, late in the trace by over {LATE:g} us")
            return turn
        time.sleep(0.2 * len(shares))  # for what else is running to go by
    raise Fail(f"in each of {TURNS} turns more than a third of the laps were over {LATE:g} us late in "
               "the trace (" + ", ".join(f"{s:.0%}" for s in shares) + "): the machine is too busy, "
               "or the device is late")


BASES = {}


def base(kind, args=()):
    """Median of the same pair without a delay, us."""
    key = kind.name, *args
    if key not in BASES:
        c, _ = run(kind, ["soft0"] * 2, ["-U", "-n", 2000, *args])
        BASES[key] = full_table(c.out).rows[0]["median"]
    return BASES[key]


# ---- the comparisons

MOMENTS = ("median", statistics.median), ("mean", statistics.fmean)


def check_measured(turn):
    for name, end, laps in turn.sides():
        for what, f in MOMENTS:
            close(f"{name}: {what} of the table against that of its samples", end.row[what],
                  f(end.samples), 0.0011)
            got, want = f([p.sample for p in laps]), f([p.span for p in laps])
            close(f"{name}: {what} of all samples against the posts in the trace", got, want,
                  tolerance(want))
        off = [k for k, p in enumerate(laps)
               if p.clean and abs(p.sample - p.span) > tolerance(p.span)]
        true(f"{name}: samples that are not the time from post to post: {len(off)} of {len(laps)}, "
             f"the first at {off[:5]}", len(off) <= OUT_OF_PLACE * len(laps))


def check_planted(turn, without):
    for name, _, laps in turn.sides():
        clean = [p for p in laps if p.clean]
        for what, f in MOMENTS:
            got, want = f([p.sample for p in clean]), f([p.planted for p in clean])
            print(f"# {name}: {what} {got:.3f} us, planted {want:.3f}, without a delay {without:.3f}")
            close(f"{name}: {what} of the samples less {without:.3f} us without a delay, against "
                  "what was planted", got - without, want, tolerance(want))
        off = [p for p in clean if abs(p.sample - without - p.planted) > LATE + tolerance(p.planted)]
        true(f"{name}: {len(off)} samples that are not late but far from what was planted",
             len(off) <= OUT_OF_PLACE * len(laps))


def check_drawn(turn, ends_ns):
    """@ends_ns: for each end the draw of its lap n (from 0, warm-up included), in ns."""
    for (name, end, _), ns in zip(turn.sides(), ends_ns):
        same(f"{name}: draws", [w.ns for w in end.wr], [ns(n) for n in range(len(end.wr))])
        same(f"{name}: due less post", [w.wait_ns() for w in end.wr], [w.ns for w in end.wr])


# ---- what the distributions are, by their definition

def quantiles_fit(what, draws, quantile):
    """Largest distance of the distributions (Kolmogorov); 1.95 / sqrt(n) is passed 1 time in 1000."""
    n = len(draws)
    values = sorted(draws)
    apart = max(abs(bisect.bisect_right(values, quantile((i + 0.5) / 100)) / n - (i + 0.5) / 100)
                for i in range(100))
    true(f"{what}: the draws are {apart:.3f} away from the distribution", apart < 1.95 / math.sqrt(n))
    true(f"{what}: the draws repeat", len(set(draws)) > 0.9 * n)


DELAYS = [  # SPEC, laps, quantile function in ns, or None: always the same
    ("delay=10us", 1500, None),
    ("delay=50us", 1000, None),
    ("delay=200us", 500, None),
    ("delay=uniform(5us,50us)", 1500, lambda q: 5000 + 45000 * q),
    ("delay=exp(20us)", 1500, lambda q: -20000 * math.log(1 - q)),
    ("delay=2us+exp(50us)", 1000, lambda q: 2000 - 50000 * math.log(1 - q)),
]


def need_time():
    need_softverbs()
    if LINKED:
        raise Skip("times of a sanitizer build say nothing")
    if len(os.sched_getaffinity(0)) < 2:
        raise Skip("two ends on one CPU wait for each other")


def truth(title, rows=((),), kinds=SHAPES):
    """A case for each program and row."""
    def add(function):
        for kind in kinds:
            for row in rows:
                name = f"{kind.name}: " + title.format(*row)
                case(name, args=(kind, *row))(lambda *a: (need_time(), function(*a)))
        return function
    return add


@truth("median and mean of {0} are those of the trace", DELAYS, KINDS)
def delays(kind, spec, laps, quantile):
    without = base(kind)
    turn = quiet_turn(kind, [f"{spec},seed=1", f"{spec},seed=2"], laps)
    check_measured(turn)
    check_planted(turn, without)
    for name, end, _ in turn.sides():
        draws = [w.ns for w in end.wr]
        same(f"{name}: due less post", [w.wait_ns() for w in end.wr], draws)
        if quantile:
            quantiles_fit(f"{name}: {spec}", draws, quantile)
        else:
            equal("draws", set(draws), {1000 * int(re.search(r"\d+", spec).group())})
    if quantile and kind.ways == 2:
        true("both ends draw for themselves",
             [w.ns for w in turn.client.wr] != [w.ns for w in turn.server.wr])


@truth("a wire of 1 Gb/s adds the time of 4 KiB")
def bandwidth(kind):
    size = ["-s", 4096]
    turn = quiet_turn(kind, ["delay=10us,bw=1Gb/s"] * 2, 1000, size)
    check_measured(turn)
    check_planted(turn, base(kind, size))
    for _, end, _ in turn.sides():
        equal("due less post: 10 us, and 4096 bytes at 1 Gb/s", {w.wait_ns() for w in end.wr},
              {10000 + 4096 * 8})


@truth("periodic(64,4,40us) is seen in the right laps, and in no others")
def periodic(kind):
    def ns(n):
        return 10000 + 40000 * (n % 64 < 4)
    turn = quiet_turn(kind, ["delay=10us+periodic(64,4,40us)", "delay=10us"], 1000)
    check_drawn(turn, [ns, lambda n: 10000])
    check_measured(turn)
    check_planted(turn, base(kind))
    clean = [(k + turn.client.warmup, p.sample) for k, p in enumerate(turn.client_laps) if p.clean]
    hit = [n for n, x in clean if x > 10 + 40 / kind.divisor / 2]
    wrong = sorted(set(hit) ^ {n for n, _ in clean if n % 64 < 4})
    true(f"laps on the wrong side: {wrong[:10]}", len(wrong) <= OUT_OF_PLACE * len(clean) / 4)
    true(f"share of laps that were hit: {len(hit)} of {len(clean)}",
         abs(len(hit) / len(clean) - 4 / 64) < 0.02)


def change_point(samples, threshold):
    """Where to cut so that the fewest are over the threshold before and under it after."""
    wrong = sum(x <= threshold for x in samples)
    best = wrong, 0
    for k, x in enumerate(samples, 1):
        wrong += 1 if x > threshold else -1
        best = min(best, (wrong, k))
    return best[1]


@truth("steps(0:10us|800:40us) is seen within 3 laps")
def steps(kind):
    turn = quiet_turn(kind, ["delay=steps(0:10us|800:40us)", "delay=10us"], 1000)
    check_drawn(turn, [lambda n: 40000 if n >= 800 else 10000, lambda n: 10000])
    check_measured(turn)
    check_planted(turn, base(kind))
    clean = [(k, p.sample) for k, p in enumerate(turn.client_laps) if p.clean]
    at = change_point([x for _, x in clean], 10 + 30 / kind.divisor / 2)
    want = bisect.bisect_left(clean, (800 - turn.client.warmup,))
    true(f"the step is at clean lap {at}, planted at {want}", abs(at - want) <= 3)


STALL = "a stall of 60 ms in the {0} is the largest sample, and in its place"


@truth(STALL, [("client",)])
@truth(STALL, [("server",)], [k for k in SHAPES if k.ways == 2])
def stall(kind, who):
    specs = ["delay=10us"] * 2
    specs[who == "server"] += ",stall=60ms@300"
    turn = Turn(kind, specs, 400)
    check_measured(turn)
    end = turn.server if who == "server" else turn.client
    equal("faults in the trace", end.faults, [(300, "stall")])
    k = 299 - end.warmup
    # The server's answer k lies in the client's sample k; the client's post in the server's k - 1.
    places = [("client", turn.client, k)]
    if kind.ways == 2:
        places.append(("server", turn.server, k if who == "server" else k - 1))
    for name, e, want in places:
        equal(f"{name}: place of the largest sample", e.samples.index(max(e.samples)), want)
        true(f"{name}: half of the stall, or all of it: {e.samples[want]:.0f} us",
             60e3 / kind.divisor <= e.samples[want] < 1.5 * 60e3)


@truth("file: is replayed lap by lap, in a ring")
def replay(kind):
    order = random.Random(5)
    values = [order.randrange(5000, 60000) for _ in range(37)]
    with tempfile.NamedTemporaryFile("w", suffix=".delays") as f:
        f.write("# as recorded\n" + "".join(f"{v}\n" if v % 2 else f"{v / 1000}us\n" for v in values))
        f.flush()
        turn = quiet_turn(kind, [f"delay=file:{f.name}", "delay=10us"], 1000)
    check_drawn(turn, [lambda n: values[n % 37], lambda n: 10000])
    check_measured(turn)
    without = base(kind)
    check_planted(turn, without)
    # Each value of the ring by itself: the median of its samples.
    for i, v in enumerate(values):
        mine = [p.sample for k, p in enumerate(turn.client_laps)
                if p.clean and (k + turn.client.warmup) % 37 == i]
        want = (v / 1000 + (10 if kind.ways == 2 else 0)) / kind.divisor
        true(f"samples of line {i + 1}", len(mine) >= 5)
        close(f"median of the samples of line {i + 1}", statistics.median(mine) - without, want,
              tolerance(want))


if __name__ == "__main__":
    main()
