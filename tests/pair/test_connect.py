#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How the two ends find each other: order of start, address families, ports, deadlines."""
import os
import socket
import time

from output import full_table
from pair import (LAB, SLOW, between, case, client, equal, has, hasnt, main, one_message, server, start,
                  table, true)

SHORT = ["-n", 10]


def free_port():
    """A port that nobody listens on now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def no_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return None
    except OSError as e:
        return f"no IPv6 here: {e}"


def both_end_well(s, c):
    for p in c, s:
        equal(f"exit code of {p}", p.wait(), 0)
    full_table(c.out)


@case("the client first, its server 2 s later: says once that it waits", quick=True)
def client_first():
    port = free_port()
    c = start(["-p", port, *SHORT, "127.0.0.1"], lab_device="rxe1")
    c.wait_err("waiting for a server at 127.0.0.1 port")
    time.sleep(2)
    both_end_well(server(port=port), c)
    equal("notes", c.err.count("waiting for a server"), 1)


@case("no server: exit 6 after --connect-timeout")
def no_server():
    begun = time.monotonic()
    c = start(["-p", free_port(), "--connect-timeout", "500ms", "127.0.0.1"], lab_device="rxe1")
    equal("exit code", c.wait(), 6)
    between("seconds", time.monotonic() - begun, 0.5, 5 * SLOW)
    one_message("the reason", c, "no server at 127.0.0.1 port .* within --connect-timeout: Connection refused")


@case("a host that does not exist: exit 2 and its name")
def no_host():
    c = start([*SHORT, "no-such-host.invalid"], lab_device="rxe1")
    true("exit code 1 or 2", c.wait() in (1, 2))
    one_message("the reason", c, "no-such-host.invalid")


FAMILIES = [
    # options of the server, of the client, its host, exit code of the client
    ([], [], "127.0.0.1", 0),
    ([], [], "::1", 0),
    ([], [], "localhost", 0),
    ([], ["-4"], "localhost", 0),
    (["-4"], [], "127.0.0.1", 0),
    (["-4"], [], "localhost", 0),
    (["-4"], [], "::1", 6),
    (["-6"], [], "::1", 0),
    (["-6"], ["-6"], "::1", 0),
    (["-6"], [], "127.0.0.1", 6),
    ([], ["-6"], "127.0.0.1", 2),
    (["--bind", "127.0.0.1"], [], "127.0.0.1", 0),
    (["--bind", "127.0.0.2"], [], "127.0.0.2", 0),
    (["--bind", "127.0.0.2"], [], "127.0.0.1", 6),
    (["--bind", "::1"], [], "::1", 0),
    (["--bind", "::1"], [], "127.0.0.1", 6),
]


@table("server {0}, client {1} to {2}: exit {3}", FAMILIES)
def family(server_args, client_args, host, code):
    s = server(*server_args)
    quick = ["--connect-timeout", "300ms"] if code else []
    c = client(s, *client_args, *SHORT, *quick, host=host)
    equal("exit code of the client", c.wait(), code)
    if code == 0:
        both_end_well(s, c)


@case("a client with --bind comes from that address")
def client_bind():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        c = start(["-p", listener.getsockname()[1], "--bind", "127.0.0.3", *SHORT, "127.0.0.1"],
                  lab_device="rxe1")
        peer, address = listener.accept()
        peer.close()
        equal("address", address[0], "127.0.0.3")
        equal("exit code", c.wait(), 4)


BAD_BIND = [(["--bind", "192.0.2.1"], "192.0.2.1"), (["--bind", "nonsense"], "nonsense")]


@table("{0}, which is not ours: exit 2", BAD_BIND)
def bad_bind(args, text):
    for p in start(["-p", 0, *args], lab_device="rxe0"), \
            start([*args, "127.0.0.1"], lab_device="rxe1"):
        equal(f"exit code of {p}", p.wait(), 2)
        one_message("the reason", p, text)


@table("{0} with the port in the host", [("[::1]",), ("127.0.0.1",), ("localhost",)])
def port_in_host(host):
    s = server()
    both_end_well(s, start([*SHORT, f"{host}:{s.port}"], lab_device="rxe1"))


@case("a brackets-only host: [::1] with -p")
def brackets():
    s = server()
    both_end_well(s, client(s, *SHORT, host="[::1]"))


@case("-p 0: two servers have two ports")
def port_zero():
    a, b = server(), server()
    true("ports differ", a.port != b.port)
    for s in a, b:
        both_end_well(s, client(s, *SHORT))


@case("a port that is taken: exit 2, says so")
def port_taken():
    s = server()
    other = start(["-p", s.port], lab_device="rxe0")
    equal("exit code", other.wait(), 2)
    one_message("the reason", other, rf"port {s.port} \(another server.*Address already in use")
    both_end_well(s, client(s, *SHORT))


@case("a server can have the port of the one before at once")
def port_again():
    port = free_port()
    for _ in range(3):
        s = server(port=port)
        both_end_well(s, client(s, *SHORT))


@case("a server that says nothing: exit 6 after 10 s", limit=60)
def mute_server():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        begun = time.monotonic()
        c = start(["-p", listener.getsockname()[1], *SHORT, "127.0.0.1"], lab_device="rxe1")
        equal("exit code", c.wait(), 6)
        between("seconds", time.monotonic() - begun, 9, 30)
        one_message("the reason", c, "timed out at stage hello: peer 127.0.0.1:.* did not answer in time")


SERVERS = [("HTTP/1.1 400 Bad Request\r\n\r\n", "no frame of this protocol"), ("", "closed the connection"),
           ("VPF1\xff\xff\xff\xff", "too long"), ("VPF1\0\0\0\2{}", "frame without a type"),
           ("VPF1\0\0\0\4null", "without a JSON object"), ("VPF1\0\0\0\x0f{\"type\":\"plan\"}", "plan where hello")]


@table("a server that says {0!a}: exit 4", SERVERS)
def strange_server(said, reason):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        c = start(["-p", listener.getsockname()[1], *SHORT, "127.0.0.1"], lab_device="rxe1")
        peer, _ = listener.accept()
        with peer:
            peer.recv(65536)
            peer.sendall(said.encode("latin-1"))
            peer.shutdown(socket.SHUT_WR)
            equal("exit code", c.wait(), 4)
        one_message("the reason", c, reason)


@case("many starts: who has read \"listening\" is never refused", limit=3600)
def many_starts():
    for _ in range(int(os.environ.get("PAIR_STARTS", 100 if not LAB else 5))):
        s = server()
        c = client(s, "-n", 1, "--warmup", 0)
        for p in c, s:
            equal(f"exit code of {p}", p.wait(), 0)
        hasnt("refused", c.err, "waiting for a server")
        for p in c, s:
            p.forget()


@case("8 pairs at once")
def at_once():
    servers = [server() for _ in range(8)]
    clients = [client(s, *SHORT) for s in servers]
    for s, c in zip(servers, clients):
        both_end_well(s, c)


@case("a second client of a server that is at work is told so, or gives up; the first has its run")
def second_client():
    s = server()
    c = client(s, "-D", "3s", "-v")
    c.wait_err("stage ready")
    other = client(s, *SHORT)
    both_end_well(s, c)
    true("exit code 4 or 6", other.wait() in (4, 6))
    has("the reason", other.err, "lost|timed out|busy")


if __name__ == "__main__":
    why = no_ipv6()
    if why:
        print(f"# {why}")
    main()
