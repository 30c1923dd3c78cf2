#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""In a VM of the lab: --rdma-cm and --path-record between rxe0 and rxe1. CM_RUNS: runs in a row (12)."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../pair"))
import pair as ends  # noqa: E402
from ends import NOTICED  # noqa: E402
from pair import case, end_all, equal, has, main, messages, one_message, server, table, true  # noqa: E402

SERVER, CLIENT, NOWHERE = "10.77.0.1", "10.77.0.2", "10.99.0.1"
FEW = ["-n", 20, "--warmup", 0]
DROPPED = [": dropped ", ": ended by signal"]


def client(s, *args, host=SERVER, bind=CLIENT, **more):
    return ends.client(s, *(["--bind", bind] if bind else []), *args, host=host, **more)


def both(server_args, client_args, program="rdma_lat"):
    """A whole run of @program over the wire, and nothing on stderr."""
    ends.PROGRAM = program
    try:
        s = server(*server_args)
        c = client(s, *client_args)
        for p, name in (c, "client"), (s, "server"):
            equal(f"exit code of the {name}", p.wait(), 0)
        return s, c
    finally:
        ends.PROGRAM = "rdma_lat"


def refused(client_args, text, server_args=(), code=2, **where):
    """The client ends with @code and one line like @text; the server goes on."""
    s = server(*server_args)
    c = client(s, *client_args, **where)
    equal("exit code of the client", c.wait(NOTICED), code)
    one_message("the reason", c, text)
    equal("the server", s.code, None)
    s.kill(signal.SIGTERM)
    s.wait(NOTICED)
    equal("lines of the server", messages(s, DROPPED), [])


# ---- every program, every option

MANY = ["-u", 15, "--retry-count", 6, "--rnr-retry", 5, "--min-rnr-timer", 11, "--sl", 2, "--traffic-class", 104,
        "-m", 1024]
FEW_OUT = ["-t", 16, "-u", 18]  # what soft-RoCE takes without a loss
SMALL = [*FEW_OUT, "-s", "512,4k"]
ROWS = [("rdma_lat", [*MANY, "--flow-label", 5, "--imm"]),
        ("rdma_lat", ["-q", 64, "--flow-label", "7+"]), ("send_lat", ["--transport", "UD", "-q", 8, *MANY]),
        ("send_lat", ["--srq", "-q", 4, "-s", "1,64k"]), ("read_lat", ["--outs", 4, "-e"]), ("atomic_lat", []),
        ("rdma_bw", [*SMALL, "-b", "-q", 4]), ("send_bw", [*SMALL, "--srq", "-e"]), ("read_bw", [*SMALL, "-o", 4]),
        ("send_bw", [*SMALL, "--transport", "UD", "--rate", "500/s"]), ("atomic_bw", FEW_OUT)]


def attributes(p):
    return re.findall(r"attributes: (.*)", p.err)


@table("-R and without: both are fine, and ibv_query_qp says the same: {} {}", ROWS)
def same_attributes(program, args):
    without = [attributes(p) for p in both(["-v"], ["-v", *FEW, *args], program)]
    s, c = both(["-v"], ["-v", "-R", "--json", *FEW, *args], program)
    true("there are some", without[0] and without[1])
    equal("attributes of the server", attributes(s), without[0])
    equal("attributes of the client", attributes(c), without[1])
    if "--flow-label" in args and MANY[0] in args:
        has("what was asked for", attributes(c)[0], "timeout 15, retries 6, RNR retries 5, min RNR timer 11, .*"
            "flow label 0x00005, .* traffic class 104")
    for p in s, c:
        equal("lines on stderr", messages(p, [": stage ", " attributes: "]), [])
    doc = json.loads(c.out)
    equal("device, from the opened context", (doc["local"]["device"], doc["remote"]["device"]), ("rxe1", "rxe0"))
    if program.endswith("_bw"):
        equal("messages", {r["iterations"] for r in doc["results"] if r["direction"] != "both"}, {20})
    else:
        equal("laps", [r["iterations"] for r in doc["results"]], [20] * len(doc["results"]))
    print(f"# set-up of {doc['settings']['qps']} QPs by rdma_cm: {doc['setup']['connect_usec'] / 1000:.0f} ms")


@table("--path-record {}", [([],), (["-R"],)])
def record(args):
    s, c = both([], ["--path-record", "--json", *FEW, *args])
    for p in s, c:
        has("told", p.err, r": path record: SL 0, MTU 4096, LID 0x0000 to 0x0000, P_Key 0xffff$")
        equal("lines", len(messages(p)), 1)
    for end in "local", "remote":
        equal(end, json.loads(c.out)[end]["path_record"],
              {"sl": 0, "mtu": 4096, "slid": 0, "dlid": 0, "pkey": 0xffff})


# ---- a group, joined by rdma_cm

