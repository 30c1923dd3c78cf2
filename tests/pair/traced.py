# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A ping-pong whose ends trace their work requests, with what lat_stats says of its dump.

A lap falls into six parts, each of which the trace knows:

    out     the client's request, from its post until it was due
    posted  the client's CPU came late to let it take effect
    seen    from there to the server's post: its CPU saw late
    back    the server's request
    posted  the server's CPU came late
    seen    the client's
"""
import contextlib
import json
import re
import statistics
import subprocess
import tempfile
import time

import test_truth
from pair import BUILD, Fail, case, equal
from test_truth import KINDS, LATE, MOST_LATE, TURNS, End, need_time

PING_PONGS = [k for k in KINDS if k.ways == 2]
OUT, POSTED, SERVER_SEEN, BACK, SERVER_POSTED, SEEN = range(6)
CPUS = POSTED, SERVER_SEEN, SERVER_POSTED, SEEN
LATE_LAP = 10.0  # us; a lap that is late at all leaves others behind it that are a little late
FAR, CLOSE = 48, 8  # laps: what lasts for 24 is a change of its own


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
        self.typical = [statistics.median(p[i] for p in self.measured()) for i in range(6)]

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
        """Share of measured laps in which a CPU was late by more than that."""
        late = [max(p[i] for i in CPUS) > us for p in self.measured()[laps]]
        return sum(late) / len(late)

    def let_alone(self, lap, sides, most=1):
        """
        On each side, -1 or 1, of a lap: most of the FAR next laps were on time, and of the CLOSE
        next ones at most so many were late by more than LATE_LAP, as when an end writes its trace.
        """
        def beside(side, reach):
            k = lap - self.warmup
            return slice(k - reach, k) if side < 0 else slice(k, k + reach)
        return all(self.late(LATE, beside(s, FAR)) < 0.25 and
                   self.late(LATE_LAP, beside(s, CLOSE)) * CLOSE < most + 0.5 for s in sides)

    def spans(self, role):
        """From post to post, halved, of each sample; the client's last ends with its answer."""
        posts = [(c if role == "client" else s).post for c, s in self.laps[self.warmup:]]
        if role == "client":
            posts.append(self.laps[-1][1].at)
        return [(b - a) / 2 for a, b in zip(posts, posts[1:])]

    def ways(self, role):
        """What of these was planted, on the way out and on the way back."""
        after = self.measured()[role == "server":]
        return [(a[OUT] + p[BACK]) / 2 for p, a in zip(self.measured(), after)]

    def number(self, role, lap, part):
        """The sample in which that part of a lap lies."""
        return lap - self.warmup + (1 if role == "client" or part >= BACK else 0)

    def ends(self):
        return [(r, self.told[r], self.spans(r)) for r in ("client", "server")]


def turns_of(make, counts, most=TURNS):
    """
    The first run of make() for which counts(run) holds: the machine let it alone, by the trace
    and whatever lat_stats says of it.
    """
    late = []
    for n in range(most):
        run = make()
        late.append(run.late(LATE))
        if counts(run):
            print(f"# turn {n + 1} of at most {most}: {late[-1]:.1%} of the laps over {LATE:g} us "
                  "late")
            return run
        time.sleep(0.1 * min(n, 5))  # for what else is running to go by
    raise Fail(f"in none of {most} turns the machine let the laps alone that matter; over {LATE:g} "
               "us late in the trace were " + ", ".join(f"{s:.0%}" for s in late))


def quiet(run):
    return run.late(LATE) <= MOST_LATE


def programs(title, rows=((),)):
    """A case for each program and row."""
    def with_rows(function):
        for kind in PING_PONGS:
            for row in rows:
                case(f"{kind.name}: " + title.format(*row), args=(kind, *row))(
                    lambda *a: (need_time(), function(*a)))
        return function
    return with_rows
