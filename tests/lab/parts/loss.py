#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""In a VM of the lab: a wire that loses packets or breaks; what the devices count of it. The control
connection does not go over that wire."""
import contextlib
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../pair"))
from ends import NOTICED, running_pair  # noqa: E402
from pair import between, case, equal, has, hasnt, main, messages, pair, table, true  # noqa: E402

# What rxe counts when a packet was lost: at the end that sends again, and at the one that misses.
LOSS = ["completer_retry_err", "rcvd_seq_err", "out_of_seq_request", "duplicate_request"]
NETDEVS = ["v0", "v1"]
FOUND = "/tmp/loss-%s.json"


def run(*argv):
    subprocess.run(argv, check=True, timeout=60)


@contextlib.contextmanager
def lossy_wire():
    for dev in NETDEVS:
        run("tc", "qdisc", "add", "dev", dev, "root", "netem", "loss", "1%")
    try:
        yield
    finally:
        for dev in NETDEVS:
            run("tc", "qdisc", "del", "dev", dev, "root")


def measured(program, args, codes=(0, 0)):
    """Both ends of a run, each with its .doc; pinned apart, since a shared CPU makes laps of 4 ms."""
    ends = pair([f"--json={FOUND % 'server'}"], [f"--json={FOUND % 'client'}", "-T", "1,0", *args],
                program=program, codes=codes)
    for p, name in zip(ends, ("server", "client")):
        with open(FOUND % name, encoding="utf-8") as f:
            p.doc = json.load(f)
    return ends


def check_counters(s, c):
    """Both ends tell the same; the counters of losses, added up."""
    local, remote = c.doc["counters"]["local"], c.doc["counters"]["remote"]
    equal("the server's, on both ends", s.doc["counters"]["local"], remote)
    equal("the client's, on both ends", s.doc["counters"]["remote"], local)
    return sum(end[name] for name in LOSS for end in (local, remote))


@case("a sound wire: packets are counted, no loss is, and no line speaks of one")
def sound():
    s, c = measured("rdma_lat", ["-n", 100, "--warmup", 0])
    equal("losses", check_counters(s, c), 0)
    for end in "local", "remote":
        for name in "sent_pkts", "rcvd_pkts":  # a WRITE and an ACK each way; of a write ACKs may be fewer
            between(f"{end} {name}", c.doc["counters"][end][name], 200, 300)
    for p in s, c:
        hasnt("no line", p.out, "^counters, ")


@table("1 % of the packets lost on RC: {0} ends with 0, and the counters show it", [("rdma_lat",), ("send_lat",)])
def lost_on_rc(program):
    with lossy_wire():
        s, c = measured(program, ["-n", 500, "--warmup", 0, "-u", 10])
    lost = check_counters(s, c)
    true("losses are counted", lost > 0)
    for p in s, c:
        equal("laps", p.doc["results"][0]["iterations"], 500)
        has("the line", p.out, "^counters, .*(" + "|".join(LOSS) + r") \d+ \(")
    print(f"# {program}: {c.doc['counters']['local']}")


@table("1 % of the packets lost on UD, {1}: counted as lost, exit {2}",
       [(["--allow-loss"], "--allow-loss", 0), ([], "no option", 5)])
def lost_on_ud(args, _words, code):
    with lossy_wire():
        s, c = measured("send_lat", ["--transport", "UD", "-n", 500, "--warmup", 0, *args], (code, code))
    for p in s, c:
        row = p.doc["results"][0]
        between("lost", row["lost"], 1, 60)
        equal("the peer's count", row["lost"], c.doc["results"][0]["lost"])
        if code:
            equal("lines", len(messages(p)), 1)
            has("the reason", p.err, f"{row['lost']} of .* exchanges were lost")
    print(f"# {c.doc['results'][0]['lost']} lost")


def wire(up):
    run("ip", "link", "set", "v0", "up" if up else "down")
    word = "ACTIVE" if up else "DOWN"
    for dev in "rxe0", "rxe1":
        with open(f"/sys/class/infiniband/{dev}/ports/1/state", encoding="utf-8") as f:
            while word not in f.read():
                time.sleep(0.05)
                f.seek(0)


@table("the wire breaks while {0} runs: both ends end soon and name the event",
       [("rdma_lat",), ("rdma_bw",)])
def breaks(program):
    ends = running_pair(program=program)
    begun = time.monotonic()
    wire(False)
    try:
        codes = [p.wait(NOTICED) for p in ends]
        took = time.monotonic() - begun
    finally:
        wire(True)
    true(f"exit codes {codes}", sorted(codes) in ([1, 1], [1, 4]))
    for p in ends:
        equal("lines", len(messages(p, [": stage ", ": QP 0x"])), 1)
        has("the event", p.err, "rxe[01] reports an event: port error")
    print(f"# {program}: {took:.1f} s")


if __name__ == "__main__":
    main()