GROUP = "239.255.86.80"
RECEIVERS = ["10.77.0.4", "10.77.0.5"]


def members():
    """Devices of which the kernel's IGMP has the group: joined, not only attached to."""
    word = struct.unpack("=I", socket.inet_aton(GROUP))[0]
    found, dev = set(), None
    with open("/proc/net/igmp") as f:
        for line in f.readlines()[1:]:
            if not line.startswith("\t"):
                dev = line.split()[1]
            elif int(line.split()[0], 16) == word:
                found.add(dev)
    return found


@table("--mcast joins by rdma_join_multicast: {}, two receivers, each counts",
       [("send_lat", ["-n", 100]), ("send_bw", ["-n", 200, "--rate", "500/s"])])
def group(program, args):
    for host in RECEIVERS:
        subprocess.run(["ip", "address", "add", f"{host}/24", "dev", "v0"], check=True)
    ends.PROGRAM = program
    try:
        first = server("--bind", RECEIVERS[0])
        servers = [first, server("--bind", RECEIVERS[1], port=first.port)]
        equal("members before", members(), set())
        c = client(first, "--transport", "UD", "--mcast", "-e", "--warmup", 0, "--json", *args,
                   host=",".join(RECEIVERS), hold="ready")
        c.wait_err("^HELD ready$")
        equal("members while the ends are connected", members(), {"v0", "v1"})
        c.kill(signal.SIGCONT)
        c.wait_err(r"\A(.*\n)*HELD ready\n(.*\n)*HELD ready$")  # once for each receiver
        c.kill(signal.SIGCONT)
        for p in c, *servers:
            equal("exit code", p.wait(), 0)
            equal("lines on stderr", messages(p, ["^HELD"]), [])
            true("no word of an attachment without a join", "not joined" not in p.err)
        doc = json.loads(c.out)
        sent = {r["sent"] for r in doc["receivers"]}
        equal("hosts", [r["host"] for r in doc["receivers"]], RECEIVERS)
        equal("lost", [(r["sent"] - r["received"], r["lost"]) for r in doc["receivers"]], [(0, 0), (0, 0)])
        true(f"sent to each: {sent}", len(sent) == 1 and sent.pop() >= args[1])
        equal("members afterwards", members(), set())
    finally:
        ends.PROGRAM = "rdma_lat"
        for host in RECEIVERS:  # messages name the addresses that there are
            subprocess.run(["ip", "address", "del", f"{host}/24", "dev", "v0"], check=True)


# ---- addresses that lead nowhere

@case("-R to the loopback: exit 2, one line with the addresses to use")
def loopback():
    refused(["-R"], rf"127\.0\.0\.1 is the loopback's; name an address .*: {SERVER} \(rxe0\)$", host="127.0.0.1",
            bind=None)


@case("-R to an address on no RDMA device: exit 2, one line with the addresses to use")
def not_rdma():
    subprocess.run(["ip", "address", "add", f"{NOWHERE}/32", "dev", "lo"], check=True)
    refused(["-R"], rf"{NOWHERE} is on no RDMA device; name an address .*: {SERVER} \(rxe0\)", host=NOWHERE, bind=None)
    refused(["--path-record"], rf"{NOWHERE} is on no RDMA device", host=NOWHERE, bind=None)


@case("-R and another device by -d, on either end: exit 2 with both names")
def other_device():
    refused(["-R", "-d", "rxe0"], rf"rdma_cm takes rxe1 port 1 for the client's address {CLIENT}, .* leaves rxe0 port 1")
    refused(["-R"], rf"rdma_cm goes from rxe1 to {SERVER} .* on no port that the server offers: rxe1 port 1",
            server_args=["-d", "rxe1"])


@case("-R and a P_Key that the address has not: exit 2")
def other_pkey():
    refused(["-R", "--pkey", "0x8001"], "P_Key 0xffff, which is not what --pkey asks for")


# ---- ends that do not do their part

def frames(sock):
    while True:
        head = sock.recv(8, socket.MSG_WAITALL)
        if len(head) < 8:
            return
        yield head[:4], sock.recv(struct.unpack(">I", head[4:])[0], socket.MSG_WAITALL)


def pump(source, sink, change):
    try:
        for magic, body in frames(source):
            body = change(body)
            sink.sendall(magic + struct.pack(">I", len(body)) + body)
    except OSError:
        pass
    for sock in source, sink:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def meddler(s, change):
    """A port that leads to server @s; @change is done to the offer of rdma_cm on its way."""
    def accepted(body):
        message = json.loads(body)
        if message["type"] == "accept":
            change(message["rdma_cm"])
        return json.dumps(message).encode()

    def serve(port=s.port):
        near, _ = listener.accept()
        far = socket.create_connection((SERVER, port), source_address=(CLIENT, 0))
        threading.Thread(target=pump, args=(near, far, lambda body: body), daemon=True).start()
        pump(far, near, accepted)
    listener = socket.create_server((SERVER, 0))
    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def meddled(change, client_args):
    """The ends of a run behind a meddler; ended."""
    ends.PROGRAM = "send_lat"
    try:
        s = server()
        s.port, port = meddler(s, change), s.port
        c = client(s, *client_args)
        for p in c, s:
            p.wait(NOTICED)
        s.port = port
        return s, c
    finally:
        ends.PROGRAM = "rdma_lat"


