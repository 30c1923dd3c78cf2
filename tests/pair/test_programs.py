#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each latency program with each transport and mode: exit codes, counts and JSON of both ends; what is
refused and why; messages that are lost; ends that die, are told to end, or lose their port.
PAIR_ALL=1: every program with every mode, which takes some minutes."""
import contextlib
import glob
import json
import os
import re
import signal
import tempfile
import time

from ends import NOTICED, end_in_time
from output import full_table
from pair import (LAB, SLOW, Skip, case, client, equal, has, main, messages, need_softverbs, one_message,
                  server, start, table, true)

ALL = "PAIR_ALL" in os.environ
LAPS = 30
FEW = ["-n", LAPS, "--warmup", 3]
IMM = ("rdma_lat", ["--imm"])
SWAP = ("atomic_lat", ["-A", "cmp-swap"])
SEND, READ, ADD, WRITE = (("send_lat", []), ("read_lat", []), ("atomic_lat", []), ("rdma_lat", []))
PINGPONGS, FETCHES = (WRITE, IMM, SEND), (READ, ADD, SWAP)
RECEIVES = (IMM, SEND)


def crossed(programs, modes, few=1):
    """Rows of each program with each mode; unless all are wanted, of those after the first one with
    @few modes, in turns."""
    rows = []
    for i, (program, more) in enumerate(programs):
        chosen = modes if ALL or i == 0 else [modes[(i * few + k) % len(modes)] for k in range(few)]
        rows += [(program, more, mode) for mode in chosen]
    return rows


def fetches(program):
    return program in ("read_lat", "atomic_lat")


@contextlib.contextmanager
def files(n):
    with tempfile.TemporaryDirectory() as where:
        yield [os.path.join(where, str(i)) for i in range(n)]


class Run:
    """A pair that ran to its end: what each end printed, and its JSON."""
    def __init__(self, program, args=(), server_args=(), codes=(0, 0), specs=("soft0", "soft0")):
        with files(2) as paths:
            s = server(*server_args, f"--json={paths[0]}", program=program, spec=specs[0])
            c = client(s, *args, f"--json={paths[1]}", program=program, spec=specs[1])
            for p, name, code in (c, "client", codes[1]), (s, "server", codes[0]):
                equal(f"exit code of the {name}", p.wait(), code)
            self.docs = []
            for path in paths:
                with open(path) as f:
                    self.docs.append(json.load(f))
        self.server, self.client = s, c

    def results(self, end):
        return self.docs[end]["results"]


def mirrored(docs):
    """What each end says of the other is what that says of itself."""
    s, c = docs
    for key in "host", "device", "port", "lid", "gid", "cpu":
        equal(f"the server's {key}", s["local"][key], c["remote"][key])
        equal(f"the client's {key}", c["local"][key], s["remote"][key])
    local = ("post", "cycles", "unsorted", "sorted", "json", "csv", "port", "clock", "cpu", "dump", "ib_dev")
    for key, value in c["settings"].items():
        if key not in local:
            equal(f"setting {key} of both", s["settings"][key], value)


def due_samples(program, laps, end):
    if end == 1:
        return laps
    return 0 if fetches(program) else laps - 1


def check_counts(run, program, sizes, laps=LAPS):
    kind = "full_rtt" if fetches(program) else "half_rtt"
    for end, p in enumerate((run.server, run.client)):
        rows, results = full_table(p.out, len(sizes)).rows, run.results(end)
        done = 0 if fetches(program) and end == 0 else laps
        equal("sizes", [r["size"] for r in results], sizes)
        for row, r in zip(rows, results):
            equal("laps", r["iterations"], done)
            equal("samples", r["samples"], due_samples(program, laps, end))
            equal("bytes, laps and samples of the table", [int(row[k]) for k in ("bytes", "laps", "samples")],
                  [r["size"], r["iterations"], r["samples"]])
            equal("kind", r["latency_kind"], kind)
            equal("lost", r["lost"], 0)
        equal("error", run.docs[end]["error"], None)
        equal("stderr", messages(p, [": note: ", "--all ends at", "the completion queues are"]), [])


def whole(program, more, args, sizes=None, laps=LAPS, server_args=(), specs=("soft0", "soft0")):
    count = [] if "-D" in args else FEW
    run = Run(program, [*count, *more, *args], server_args, specs=specs)
    if sizes is None:
        sizes = [8]
    check_counts(run, program, sizes, laps)
    mirrored(run.docs)
    return run


# ---- programs, transports, modes

MODES = [
    ["--post", "send"], ["--post", "wr"], ["-q", 5], ["--mr-per-qp", "-q", 3], ["--reap", "late"], ["--detail"],
    ["-t", 1], ["-u", 10], ["--clock", "gettime"],
]
SLEEPS = [["-e"], ["-e", "--spin", "20us"], ["-e", "-q", 5]]
RECEIVING = [["--srq"], ["--srq", "-q", 5], ["-r", 1], ["--recv-post-list", 7, "-q", 2, "-r", 16],
             ["--srq", "--recv-post-list", 3, "-q", 4, "-r", 4]]
LOCAL = ("--post", "--clock")

ROWS = (crossed((SEND, READ, IMM, ADD), MODES, 3)
        + [(*SWAP, ["-q", 2]), (*WRITE, ["-q", 5]), (*WRITE, ["--mr-per-qp", "-q", 3])]
        + crossed((SEND, READ, IMM, SWAP), SLEEPS) + crossed((SEND, IMM), RECEIVING, 2)
        + [(*SEND, ["--imm", "-q", 2]), (*SEND, ["-I", 0]), (*IMM, ["-I", 0])])
UNRELIABLE = ([(*WRITE, ["--transport", "UC", *m]) for m in ([], ["-q", 3])]
              + crossed((SEND, IMM), [["--transport", "UC", *m] for m in
                                      ([], ["-e"], ["--srq", "-q", 3], ["--recv-post-list", 4])])
              + [(*SEND, ["--transport", "UD", *m])
                 for m in ([], ["-e"], ["--imm"], ["-q", 5], ["--srq", "-q", 3], ["--post", "send"], ["-I", 0],
                           ["--reap", "late"], ["--recv-post-list", 4], ["-r", 1])])


@table("{0} {1} {2}: exit 0, exact counts, both ends agree", ROWS + UNRELIABLE, quick=True)
def combination(program, more, args):
    at = next((i for i, a in enumerate(args) if a in LOCAL), None)
    local = args[at:at + 2] if at is not None else []
    run = whole(program, more, args, server_args=local)
    if "--post" in args:
        name = "ibv_wr_" if "wr" in args else "ibv_post_send"
        for p in run.server, run.client:
            has("how it was posted", p.out, f"posted by {name}")


SIZES = [1, 7, 8, 63, 64, 4096, 65537]
LISTS = [(*WRITE, SIZES), (*IMM, SIZES), (*SEND, SIZES), (*READ, SIZES),
         (*SEND, ["--transport", "UC"], SIZES), (*SEND, ["--transport", "UD"], [1, 8, 4096])]


@table("{0} with a list of sizes, {1}", [(r[0], r[1] + (r[2] if len(r) > 3 else []), r[-1]) for r in LISTS])
def size_list(program, more, sizes):
    whole(program, more, ["-s", ",".join(map(str, sizes))], sizes)


@table("{0} {1}: --all is 24 sizes, as far as the transport goes",
       [(*SEND, 24), (*READ, 24), (*IMM, 24), ("send_lat", ["--transport", "UD"], 13)])
def all_sizes(program, more, count):
    run = whole(program, [*more, "-n", 5], ["-a"], [2 ** i for i in range(count)], laps=5)
    if count < 24:
        has("the note", run.client.err, "--all ends at 4096 bytes here")


@table("{0} {1} -U and -H on both ends: N samples, in order and sorted", PINGPONGS + FETCHES if ALL else (IMM, READ))
def dumps(program, more):
    run = Run(program, [*FEW, *more, "-UH"], ["-UH"])
    check_counts(run, program, [8])
    for end, p in enumerate((run.server, run.client)):
        n = due_samples(program, LAPS, end)
        blocks = full_table(p.out).blocks
        equal("blocks", len(blocks), 2)
        for b in blocks:
            b.check_count(n)
        equal("sorted", blocks[1].values, sorted(blocks[0].values, key=float))


@table("{0} {1} -D 300ms: both ends count the same laps",
       [*(PINGPONGS + FETCHES if ALL else (IMM, ADD))]
       + [("send_lat", ["--transport", "UD"]), ("send_lat", ["--transport", "UC", "-e"])])
def by_time(program, more):
    run = Run(program, ["-D", "300ms", *more])
    s, c = run.results(0)[0], run.results(1)[0]
    true("laps", c["iterations"] > 0)
    equal("samples of the client", c["samples"], c["iterations"])
    if not fetches(program):
        equal("laps of the server", s["iterations"], c["iterations"])
        equal("samples of the server", s["samples"], s["iterations"] - 1)
    mirrored(run.docs)


@case("inline: asked and granted, nothing above it, none for READ and atomics")
def inline():
    need_softverbs("soft0:max_inline=64")
    for program, args, asked, granted in (("send_lat", ["-s", 8], 8, 8), ("send_lat", ["-s", "8,128"], 128, 64),
                                          ("send_lat", ["-I", 0], 0, 0), ("read_lat", [], 0, 0),
                                          ("atomic_lat", [], 0, 0)):
        run = Run(program, [*FEW, *args], specs=("soft0:max_inline=64",) * 2)
        has(f"{program} {args}", run.client.out, f"inline {asked} asked, {granted} granted")


@table("{0}: --hugepages, or the count that sysctl must reserve", [(p,) for p in ("send_lat", "read_lat")])
def hugepages(program):
    with open("/proc/sys/vm/nr_hugepages") as f:
        if int(f.read()):
            whole(program, [], ["--hugepages"], server_args=["--hugepages"])
            return
    s = server(program=program)
    c = client(s, *FEW, "--hugepages", program=program)
    equal("exit codes", (c.wait(), s.wait(NOTICED)), (1, 4))
    one_message("the reason", c, r"1 huge pages of 2 MiB; reserve them with sysctl vm\.nr_hugepages=1")
    one_message("at the peer", s, r"peer failed at endpoints: .*huge pages")


@case("a completion queue that is too small for all QPs: several, and the count is told")
def split_queues():
    need_softverbs("soft0:max_cqe=600")
    for args in ["-q", 5], ["-q", 5, "-e"]:
        run = whole("send_lat", [], args, specs=("soft0", "soft0:max_cqe=600"))
        has("the note", run.client.err, "the completion queues are 5, since one would be too large for soft0")


# ---- refusals

MISUSE = [
    (["rdma_lat", "--transport", "UD"], "UD has no RDMA WRITE"),
    (["rdma_lat", "--transport", "UD", "--imm"], "UD has no RDMA WRITE with immediate"),
    (["rdma_lat", "-e"], "RDMA WRITE is awaited in memory; add --imm"),
    (["rdma_lat", "--srq"], "--srq is for messages that take a receive, and RDMA WRITE takes none"),
    (["rdma_lat", "--relaxed-ordering", "on"], "RDMA WRITE is awaited in memory"),
    (["rdma_lat", "--allow-loss"], "RC loses nothing"),
    (["read_lat", "--transport", "UC"], "UC has no RDMA READ"),
    (["read_lat", "--transport", "UD"], "UD has no RDMA READ"),
    (["read_lat", "-I", 8], "RDMA READ fetches its data"),
    (["read_lat", "--srq"], "--srq"),
    (["atomic_lat", "--transport", "UC"], "UC has no FETCH_ADD"),
    (["atomic_lat", "-A", "cmp-swap", "--transport", "UD"], "UD has no CMP_SWAP"),
    (["atomic_lat", "-s", 16], "an atomic is of 8 bytes"),
    (["atomic_lat", "-a"], "an atomic is of 8 bytes"),
    (["atomic_lat", "-A", "add"], "allowed is one of fetch-add, cmp-swap"),
    (["send_lat", "--spin", "20us"], "add --events"),
    (["send_lat", "--recv-post-list", 8, "-r", 4], "--recv-post-list is longer than --rx-depth"),
    (["send_lat", "--srq", "-q", 8, "-r", 4], "--srq with fewer receives"),
    (["send_lat", "--rdma-cm", "--transport", "UC"], "rdma_cm connects RC and UD only"),
    (["send_lat", "--transport", "XRC"], "allowed is one of RC, UC, UD"),
]


@table("refused before connecting: {0}", MISUSE, device=False)
def misuse(args, why):
    for host in [], ["127.0.0.1"]:
        p = start(["-p", 1, *args[1:], *host], program=args[0], plain=True)
        equal("exit code", p.wait(10 * SLOW), 2)
        one_message("the reason", p, re.escape(why))
        equal("stdout", p.out, "")


# Program, arguments, the SPEC that lacks something, the reason that both ends print.
LACKS = [
    (["atomic_lat"], "soft0:atomic=none", r"has no atomic operations \(atomic_cap is none\)"),
    (["read_lat"], "soft0:max_rd_atomic=0", r"has no READs and atomics \(max_qp_rd_atom is 0\)"),
    (["send_lat", "--transport", "UD"], "soft0:types=RC", "soft0 has no UD queue pairs, only RC"),
    (["rdma_lat", "--transport", "UC"], "soft0:types=RC|UD", "soft0 has no UC queue pairs, only RC, UD"),
    (["rdma_lat"], "soft0:types=UC", "soft0 has no RC queue pairs, only UC"),
    (["send_lat", "--transport", "UD", "-s", 1025], "soft0:mtu=1024",
     "--size 1025: a UD message is one packet, and the path MTU is 1024 bytes"),
    (["send_lat", "-q", 5], "soft0:max_qp=4", r"--qps 5: soft0 allows at most 4 \(max_qp\)"),
    (["send_lat", "-r", 200], "soft0:max_qp_wr=100", r"--rx-depth 201: soft0 allows at most 100 \(max_qp_wr\)"),
    (["send_lat", "-t", 200, "-r", 16], "soft0:max_qp_wr=100", r"--tx-depth 200: soft0 allows at most 100"),
    (["send_lat", "-r", 100], "soft0:max_cqe=16",
     "a completion queue of 101 entries is needed, soft0 allows 16"),
]


@table("the {1} cannot: {0[0]}", [(r, who) for r in LACKS for who in ("client", "server")])
def lacking(row, who):
    (program, *args), spec, why = row
    need_softverbs(spec)
    s = server(program=program, spec=spec if who == "server" else "soft0")
    c = client(s, *args, program=program, spec=spec if who == "client" else "soft0")
    equal("exit code of the client", c.wait(NOTICED), 2)
    one_message("the client's reason", c, why)
    if re.search(r"on the client|--size", c.err):
        # Found before a plan was sent: the server waits for others.
        s.wait_err(f"dropped .*{why}", NOTICED)
        equal("the server serves on", s.code, None)
        return
    equal("exit code of the server", s.wait(NOTICED), 2)
    has("the server's reason", s.err, why)


@table("{0} on an iWARP port without --rdma-cm", [("send_lat",), ("read_lat",)])
def iwarp(program):
    need_softverbs("soft0:link=iwarp")
    s = server(program=program, spec="soft0:link=iwarp")
    c = client(s, program=program, spec="soft0:link=iwarp")
    equal("exit code", c.wait(NOTICED), 2)
    one_message("the reason", c, "iWARP connects by rdma_cm only; add --rdma-cm$")


# ---- losses

def planted(path):
    """How many messages the device dropped, from its trace."""
    lines = []
    for name in glob.glob(path + ".*"):
        with open(name) as f:
            lines += [s for s in f if s.startswith("fault ") and "kind=drop" in s]
    return len(lines)


# Program, arguments, how many a lost answer and a lost message cost: one lap each.
DROPS = [20, 40] if ALL else [20]  # two that are apart: a repetition is not lost as well
LOSSY = [("send_lat", ["--transport", "UC"]), ("send_lat", ["--transport", "UD"]),
         ("send_lat", ["--transport", "UD", "-q", 3]), ("send_lat", ["--transport", "UD", "-e"]),
         ("send_lat", ["--transport", "UC", "--reap", "late", "--imm"]),
         ("send_lat", ["--transport", "UD", "--srq", "-q", 2, "--recv-post-list", 2]),
         ("send_lat", ["--transport", "UD", "--detail"]), ("rdma_lat", ["--transport", "UC", "--imm", "-q", 2]),
         ("rdma_lat", ["--transport", "UC"]), ("rdma_lat", ["--transport", "UC", "-q", 3])]
CALM = ["-n", 60, "--warmup", 0]


def lossy_pair(program, args, who, fault, codes):
    with files(1) as (trace,):
        need_softverbs(f"soft0:{fault}")
        spec = f"soft0:{fault},trace={trace}"
        specs = (spec, "soft0") if who == "server" else ("soft0", spec)
        run = Run(program, [*CALM, *args], codes=codes, specs=specs)
        run.dropped = planted(trace)
    return run


@table("{0} {1}, messages of the {2} lost: counted, exit 0 with --allow-loss",
       [(p, a, who) for i, (p, a) in enumerate(LOSSY) for who in ("client", "server")
        if ALL or i in (2, 8) or (i % 2 == 0) == (who == "server")])
def allowed_loss(program, args, who):
    n = len(DROPS)
    run = lossy_pair(program, [*args, "--allow-loss"], who, ",".join(f"drop=1@{k}" for k in DROPS), (0, 0))
    equal("messages that the device dropped", run.dropped, n)
    s, c = run.results(0)[0], run.results(1)[0]
    equal("laps of the client", c["iterations"], 60)
    equal("lost", (s["lost"], c["lost"]), (n, n))
    equal("samples of the client", c["samples"], 60 - n)
    # The server answers what it gets.
    equal("laps of the server", s["iterations"], 60 if who == "server" else 60 - n)
    # The wait for what was lost (250 ms) is no sample of the client.
    true(f"the longest sample, {c['max_usec']:.0f} usec", c["max_usec"] < 124e3)


@table("{0} {1}, a message of the {2} lost: exit 5 on both ends",
       [(*LOSSY[1], "client"), (*LOSSY[0], "server"), (*LOSSY[8], "server")])
def loss(program, args, who):
    run = lossy_pair(program, args, who, "drop=1@20", (5, 5))
    equal("messages that the device dropped", run.dropped, 1)
    for end, p in enumerate((run.server, run.client)):
        one_message("the reason", p, r"1 of \d+ exchanges were lost; --allow-loss takes that for no failure")
        equal("lost", run.results(end)[0]["lost"], 1)
        has("error of the JSON", run.docs[end]["error"]["text"], "were lost")


@table("{0} {1}: no loss without a fault, also with -D", [(p, a) for p, a in (LOSSY[1], LOSSY[8])])
def no_loss(program, args):
    run = Run(program, ["-D", "200ms", *args, "--allow-loss"])
    for end in 0, 1:
        equal("lost", run.results(end)[0]["lost"], 0)


# ---- ends that come too early

EARLY = [IMM, ("send_lat", ["--transport", "UD", "-e"]), READ, *([SEND, ("read_lat", ["-e"]), ADD] if ALL else [])]


def running(program, more, spec=None, args=("-D", "60s")):
    s = server("-v", program=program, spec=spec)
    c = client(s, "-v", *args, *more, program=program, spec=spec)
    for p in s, c:
        p.wait_err("stage ready$")
    time.sleep(0.15 * SLOW)
    return s, c


@table("{0} {1}: kill -9 of the {2}: the other one ends with 4",
       [(p, more, who) for p, more in EARLY for who in ("client", "server")])
def killed(program, more, who):
    s, c = running(program, more)
    victim, survivor = (s, c) if who == "server" else (c, s)
    victim.kill()
    end_in_time(survivor, NOTICED, 4)
    has("the reason", survivor.err, r"peer \S+ lost at stage (warm-up|run)\b")
    full_table(survivor.out)


@table("{0} {1}: SIGINT of the {2}: both report and end with 0",
       [(p, more, who) for p, more in EARLY for who in ("client", "server")])
def interrupted(program, more, who):
    s, c = running(program, more)
    (s if who == "server" else c).kill(signal.SIGINT)
    for p, name in (c, "client"), (s, "server"):
        equal(f"exit code of the {name}", p.wait(NOTICED), 0)
    laps = [full_table(p.out).rows[0]["laps"] for p in (s, c)]
    true("laps", laps[1] > 0)
    equal("laps of the server", laps[0], 0 if fetches(program) else laps[1])


@table("{0} {1}: --timeout of the {2}: exit 6 there, 4 at the peer",
       [(p, more, who) for p, more in (SEND, READ) for who in ("client", "server")])
def timeout(program, more, who):
    limit = ["--timeout", f"{800 * SLOW}ms"]
    s = server(*(limit if who == "server" else []), program=program)
    c = client(s, "-D", "60s", *more, *(limit if who == "client" else []), program=program)
    for p, name in (c, "client"), (s, "server"):
        equal(f"exit code of the {name}", p.wait(NOTICED), 6 if name == who else 4)
        has("the reason", p.err, "the run did not end within --timeout")


@table("{0} {1}: the {2}'s port goes down: both end and name the event",
       [(p, more, who) for p, more in EARLY for who in ("client", "server")])
def port_down(program, more, who):
    spec = "soft0:event=PORT_ERR@500ms"
    need_softverbs(spec)
    s = server(program=program, spec=spec if who == "server" else "soft0")
    if who == "client":
        c = client(s, "-D", "60s", *more, program=program, spec=spec)
    else:
        c = client(s, "-D", "60s", *more, program=program)
    failing, other = (s, c) if who == "server" else (c, s)
    end_in_time(failing, NOTICED, 1)
    end_in_time(other, NOTICED, 4)
    one_message("the reason", failing, "soft0 reports an event: .*port error")
    one_message("at the peer", other, "peer failed at .*soft0 reports an event: .*port error")


if __name__ == "__main__":
    main()
