#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Planted faults: whatever fails on one end reaches the other, both stop at once and say why; no call
that fails leaves a leak or an object that is busy (the sanitizer builds look closest)."""
import glob
import re
import shutil
import signal
import tempfile

from ends import NOTICED, end_in_time
from output import Report
from pair import (Fail, Process, case, client, end_all, equal, has, hasnt, main, messages,
                  need_softverbs, one_message, server, table, true)

FEW = ["-n", 4, "--warmup", 1]
BAD = r"ERROR: (Addr|Thread|Undef)\w*Sanitizer|double free|corrupted|busy|Busy|core dumped|runtime error"
LEAK = "LeakSanitizer"


def ends(who, spec, *args, other="soft0", server_args=()):
    """The end with the fault and the other one, started."""
    need_softverbs(spec)
    s = server(*server_args, spec=spec if who == "server" else other)
    c = client(s, *args, spec=spec if who == "client" else other)
    return (s, c) if who == "server" else (c, s)


def both_stop(failing, other, code=1):
    end_in_time(failing, NOTICED, code)
    end_in_time(other, NOTICED, 4)


BOTH = ("client", "server")
POSTS = [(who, how, call) for who in BOTH for how, call in (("send", "post_send"), ("wr", "wr_complete"))]


@table("the first post of the {0} fails (--post {1}): both stop at once and say why", POSTS)
def first_post(who, how, call):
    spec = f"soft0:fail={call}@1:EIO"
    post = ["--post", how]
    failing, other = ends(who, spec, *FEW, *(post if who == "client" else []),
                          server_args=post if who == "server" else [])
    both_stop(failing, other)
    one_message("the reason", failing, r"posting lap 1 \(8 bytes, inline\) on QP 0x[0-9a-f]{6}: Input/output error")
    one_message("at the peer", other, r"peer failed at (warm-up|run): posting lap 1 .*Input/output error")


# Status, number, the hint that must be there.
STATUSES = [
    ("LOC_LEN_ERR", 1, ""), ("LOC_QP_OP_ERR", 2, ""), ("LOC_PROT_ERR", 4, ""), ("WR_FLUSH_ERR", 5, "had failed before"),
    ("REM_INV_REQ_ERR", 9, "path MTU"), ("REM_ACCESS_ERR", 10, "memory region"), ("REM_OP_ERR", 11, ""),
    ("RETRY_EXC_ERR", 12, "firewall"), ("RNR_RETRY_EXC_ERR", 13, "no receive"), ("FATAL_ERR", 19, ""),
]


@table("a work request completes with {0}: name, number, QP, cause on both ends", STATUSES)
def status(name, number, hint):
    failing, other = ends("client", f"soft0:err={name}@3", "-n", 20)
    both_stop(failing, other)
    one_message("the reason", failing, rf"work request \d+ on QP 0x[0-9a-f]{{6}} failed: [a-zA-Z].*"
                                       rf"\(status {number}, vendor error 0x[0-9a-f]+\).*{hint}")
    one_message("at the peer", other, rf"peer failed at (warm-up|run): .*status {number}")
    for p in failing, other:
        Report(p.out)


@case("the server's work request fails: what was measured is printed on both ends")
def status_server():
    failing, other = ends("server", "soft0:err=REM_OP_ERR@30", "-n", 100, "--warmup", 0)
    both_stop(failing, other)
    for p in failing, other:
        true("laps", 20 <= Report(p.out).rows[0]["laps"] <= 30)


@table("the {0} dies in lap 5: the other one ends with 4", [(w,) for w in BOTH])
def dies(who):
    failing, other = ends(who, "soft0:die@5", "-n", 1000)
    equal("signal", failing.wait(), -signal.SIGKILL)
    end_in_time(other, NOTICED, 4)
    has("the reason", other.err, "peer .* lost at stage (warm-up|run)")


@case("an RC message that is lost once is a retry, not an error")
def retried():
    failing, other = ends("client", "soft0:drop=1@5", "-n", 50)
    for p in failing, other:
        equal(f"exit code of {p}", p.wait(), 0)


# ---- async events; with the 20th work request, after which laps take long enough to look around

EVENTS = [
    # event, whether it ends the run, its name as printed
    ("PORT_ERR", True, "port error"), ("DEVICE_FATAL", True, "local catastrophic error"),
    ("CQ_ERR", True, "CQ error"), ("QP_FATAL", True, "local work queue catastrophic error"),
    ("QP_REQ_ERR", True, "invalid request"), ("QP_ACCESS_ERR", True, "access"),
    ("GID_CHANGE", False, ""), ("LID_CHANGE", False, ""), ("SM_CHANGE", False, ""),
    ("PKEY_CHANGE", False, ""), ("PORT_ACTIVE", False, ""), ("CLIENT_REREGISTER", False, ""),
]


@table("event {0}: ends the run: {1}", EVENTS)
def event(name, ending, printed):
    failing, other = ends("client", f"soft0:event={name}@20,delay=steps(19:300ms|24:0)", "-n", 40, "--warmup", 0)
    judge_event(failing, other, ending, printed)


def judge_event(failing, other, ending, printed):
    if not ending:
        for p in failing, other:
            equal(f"exit code of {p}", p.wait(), 0)
        return
    both_stop(failing, other)
    one_message("the reason", failing, f"soft0 reports an event: .*{printed}")
    one_message("at the peer", other, f"peer failed at .*soft0 reports an event: .*{printed}")
    true("laps", Report(failing.out).rows[0]["laps"] > 10)


@case("PORT_ERR of another port is ignored")
def event_elsewhere():
    failing, other = ends("client", "soft0:ports=2,port2.event=PORT_ERR@20,delay=steps(19:300ms|24:0)",
                          "-n", 40, "--warmup", 0, "-i", 1)
    judge_event(failing, other, False, "")


@case("a port that goes down fails a work request: the event is the reason")
def event_behind_status():
    failing, other = ends("client", "soft0:event=PORT_ERR@30,err=LOC_QP_OP_ERR@30", "-n", 100, "--warmup", 0)
    judge_event(failing, other, True, "port error")


@case("PORT_ERR on the server ends both")
def event_server():
    failing, other = ends("server", "soft0:event=PORT_ERR@20,delay=steps(19:300ms|24:0)", "-n", 40,
                          "--warmup", 0)
    judge_event(failing, other, True, "port error")


# ---- service level, traffic class, flow label, hop limit and path bits reach the QP

PATHS = [
    # SPEC, options of the client, fields of the trace's path line
    ("soft0", ["-S", 2], {"sl": "2", "grh": "0"}),
    ("soft0:link=eth,gids=10.1.1.1", ["-S", 3, "--traffic-class", 104, "--flow-label", 5, "--hop-limit", 9],
     {"sl": "3", "tclass": "104", "flow": "0x0*5", "hop": "9", "grh": "1", "sgid": "0"}),
    ("soft0:lmc=2", ["--path-bits", 3], {"bits": "3", "dlid": "4"}),
]


@table("{0} {1}: both QPs have it", PATHS)
def path(spec, args, fields):
    with traced(spec) as t:
        s = server(spec=t.spec)
        c = client(s, *FEW, *args, spec=t.spec)
        for p in c, s:
            equal(f"exit code of {p}", p.wait(), 0)
            line = t.lines(p, r"^path .*of=qp")[-1]
            got = dict(w.split("=", 1) for w in line.split()[1:])
            for key, value in fields.items():
                true(f"{key} is {got[key]}, not {value}", re.fullmatch(value, got[key]))


class traced:
    """A folder for the traces of a SPEC."""
    def __init__(self, spec):
        self.folder = tempfile.mkdtemp()
        self.spec = f"{spec}{',' if ':' in spec else ':'}trace={self.folder}/t"
        need_softverbs(self.spec)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def lines(self, p, pattern):
        text = ""
        for name in glob.glob(f"{self.folder}/t.{p.pid}"):
            with open(name) as f:
                text += f.read()
        return [line for line in text.splitlines() if re.search(pattern, line)]


# ---- every call in turn

TEARDOWN = "(destroy|dereg|dealloc|close)_"
MOST_CALLS = 80  # a run of few laps makes fewer


def one_call(who, k, args):
    """The k-th call of one end fails; True when there was one."""
    with traced(f"soft0:fail=any@{k}:EIO") as t:
        if who == "server":
            begun = try_server(t.spec, args)
        else:
            s = server("--keep")
            begun = (client(s, *args, spec=t.spec), s)
        failing, other = begun
        code = failing.wait(NOTICED)
        if who == "client":  # a client that failed before its plan leaves the server listening
            other.kill(signal.SIGTERM)
        if other:
            other.wait(2 * NOTICED)
        planted = t.lines(failing, "^call ")
        judge_call(f"call {k} ({' '.join(planted)[-80:]})", who, code, failing, other)
        return bool(planted), code


def try_server(spec, args):
    """A server that may fail before it listens; then it has no client."""
    try:
        s = server(spec=spec)
    except Fail:
        return Process.alive[-1], None
    return s, client(s, *args)


def judge_call(what, who, code, failing, other):
    for p in filter(None, (failing, other)):
        hasnt(what, p.err, BAD)
    if not re.search(f"call={TEARDOWN}", what):  # an object whose destruction fails stays
        hasnt(what, failing.err, LEAK)
        true(f"{what}: exit code {code}", code in (0, 1, 2))
        equal(f"{what}: reasons", len(messages(failing)), 1 if code else 0)
    if code == 0 or who == "client" or not other:
        return
    if other.code == 0:  # all was measured, told and taken when the call failed
        has(f"{what}: only tearing down may fail alone", failing.err, f"ibv_{TEARDOWN}")
    elif code == 1:
        equal(f"{what}: exit code of the peer", other.code, 4)
        has(f"{what}: at the peer", other.err, "peer failed at|lost at stage")


@table("the k-th call of the {0} fails, for every k ({1})",
       [(who, how) for who in BOTH for how in ("wr", "send")], limit=280)
def every_call(who, how):
    failed = unplanted = 0
    args = [*FEW, *(["--post", how] if who == "client" else [])]
    for k in range(1, MOST_CALLS):
        planted, code = one_call(who, k, args)
        failed += code != 0
        unplanted = 0 if planted else unplanted + 1
        end_all()
        if unplanted == 3:
            break
    true(f"{failed} calls failed", failed >= 10)
    equal("calls without a fault at the end", unplanted, 3)


if __name__ == "__main__":
    main()