@table("-R to a port of rdma_cm where nobody listens, {}: both ends end soon, with the reason",
       [("RC", r"RDMA_CM_EVENT_REJECTED, reason 8 \(nobody listens there\)$"),
        ("UD", "RDMA_CM_EVENT_UNREACHABLE, reason [0-9]+")])
def closed_port(transport, text):
    s, c = meddled(lambda offer: offer.update(port=1), ["-R", "--transport", transport])
    equal("exit codes", (s.code, c.code), (4, 1))
    one_message("the client's", c, f"rdma_cm from {CLIENT} to {SERVER}, QP 0x[0-9a-f]+: {text}")
    one_message("the server's", s, "peer failed at connect-qp: rdma_cm from")


@table("a request of rdma_cm with another token is a stranger's, {}", [("RC",), ("UD",)])
def stranger(transport):
    s, c = meddled(lambda offer: offer.update(token="0" * 32), ["-R", "--transport", transport])
    equal("exit codes", (s.code, c.code), (4, 1))
    has("the server", s.err, "a stranger's connection request by rdma_cm was rejected")
    has("the client", c.err, "REJECTED, reason 28|UNREACHABLE, reason")


@table("kill -9 of the {} while the queue pairs connect: the other ends soon, with 4", [("server",), ("client",)])
def killed(who):
    s = server(hold="endpoints" if who == "server" else None)
    c = ends.client(s, "--bind", CLIENT, "-R", "-q", 16, *FEW, host=SERVER, hold="endpoints" if who == "client" else None)
    victim, survivor = (s, c) if who == "server" else (c, s)
    victim.wait_err("^HELD endpoints$")
    time.sleep(0.3)
    victim.kill()
    equal("exit code of the survivor", survivor.wait(NOTICED), 4)
    one_message("the reason", survivor, "lost at stage connect-qp|peer .* lost")


@table("a {} that stops while the queue pairs connect: the other ends by its --timeout", [("server",), ("client",)])
def stopped(who):
    limit = ["--timeout", "8s" if who == "client" else "4s"]  # of a server it counts from its start
    s = server(*(limit if who == "client" else []), hold="endpoints" if who == "server" else None)
    c = ends.client(s, "--bind", CLIENT, "-R", *FEW, *(limit if who == "server" else []), host=SERVER,
                    hold="endpoints" if who == "client" else None)
    held, survivor = (s, c) if who == "server" else (c, s)
    held.wait_err("^HELD endpoints$")
    equal("exit code", survivor.wait(NOTICED), 6)
    one_message("the reason", survivor, "timed out at stage connect-qp: rdma_cm has 0 of 1 connections")


@case("SIGINT while the queue pairs connect: both ends end with 4")
def interrupted():
    s = server(hold="endpoints")
    c = client(s, "-R", *FEW)
    s.wait_err("^HELD endpoints$")
    time.sleep(0.3)
    c.kill(signal.SIGINT)
    equal("exit code of the client", c.wait(NOTICED), 4)
    one_message("the reason", c, "ended by signal 2 at stage connect-qp")
    s.kill(signal.SIGCONT)
    equal("exit code of the server", s.wait(NOTICED), 4)


RUNS = int(os.environ.get("CM_RUNS", 12))


@case(f"{RUNS} runs back to back: exit 0, and not a word on stderr")
def in_a_row():
    s = server("--keep")
    for i in range(RUNS):
        c = client(s, "-R", "-n", 3, "--warmup", 0, "--connect-timeout", "20s", *(["-q", 2] if i % 2 else []))
        equal(f"exit code of run {i + 1}", c.wait(), 0)
        equal("lines of the client", messages(c), [])
        c.forget()
    s.kill(signal.SIGTERM)
    s.wait(NOTICED)
    equal("lines of the server", messages(s, [": ended by signal"]), [])


@case("the kernel holds no object of all these runs")
def nothing_left():
    end_all()
    deadline = time.monotonic() + 10
    while objects() != AT_START and time.monotonic() < deadline:
        time.sleep(0.1)
    equal("objects", objects(), AT_START)


def objects():
    return subprocess.run(["rdma", "resource", "show"], check=True, capture_output=True, text=True).stdout.splitlines()


if __name__ == "__main__":
    AT_START = objects()
    main()
