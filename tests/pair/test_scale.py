#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Set-up of very many queue pairs: round trips through a slow network, one completion queue that
would be too large, limits of the device, what a person is told while it lasts."""
import contextlib
import json
import os
import pty
import queue
import signal
import socket
import threading
import time

from pair import (Fail, SLOW, case, client, equal, has, hasnt, main, messages, need_softverbs,
                  one_message, pair, server, table, true)

MANY = 1024
DELAY = 0.025  # seconds, each way
HEADER = 8     # of a frame: four bytes of magic, four of length


# ---- a slow network

class Direction:
    """Bytes of one direction of a connection: delayed, in order, as many under way as there are."""
    def __init__(self, proxy, name, source, sink):
        self.proxy, self.name, self.source, self.sink = proxy, name, source, sink
        self.under_way = queue.Queue()
        self.text = b""
        for f in self.take, self.pass_on:
            threading.Thread(target=f, daemon=True).start()

    def take(self):
        data = b"x"
        while data:
            with contextlib.suppress(OSError):
                data = self.source.recv(1 << 16)
                self.note(data)
                self.under_way.put((time.monotonic() + DELAY, data))
                continue
            data = b""
            self.under_way.put((0, data))

    def pass_on(self):
        data = b"x"
        while data:
            due, data = self.under_way.get()
            time.sleep(max(0, due - time.monotonic()))
            with contextlib.suppress(OSError):
                self.sink.sendall(data) if data else self.sink.shutdown(socket.SHUT_WR)

    def note(self, data):
        """Keeps the type of each frame that is complete."""
        self.text += data
        while len(self.text) >= HEADER:
            end = HEADER + int.from_bytes(self.text[4:HEADER], "big")
            if len(self.text) < end:
                return
            kind = json.loads(self.text[HEADER:end])["type"]
            self.proxy.frames.append((time.monotonic(), self.name, kind))
            self.text = self.text[end:]


class Proxy:
    """Stands for server @s: has a .port, and .frames as they came."""
    def __init__(self, s):
        self.frames = []
        self.real = int(s.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        from_client, _ = self.listener.accept()
        from_server = socket.create_connection(("127.0.0.1", self.real))
        for end in from_client, from_server:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Direction(self, "client", from_client, from_server)
        Direction(self, "server", from_server, from_client)

    def set_up(self):
        """The frames up to the barrier, and how long they took."""
        for n, (when, _, kind) in enumerate(self.frames):
            if kind == "go":
                return [f[1:] for f in self.frames[:n + 1]], when - self.frames[0][0]
        raise Fail(f"the barrier never came: {self.frames}")


def through_proxy(name, qps):
    """Frames of the set-up of @qps queue pairs, its seconds, and both documents."""
    s = server("--json", program=name)
    proxy = Proxy(s)
    c = client(proxy, "-n", 2 * qps, "--warmup", 0, "-q", qps, "-s", 64, "--json", program=name)
    for p in c, s:
        equal(f"exit code of {p}", p.wait(), 0)
    return (*proxy.set_up(), [json.loads(p.out) for p in (s, c)])


# Each line is a round trip.
SET_UP = [("client", "hello"), ("server", "hello"),
          ("client", "plan"), ("server", "accept"),
          ("client", "endpoints"), ("server", "endpoints"),
          ("client", "ready"), ("server", "go")]


@table("{0}: the set-up of 1024 queue pairs takes the round trips of one", [("rdma_lat",), ("rdma_bw",)], limit=240)
def round_trips(name):
    need_softverbs()
    for qps in 1, MANY:
        frames, seconds, documents = through_proxy(name, qps)
        equal(f"frames for {qps} queue pairs", frames, SET_UP)
        print(f"# {name} -q {qps}: {seconds:.3f} s from hello to go, "
              f"{len(SET_UP) // 2} round trips of {2000 * DELAY:g} ms")
        for doc in documents:
            check_setup(doc, qps)


def check_setup(doc, qps):
    keys = ["device_usec", "memory_usec", "qps_usec", "exchange_usec", "connect_usec"]
    equal("keys of setup", sorted(doc["setup"]), sorted(keys))
    for key in keys:
        true(f"{key} is {doc['setup'][key]}", isinstance(doc["setup"][key], float) and doc["setup"][key] > 0)
    equal("queue pairs", doc["settings"]["qps"], qps)
    print(f"#   {doc['role']}: " + ", ".join(f"{k[:-5]} {doc['setup'][k] / 1e3:.1f} ms" for k in keys))


# ---- limits of the device

@case("a completion queue that would be too large is split, which is said")
def split():
    need_softverbs("soft0:max_cqe=1000")
    for p in pair([], ["-q", 64, "-t", 128, "-n", 640], spec="soft0:max_cqe=1000"):
        has("note", p.err, r"the completion queues are 10, since one would be too large for soft0$")
    for p in pair([], ["-q", 7, "-t", 128, "-n", 70], spec="soft0:max_cqe=1000"):
        hasnt("note", p.err, "completion queues")


LIMITS = [
    # SPEC, options of the client, the reason, whether a client knows before its plan
    ("soft0:max_qp=10", ["-q", 11], r"--qps 11: soft0 allows at most 10 \(max_qp\)", False),
    ("soft0:max_qp_wr=100", ["-t", 101], r"--tx-depth 101: soft0 allows at most 100 \(max_qp_wr\)", False),
    ("soft0:max_mr_size=65536", ["-s", "64k"],
     r"a memory region of 135168 bytes is needed, soft0 allows at most 65536 \(max_mr_size\): a smaller --size$", False),
    ("soft0:max_mr_size=65536", ["-q", 9],
     r"region of 73728 bytes .* 65536 \(max_mr_size\): a smaller --size, fewer --qps or --mr-per-qp$", False),
    ("soft0:max_msg=8192", ["-s", "64,8193"],
     r"--size 8193: soft0 on the (client|server) allows messages of at most 8192 bytes \(max_msg_sz\)", True),
]


@table("{1} on the {0}, {2}: exit 2, names option and limit",
       [(who, *row) for row in LIMITS for who in ("client", "server")])
def refused(who, spec, args, reason, early):
    need_softverbs(spec)
    specs = {who: spec}
    s = server(spec=specs.get("server"))
    c = client(s, "-n", 100, *args, spec=specs.get("client"))
    equal("exit code of the client", c.wait(), 2)
    one_message("the reason", c, reason)
    if early and who == "client":
        s.wait_err("dropped .*" + reason)
        return
    equal("exit code of the server", s.wait(), 2)
    one_message("the reason", s, reason)


WITHIN = [("soft0:max_qp=10", ["-q", 10]), ("soft0:max_qp_wr=100", ["-t", 100]),
          ("soft0:max_mr_size=65536", ["-q", 9, "--mr-per-qp"]), ("soft0:max_msg=8192", ["-s", 8192])]


@table("{0} {1}: just within the limit, runs", WITHIN)
def within(spec, args):
    need_softverbs(spec)
    pair([], ["-n", 100, *args], server_spec=spec)  # two ends share the limit of QPs


@case("--all ends at the largest message of the device, which is said")
def all_sizes():
    need_softverbs("soft0:max_msg=8192")
    _, c = pair([], ["-a", "-n", 20, "--json"], spec="soft0:max_msg=8192")
    equal("largest size", json.loads(c.out)["results"][-1]["size"], 8192)
    has("note", c.err, "--all ends at 8192 bytes here")


# ---- what a person is told

def held_client(terminal):
    """Standard error of a client whose set-up takes over a second; on a terminal or not."""
    main_end, terminal_end = pty.openpty()
    s = server()
    c = client(s, "-q", 64, "-n", 64, hold="endpoints", stderr=terminal_end if terminal else None)
    os.close(terminal_end)
    wait_held(c)
    time.sleep(1.1)
    c.kill(signal.SIGCONT)
    said = read_all(main_end) if terminal else ""
    os.close(main_end)
    for p in c, s:
        equal(f"exit code of {p}", p.wait(), 0)
    return said if terminal else "\n".join(messages(c, ["^HELD"]))


def wait_held(c):
    end = time.monotonic() + 20 * SLOW
    while time.monotonic() < end:
        with open(f"/proc/{c.pid}/stat", encoding="utf-8") as f:
            if f.read().rsplit(")", 1)[1].split()[0] == "T":
                return
        time.sleep(0.02)
    raise Fail(f"was never held: {c}")


def read_all(fd):
    said = b""
    with contextlib.suppress(OSError):  # EIO: its last user is gone
        while data := os.read(fd, 4096):
            said += data
    return said.decode().replace("\r\n", "\n")


@case("a set-up of more than a second says so on a terminal")
def progress():
    need_softverbs()
    said = held_client(True)
    equal("lines", [line for line in said.splitlines() if "queue pairs" in line],
          ["rdma_lat: connecting 64 queue pairs ..."])


@case("and not where standard error is no terminal")
def no_progress():
    need_softverbs()
    equal("lines", held_client(False), "")


if __name__ == "__main__":
    main()
