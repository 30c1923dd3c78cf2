#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""In a VM of the lab: what only a real kernel can show. The last cases take the devices away."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../pair"))
from output import full_table  # noqa: E402
from pair import Fail, case, client, equal, main, one_message, pair, server, start, true  # noqa: E402

IB = "/sys/class/infiniband"


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout


def counters():
    """Packets sent and received of both devices; the kernel reads them anew every 10 ms."""
    time.sleep(0.05)
    found = []
    for dev in "rxe0", "rxe1":
        for name in "sent_pkts", "rcvd_pkts":
            with open(f"{IB}/{dev}/ports/1/hw_counters/{name}") as f:
                found.append(int(f.read()))
    return found


def state(dev):
    with open(f"{IB}/{dev}/ports/1/state") as f:
        return f.read()


def until(what, condition, limit=30):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise Fail(f"waited in vain until {what}")
        time.sleep(0.05)


def wire(up):
    run("ip", "link", "set", "v0", "up" if up else "down")
    word = "ACTIVE" if up else "DOWN"
    until(f"the ports are {word}", lambda: all(word in state(d) for d in ("rxe0", "rxe1")))


def objects():
    """What the kernel holds for programs."""
    return [line for line in run("rdma", "resource", "show").splitlines()]


@case("every lap goes over the wire and back")
def over_the_wire():
    before = counters()
    pair([], ["-n", 100, "--warmup", 0])
    for name, a, b in zip(("rxe0 sent", "rxe0 received", "rxe1 sent", "rxe1 received"), before, counters()):
        true(f"{name} {b - a} packets", b - a >= 200)  # a WRITE and an ACK each way


@case("memlock of 64k as a plain user: one line with the cause and the cure, 4 at the peer")
def memlock():
    for name in os.listdir("/dev/infiniband"):
        os.chmod(f"/dev/infiniband/{name}", 0o666)
    plain = ["prlimit", "--memlock=65536:65536", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    s = server(before=plain)
    c = client(s, "-n", 10, "-s", "1m")
    for p, code in (s, 1), (c, 4):
        equal(f"exit code of {p}", p.wait(), code)
        one_message("the reason", p, r"registering .* limit of locked memory is 64 kB \(ulimit -l unlimited")


@case("a device that is down: one line, exit 2 when it was asked for, else 1")
def down():
    wire(False)
    try:
        for args, code, text in (["-d", "rxe0"], 2, r"rxe0 port 1 is down \(is its network interface up\?\)$"), \
                ([], 1, "rxe0 port 1 is down .*; rxe1 port 1 is down"):
            p = start(["--timeout", "5s", *args], plain=True)
            equal("exit code", p.wait(), code)
            one_message("the reason", p, text)
    finally:
        wire(True)


MISUSE = [("-d", "nope", "no RDMA device nope here; there are rxe0, rxe1"),
          ("-i", 7, "port 7 does not exist: the device has 1 port"), ("-x", 99, "no GID at index 99")]


@case("wrong name, port 7, GID index 99: one line, exit 2")
def misuse():
    for option, value, text in MISUSE:
        p = start([option, value], plain=True)
        equal("exit code", p.wait(), 2)
        one_message("the reason", p, text)


@case("the port is up again: a run is fine")
def up_again():
    s, c = pair([], ["-n", 20])
    full_table(c.out)


@case("the kernel holds no object of all these runs")
def nothing_left():
    until("everything is gone", lambda: objects() == AT_START, 10)


@case("no device: one line with the cure, exit 1, the JSON document is there")
def no_device():
    for dev in "rxe0", "rxe1":
        run("rdma", "link", "delete", dev)
    for args in ["-p", 0], ["127.0.0.1"]:
        p = start(["--json", *args], plain=True)
        equal("exit code", p.wait(), 1)
        one_message("the reason", p, "no RDMA device on this machine; .softverbs rdma_lat")
        equal("stage", json.loads(p.out)["error"]["stage"], "device")


if __name__ == "__main__":
    AT_START = objects()
    main()
