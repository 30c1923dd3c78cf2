#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""In a VM of the lab: every bandwidth program over the wire from rxe1 to rxe0, in the ways that a
kernel's device may do differently. Few and small messages: the wire carries some 6 MB/s here. BW_TIMES: how
often each (1)."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../pair"))
from bw import KEYS, ONE_WAY  # noqa: E402
from pair import client, equal, main, server, table, true  # noqa: E402

# 1 s: an answer that comes after the time-out makes rxe send again, and that may fail (doc/lab.md). Short
# queues: answers come sooner, and what the kernel's backlog does not hold is lost.
CALM = ["-u", 18, "-t", 16, "--warmup", 10]

PLAIN, BOTH = [], ["-b", "-q", 4, "-e"]
SRQ = ["--srq", "-q", 4, "-e"]
UD = ["--transport", "UD"]
UC = ["--transport", "UC"]
PROGRAMS = [
    ("rdma_bw", "read", [PLAIN, BOTH]),
    ("rdma_bw", "receiver", [["--imm", "-b"], ["--imm", *SRQ]]),
    ("rdma_bw", "none", [UC]),
    ("send_bw", "receiver", [PLAIN, BOTH, ["--imm"], SRQ, [*SRQ, "-b"], UC, UD, [*UD, *SRQ]]),
    ("read_bw", "receiver", [PLAIN, BOTH]),
    ("atomic_bw", "receiver", [PLAIN, BOTH]),
]
WAYS = [(program, args, confirmed) for program, confirmed, ways in PROGRAMS for args in ways]
N = 200


def sizes_of(program, args):
    """One packet and several, where there can be several."""
    return [8] if program == "atomic_bw" else [1, 4096] if "UD" in args else [1, 9000]


def run(program, args):
    """The rows of a whole run, the same on both ends."""
    s = server("--json", program=program)
    c = client(s, "--json", *args, program=program)
    for p, name in (c, "client"), (s, "server"):
        equal(f"exit code of the {name}", p.wait(), 0)
    a, b = json.loads(s.out), json.loads(c.out)
    equal("devices", (b["local"]["device"], b["remote"]["device"]), ("rxe1", "rxe0"))
    equal("results of both ends", a["results"], b["results"])
    return b["results"]


@table("{0} {1}: all messages over the wire, told alike on both ends", WAYS * int(os.environ.get("BW_TIMES", "1")))
def over_the_wire(program, args, confirmed):
    sizes = sizes_of(program, args)
    asked = ["-s", ",".join(map(str, sizes))] if program != "atomic_bw" else []
    rows = run(program, [*CALM, "-n", N, *asked, *args])
    ways = [*ONE_WAY, "both"] if "-b" in args else [ONE_WAY[program in ("read_bw", "atomic_bw")]]
    equal("rows", [(r["size"], r["direction"]) for r in rows], [(size, way) for size in sizes for way in ways])
    for r in rows:
        due = 2 * N if r["direction"] == "both" else N
        equal("keys", list(r), KEYS)
        equal("messages", (r["iterations"], r["sent"], r["bytes"]), (due, due, due * r["size"]))
        equal("confirmed", r["confirmed"], confirmed)
        equal("received, lost", (r["received"], r["lost"]), (None, None) if confirmed == "none" else (due, 0))
        true("time went by", r["seconds"] > 0)


if __name__ == "__main__":
    main()
