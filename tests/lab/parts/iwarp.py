#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""In a VM of the lab: iWARP, between two soft-iWARP devices on the wire. SIW_KO: the module."""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../pair"))
from ends import NOTICED  # noqa: E402
from pair import case, client, equal, has, main, messages, one_message, server, table, true  # noqa: E402

SERVER, CLIENT = "10.77.0.1", "10.77.0.2"


def ready():
    for name in "libcrc32c", "rdma_ucm":
        subprocess.run(["modprobe", name], check=True)
    subprocess.run(["insmod", os.environ["SIW_KO"]], check=True)
    for n in 0, 1:
        subprocess.run(["rdma", "link", "del", f"rxe{n}"], check=True)
        subprocess.run(["rdma", "link", "add", f"siw{n}", "type", "siw", "netdev", f"v{n}"], check=True)


def ends(program, *args):
    s = server("-d", "siw0", program=program)
    return s, client(s, "-d", "siw1", "--bind", CLIENT, *args, host=SERVER, program=program)


@table("{} {} by rdma_cm: exit 0, and the ends agree", [
    ("rdma_lat", ["-n", 100]), ("rdma_lat", ["-n", 100, "-q", 4, "-s", "1,8,64k"]),
    ("send_lat", ["-n", 100, "-e"]), ("send_lat", ["-n", 100, "-q", 4, "--srq", "--verify"]),
    ("read_lat", ["-n", 100, "-s", "8,64k", "--verify"]), ("rdma_bw", ["-n", 200, "-t", 16, "-s", "512,4k"]),
    ("rdma_bw", ["-n", 200, "-t", 16, "-s", 512, "-q", 4, "--verify"]), ("read_bw", ["-n", 200, "-s", "512,4k", "-e"])])
def runs(program, args):
    s, c = ends(program, "-R", "--json", *args)
    for p, name in (c, "client"), (s, "server"):
        equal(f"exit code of the {name}", p.wait(), 0)
        equal(f"lines of the {name}", messages(p), [])
    doc = json.loads(c.out)
    equal("devices", [(doc[e]["device"], doc[e]["link_layer"], doc[e]["gid"]) for e in ("local", "remote")],
          [("siw1", "iWARP", None), ("siw0", "iWARP", None)])
    equal("counts", {r["iterations"] for r in doc["results"]}, {int(args[1])})
    has("the server's header", s.out, r"siw0 port 1 \(iWARP, software device siw\)")


@table("{} {}: exit 2 before connecting, with the reason", [
    ("rdma_lat", [], "client siw1 port 1 and server siw0 port 1 cannot talk: iWARP connects by rdma_cm only; add --rdma-cm"),
    ("rdma_lat", ["-R", "--imm"], "siw1 on the client is iWARP, which has no immediate data; leave out --imm"),
    ("send_bw", ["-R"], "has no immediate data, and the credits of send_bw are such; use rdma_bw or read_bw"),
    ("rdma_bw", ["-R", "-b"], "the end that connects has to send first; leave out --bidirectional and --reversed"),
    ("rdma_bw", ["-R", "--reversed"], "the end that connects has to send first"),
    ("send_lat", ["-R", "--transport", "UD"], "has reliable connections only; leave out --transport"),
    ("rdma_lat", ["-R", "--sl", 3], "--sl: siw1 on the client is iWARP, where TCP decides that; leave it out"),
    ("rdma_lat", ["-R", "--path-record"], "--path-record: siw1 on the client is iWARP"),
    ("rdma_lat", ["-R", "--pkey", "0x7fff"], "iWARP has no P_Keys; leave out --pkey")])
def refused(program, args, text):
    s, c = ends(program, *args)
    equal("exit code of the client", c.wait(NOTICED), 2)
    one_message("the reason", c, re.escape(text))
    equal("the server", s.code, None)
    s.kill(signal.SIGTERM)


@case("kill -9 of the client in the middle: the server ends soon")
def killed():
    s, c = ends("send_lat", "-R", "-D", "60")
    end = time.monotonic() + NOTICED
    while "remote address" not in s.out and time.monotonic() < end:
        time.sleep(0.1)
    true("they are connected", "remote address" in s.out)
    c.kill()
    true("exit code of the server", s.wait(NOTICED) in (1, 4))


if __name__ == "__main__":
    ready()
    main()
