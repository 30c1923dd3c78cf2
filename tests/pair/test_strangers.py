#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whoever connects to a server and is no client of ours: one line in the log, and the server goes
on listening; its memory stays flat, and the real client gets its run."""
import json
import re
import socket
import struct
import time

from pair import (LINKED, SLOW, Skip, between, case, client, equal, has, main, one_message, server, start,
                  table, true)

PATIENCE = 5  # seconds that a server gives a stranger
HEARD = 256  # strangers that it hears at once; when one more comes the oldest has to go
FLAT = (64 if LINKED else 4) << 20  # bytes by which its memory may grow; sanitizers keep what is freed


def frame(message):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"VPF1" + struct.pack(">I", len(text)) + text


def hello(**changes):
    return frame({"type": "hello", "protocol": 1, "program": "rdma_lat", "release": "0.1.0",
                  "features": [], "boot_id": "", "candidates": [], **changes})


def connect(s):
    c = socket.create_connection(("127.0.0.1", int(s.port)), 30)
    c.settimeout(30 * SLOW)
    return c


def resident(p):
    with open(f"/proc/{p.pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1)) << 10


def dropped(s):
    return [line for line in s.err.splitlines() if ": dropped " in line]


def until_dropped(s, n, limit, exact=True):
    end = time.monotonic() + limit
    while len(dropped(s)) < n and time.monotonic() < end:
        time.sleep(0.05)
    true(f"{len(dropped(s))} lines in the log, not {n}", len(dropped(s)) == n or
         (not exact and len(dropped(s)) > n))


def served(s):
    """The real client has its run after all that."""
    c = client(s, "-n", 20)
    for p in c, s:
        equal(f"exit code of {p}", p.wait(), 0)


NO_FRAME = "no frame of this protocol"
STRANGERS = [
    # name, what it sends, whether it then closes its side, the reason in the log
    ("random bytes", bytes((7919 * k >> 3) & 0xff for k in range(1 << 16)), True, NO_FRAME),
    ("an HTTP request", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", False, NO_FRAME),
    ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), False, NO_FRAME),
    ("an old tool's line", b"0000:0000:000000:000000:00000000:0000000000000000\0", False, NO_FRAME),
    ("a frame of 4 GiB", b"VPF1\xff\xff\xff\xff" + bytes(1 << 16), False, "too long"),
    ("a frame of 64 KiB and a byte", b"VPF1\x00\x01\x00\x01", False, "too long"),
    ("a frame of nothing", b"VPF1\0\0\0\0", False, "without a JSON object"),
    ("a frame that is no JSON", frame(b"{\"type\":"), False, "without a JSON object"),
    ("JSON that is no object", frame(b"[1,2]"), False, "without a JSON object"),
    ("JSON 10,000 deep", frame(b"{\"a\":" + b"[" * 10000 + b"]" * 10000 + b"}"), False,
     "without a JSON object"),
    ("an object without a type", frame({}), False, "without a type"),
    ("a plan first", frame({"type": "plan"}), False, "no hello"),
    ("a hello without anything", frame({"type": "hello"}), False, "hello without"),
    ("a protocol number of tomorrow", hello(protocol=99), False, r"protocol .*\b1\b.*99|protocol .*99.*\b1\b"),
    ("another program", hello(program="send_lat"), False, "send_lat"),
    ("control characters in a name", hello(program="\x1b[2J\r\n"), False, r"\?\[2J"),
    ("a plan that is empty", hello() + frame({"type": "plan"}), False, "plan"),
    ("a client that died before its plan", hello(), True, "closed the connection"),
    ("nothing, and it goes", b"", True, "closed the connection"),
    ("half a frame, and it goes", b"VPF1\0\0\1\0{", True, "closed the connection"),
    ("half a frame and silence", b"VPF1\0\0\1\0{", False, "nothing that makes sense within 5 s"),
    ("a hello and silence", hello(), False, "nothing that makes sense within 5 s"),
    ("silence", b"", False, "nothing that makes sense within 5 s"),
]


@table("{0}: one line in the log, the real client has its run", [r[:1] for r in STRANGERS])
def stranger(name):
    _, said, closes, reason = next(r for r in STRANGERS if r[0] == name)
    s = server()
    with connect(s) as c:
        try:
            c.sendall(said)
            if closes:
                c.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it may hang up in the middle of all that
        until_dropped(s, 1, PATIENCE + 10 * SLOW)
    has("the reason", dropped(s)[0], reason)
    true("what it sent does not reach the terminal", all(" " <= ch <= "~" for ch in dropped(s)[0]))
    served(s)


@case("all of them at once, five times over: memory stays flat", quick=True)
def all_strangers():
    s = server()
    rounds = [r for r in STRANGERS if r[2] or r[3][:7] != "nothing"]
    before = None
    for n in range(6):
        for _, said, _, _ in rounds:
            with connect(s) as c:
                try:
                    c.sendall(said)
                    c.shutdown(socket.SHUT_WR)
                    while c.recv(65536):
                        pass
                except OSError:
                    pass
        until_dropped(s, (n + 1) * len(rounds), 20 * SLOW)
        before = before or resident(s)
    between("bytes more than after the first round", resident(s) - before, -FLAT, FLAT)
    served(s)


@table("{0} connections at once: the real client has its run meanwhile, memory stays flat",
       [(200,), (600,)], quick=True)
def crowd(n):
    s = server()
    before = resident(s)
    connections = [connect(s) for _ in range(n)]
    until_dropped(s, max(0, n - HEARD), 20 * SLOW, exact=False)
    between("bytes more", resident(s) - before, -FLAT, FLAT)
    served(s)
    equal("lines in the log", len(dropped(s)), n)
    for c in connections:
        c.close()


@case("200 times half a frame of 64 KiB: memory stays flat")
def halves():
    s = server("--keep")
    before = resident(s)
    crowd = [connect(s) for _ in range(200)]
    for c in crowd:
        try:
            c.sendall(b"VPF1\x00\x01\x00\x00" + bytes(60000))
        except OSError:
            pass
    until_dropped(s, 200, PATIENCE + 20 * SLOW)
    between("bytes more", resident(s) - before, -FLAT, 200 * (128 << 10) + FLAT)
    equal("exit code of the real client", client(s, "-n", 20).wait(), 0)
    for c in crowd:
        c.close()


@case("a slow client: a byte every few ms, frames run together")
def proxied():
    s = server()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        c = start(["-p", listener.getsockname()[1], "-n", 20, "127.0.0.1"], lab_device="rxe1")
        a, _ = listener.accept()
        with a, connect(s) as b:
            forward_slowly(a, b)
    for p in c, s:
        equal(f"exit code of {p}", p.wait(), 0)


def forward_slowly(a, b):
    """Between two sockets until one end closes: the first 300 bytes one by one, then in pieces of 7."""
    pieces = [1] * 300
    for x in a, b:
        x.settimeout(0.001)
    while True:
        for x, y in (a, b), (b, a):
            try:
                got = x.recv(pieces.pop() if pieces else 4096)
            except socket.timeout:
                continue
            except OSError:
                return
            if not got:
                return
            for k in range(0, len(got), 7):
                y.sendall(got[k:k + 7])


def memory_there():
    with open("/proc/meminfo") as f:
        return int(re.search(r"MemAvailable:\s+(\d+) kB", f.read()).group(1)) << 10


@table("a plan that needs more memory than the {0} has: refused with the reason on both ends",
       [("client",), ("server",)], quick=True)
def no_memory(who):
    need = 10 ** 8 * 24  # who prints samples keeps 10^8 of them, who does not only counts
    if memory_there() > need:
        raise Skip(f"there are more than {need >> 20} MiB")
    s = server(*(["-U"] if who == "server" else []))
    c = client(s, "-D", "100s", *(["-U"] if who == "client" else []))
    equal("exit code of the client", c.wait(), 2)
    one_message("the reason", c, "needs .* of memory")
    if who == "server":  # a client that knows it sends no plan, and the server goes on listening
        equal("exit code of the server", s.wait(), 2)


if __name__ == "__main__":
    main()
