#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random combinations of program, options and device: each is refused with exit code 2, or ends with
exact counts on both ends; none hangs, none leaves an object or a segment behind.

property.py [--seed N|any] [--count N] [--jobs N]    cases 0 to N-1 of the seed (1, 200, 2)
property.py --seed N --case K [--without A,B,...]    one of them, with these parts left out
property.py --seed N --case K --show                 its two command lines, without running it

Case K of a seed depends on the two numbers alone. What must be refused, and with which words, is
said by the table RULES: everything else must run. A case that fails is tried again with its parts
left out one by one, and the smallest that still fails is printed as commands. Results are TAP.
VERBSPERF_BUILD names the build, as for the other pair tests.
"""
import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import time

import pair
from property_case import Case, draw

HANG = 60 * pair.SLOW  # seconds a pair may take
SHRINK = 60 * pair.SLOW  # seconds until a smaller case is no longer looked for
NOT_COMPARED = {"post", "json", "port", "connect_timeout", "clock", "cpu"}  # settings of each end's own


# ---- one case

def said(p):
    """How an end was started and what it said, but for its JSON."""
    yield f"{p} -> {p.code}"
    yield from ("  " + line for line in p.err.splitlines()[-12:])


def start(program, options, spec, fabric):
    argv, env = pair.device_argv([f"{pair.BUILD}/bin/{program}", *options], spec)
    return pair.Process(argv, {**env, "SOFTVERBS_FABRIC": fabric, "SOFTVERBS_CHECK": "1"})


def segment(fabric):
    return f"/dev/shm/softverbs-{os.geteuid()}-{fabric}"


def ended(p, name, limit):
    try:
        return p.wait(limit)
    except pair.Fail:
        raise pair.Fail(f"the {name} hangs") from None


def reason(p, name):
    """The one line that says why it was refused."""
    lines = pair.messages(p, [r"^softverbs:", r": --all ends at "])
    pair.equal(f"lines on stderr of the {name}", lines, lines[:1] or ["one line"])
    return lines[0]


def refused(case, c, s):
    """Exit code 2 on both ends; the words are those of a rule that applies."""
    said = reason(c, "client")
    wanted = case.refusals()
    pair.true(f"refused without need: {said}", wanted)
    pair.true(f"refused as {said!r}, not for {wanted}", any(re.search(w, said) for w in wanted))
    if not s:
        return
    # A client that knows from its own device sends no plan, and the server waits for the next one.
    text = re.escape(said.partition(": ")[2])
    if s.wait_err(rf"dropped .*: peer failed at plan: {text}|{text}$", HANG).group(0).startswith("dropped"):
        s.kill(signal.SIGTERM)
        ended(s, "server", HANG)
    else:
        pair.equal("exit code of the server", ended(s, "server", HANG), 2)
        reason(s, "server")


def rows_agree(case, c, s):
    """Sizes, messages and what came of them, as both ends report them."""
    keys = ("size", "direction", "iterations", "bytes", "sent", "received", "lost", "seconds")
    if not case.bandwidth:
        keys = ("size", "iterations")
    mine, theirs = ([{k: r[k] for k in keys} for r in d["results"]] for d in (c, s))
    if not case.bandwidth and case.fetches:
        theirs = [{**r, "iterations": m["iterations"]} for m, r in zip(mine, theirs)]
    pair.equal("results of the server", theirs, mine)


def check_latency(case, c, s):
    if any(r["late"] for r in c["results"]):
        raise Presumed("answers came late, three times")
    for r, o in zip(c["results"], s["results"]):
        what = f"of size {r['size']}, "
        n = r["iterations"] if case.timed else case.iters
        pair.true(what + "no lap in a run by time", n > 0)
        pair.equal(what + "iterations", r["iterations"], n)
        pair.equal(what + "samples of the client", r["samples"], n)
        pair.equal(what + "samples of the server", o["samples"], 0 if case.server_is_silent else n - 1)
        pair.equal(what + "lost", (r.get("lost") or 0, o.get("lost") or 0), (0, 0))


def check_bandwidth(case, c):
    pair.equal("directions", [r["direction"] for r in c["results"]],
               case.directions() * len(case.expected_sizes(c)))
    for r in c["results"]:
        what = f"of {r['direction']}, size {r['size']}: "
        n = r["sent"]
        if not case.timed:
            n = case.iters * (2 if r["direction"] == "both" else 1)
        pair.true(what + "no message in a run by time", n > 0)
        pair.equal(what + "sent, iterations", (r["sent"], r["iterations"]), (n, n))
        pair.equal(what + "bytes", r["bytes"], n * r["size"])
        got = (n, 0) if r["confirmed"] != "none" else (None, None)
        pair.equal(what + "received, lost", (r["received"], r["lost"]), got)
        pair.true(what + f"{r['seconds']} s", r["seconds"] > 0)


def document(p, name):
    try:
        d = json.loads(p.out)
    except ValueError as e:
        raise pair.Fail(f"JSON of the {name}: {e}") from None
    pair.equal(f"error of the {name}", d["error"], None)
    return d


def ran(case, c, s):
    """Exit code 0, and the documents of both ends say the same exact counts."""
    pair.equal("exit code of the server", ended(s, "server", HANG), 0)
    pair.equal("a combination that must be refused for one of", case.refusals(must=True), [])
    c, s = document(c, "client"), document(s, "server")
    differ = {k: (v, s["settings"].get(k)) for k, v in c["settings"].items()
              if k not in NOT_COMPARED and v != s["settings"].get(k)}
    pair.equal("settings that differ (client, server)", differ, {})
    pair.equal("sizes", list(dict.fromkeys(r["size"] for r in c["results"])), case.expected_sizes(c))
    rows_agree(case, c, s)
    if case.bandwidth:
        check_bandwidth(case, c)
    else:
        check_latency(case, c, s)


def nothing_left(processes, fabric):
    for p in processes:
        pair.hasnt("an end left objects", p.err, r"^softverbs: \d+ .* left$")
        pair.hasnt("an end said", p.err, r"Sanitizer|runtime error")
    pair.true(f"{segment(fabric)} is left", not os.path.exists(segment(fabric)))


class Presumed(pair.Fail):
    """An exchange counted as lost or late, though the device does neither."""


def run(case, fabric, limit=HANG):
    """"ran" or "refused"; raises Fail. On a busy machine an answer of a transport that may lose it
    can come too late: such a run is made again."""
    for _ in range(3):
        try:
            return run_once(case, fabric, limit)
        except Presumed as e:
            late = e
    raise late


def run_once(case, fabric, limit):
    """What is refused by its options alone gets no server."""
    s = None
    try:
        if not case.refused_by_options():
            s = start(case.program, ["-p", "0", "--json", *case.server_words()], case.spec("server"), fabric)
            s.port = s.wait_err(r"listening on (\S+):(\d+)$", limit).group(2)
        to = ["-p", s.port, "--connect-timeout", "30s"] if s else ["-p", "9", "--connect-timeout", "2s"]
        c = start(case.program, [*to, "--json", *case.client_words(), "127.0.0.1"], case.spec("client"), fabric)
        code = ended(c, "client", limit)
        if code == 5 and case.transport != "RC" and "exchanges were lost" in c.err:
            ended(s, "server", limit)
            raise Presumed("exchanges were lost, three times")
        pair.true(f"exit code of the client: {code}", code in (0, 2))
        (ran if code == 0 else refused)(case, c, s)
        nothing_left([p for p in (c, s) if p], fabric)
        return "ran" if code == 0 else "refused"
    except pair.Fail as e:
        e.said = [line for p in pair.Process.alive for line in said(p)]
        raise
    finally:
        pair.end_all()
        shutil.rmtree(segment(fabric), ignore_errors=True)  # of ends that were killed


# ---- the smallest that fails

def kind(e):
    """What a failure is about, without the numbers of the case."""
    return re.sub(r"[0-9]+", "N", str(e).partition(":")[0])[:60]


def fails_so(case, fabric, want):
    """Whether it fails in the same way; twice, since it may depend on time."""
    for _ in range(2):
        try:
            run(case, fabric, 15 * pair.SLOW)
        except pair.Fail as e:
            return kind(e) == want
    return False


def shrink(case, fabric, want):
    """Parts left out one after the other, as long as it still fails so and time is left."""
    end = time.monotonic() + SHRINK
    smaller = True
    while smaller:
        smaller = False
        for part in case.parts():
            less = case.without([part])
            if time.monotonic() > end:
                return case
            if fails_so(less, fabric, want):
                case, smaller = less, True
    return case


def commands(case):
    for end, words in ("server", case.server_words()), ("client", [*case.client_words(), "127.0.0.1"]):
        yield f"{end}: softverbs -d '{case.spec(end)}' {case.program} {' '.join(words)}"


def report_failure(case, e, fabric):
    lines = str(e).splitlines() + e.said
    lines.append(f"replay: {case.replay()}")
    small = shrink(case, fabric, kind(e))
    lines.append(f"smallest: {small.replay()}")
    return lines + list(commands(small))


# ---- many cases

def work(seed, count, job, jobs, out):
    """Every @jobs-th case; its outcome to the queue."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    pair.LIBC.prctl(1, signal.SIGKILL)
    fabric = f"property{os.getpid()}_{job}"
    for k in range(job, count, jobs):
        case = draw(seed, k)
        try:
            out.put((k, case.program, run(case, fabric), []))
        except pair.Fail as e:
            out.put((k, case.program, "failed", report_failure(case, e, fabric)))
        except Exception as e:  # a bug of the test is a failure of the case
            out.put((k, case.program, "failed", [f"{type(e).__name__}: {e}", case.replay()]))
    out.put(None)


def tell_case(n, k, program, lines):
    print(f"not ok {n} - case {k}, {program}: {lines[0]}")
    for line in lines[1:]:
        print(f"# {line}")
    sys.stdout.flush()


def run_many(seed, count, jobs):
    out = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(seed, count, j, jobs, out)) for j in range(jobs)]
    for w in workers:
        w.start()
    tally, failed, left = {}, 0, jobs
    while left:
        item = out.get()
        if item is None:
            left -= 1
            continue
        k, program, outcome, lines = item
        tally.setdefault(program, []).append(outcome)
        if outcome == "failed":
            failed += 1
            tell_case(failed, k, program, lines)
    for w in workers:
        w.join()
    for n, program in enumerate(sorted(tally), failed + 1):
        of = tally[program]
        count_of = ", ".join(f"{of.count(o)} {o}" for o in ("ran", "refused", "failed") if o in of)
        print(f"{'ok' if 'ran' in of or len(of) < 8 else 'not ok'} {n} - {program}: {count_of}")
    return failed


def run_one(case, show):
    for line in commands(case):
        print(f"# {line}")
    if show:
        print("\n".join(f"# refused: {r}" for r in case.refusals()) or "# to be run")
        return 0
    try:
        print(f"ok 1 - {run(case, f'property{os.getpid()}')}")
        return 0
    except pair.Fail as e:
        tell_case(1, case.number, case.program, str(e).splitlines() + e.said)
        return 1


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--seed", default="1")
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--case", type=int)
    p.add_argument("--without", default="")
    p.add_argument("--show", action="store_true")
    a = p.parse_args()
    seed = int.from_bytes(os.urandom(4), "big") if a.seed == "any" else int(a.seed)
    if pair.LAB:
        print("ok 1 - property # SKIP only softverbs has such devices")
        return 0
    trouble = pair.device_trouble()
    if trouble:
        print(f"ok 1 - property # SKIP {trouble}")
        return 0
    if a.case is not None:
        return run_one(draw(seed, a.case).without(filter(None, a.without.split(","))), a.show)
    print(f"# seed {seed}: tests/pair/property.py --seed {seed} --count {a.count}", flush=True)
    return 1 if run_many(seed, a.count, a.jobs) else 0


if __name__ == "__main__":
    sys.exit(main())
