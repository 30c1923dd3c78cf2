#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--mcast: one sender to several UD receivers, each of which counts; a receiver that loses messages, or
dies; what is refused."""
import json
import signal

from pair import Fail, case, client, equal, has, main, need_softverbs, server, start, true

GROUP = ["--transport", "UD", "--mcast", "-e"]


def receivers(n, program, specs=None):
    """@n servers on one port, each at an address of its own; their host list."""
    hosts = [f"127.0.0.{i + 1}" for i in range(n)]
    port, found = 0, []
    for host, spec in zip(hosts, specs or ["soft0"] * n):
        found.append(server("--bind", host, port=port, spec=spec, program=program))
        port = found[0].port
    return found, ",".join(hosts)


def document(p):
    try:
        return json.loads(p.out)
    except ValueError:
        raise Fail(f"no JSON: {p}: {p.out[:200]}") from None


@case("latency: a lap ends when all have answered, and each counts", quick=True)
def latency():
    need_softverbs()
    servers, hosts = receivers(3, "send_lat")
    c = client(servers[0], *GROUP, "-n", 200, "--warmup", 10, "-s", "8,512", "--json", host=hosts,
               program="send_lat")
    equal("exit code of the client", c.wait(), 0)
    for s in servers:
        equal("exit code of a receiver", s.wait(), 0)
    doc = document(c)
    equal("laps", [r["iterations"] for r in doc["results"]], [200, 200])
    equal("receivers", [(r["sent"], r["received"], r["lost"]) for r in doc["receivers"]], [(420, 420, 0)] * 3)
    has("said", c.err, "attached to and not joined")


@case("bandwidth: each receiver counts what it gets")
def bandwidth():
    need_softverbs()
    servers, hosts = receivers(2, "send_bw", ["soft0", "soft0:drop=100@7"])
    c = client(servers[0], *GROUP, "-n", 300, "--warmup", 0, "-s", 256, "--rate", "2k/s", "--json",
               "--allow-loss", host=hosts, program="send_bw")
    equal("exit code of the client", c.wait(), 0)
    doc = document(c)
    equal("sent", doc["results"][0]["sent"], 300)
    equal("hosts", [r["host"] for r in doc["receivers"]], hosts.split(","))
    for r in doc["receivers"]:
        equal("sent to one", r["sent"], 300)
        equal("lost at one", r["lost"], 300 - r["received"])
    equal("of the result", doc["results"][0]["received"], min(r["received"] for r in doc["receivers"]))
    for s in servers:
        equal("exit code of a receiver", s.wait(), 0)


@case("messages that the sender's device drops are lost at all receivers", quick=True)
def loss():
    need_softverbs()
    servers, hosts = receivers(2, "send_bw")
    c = client(servers[0], *GROUP, "-n", 300, "--warmup", 0, "-s", 256, "--rate", "2k/s", "--json", host=hosts,
               program="send_bw", spec="soft0:drop=3@50")
    equal("exit code of the client", c.wait(), 5)
    lost = [r["lost"] for r in document(c)["receivers"]]
    true(f"lost: {lost}", all(n > 0 for n in lost))


@case("a receiver that dies ends the run")
def death():
    need_softverbs()
    servers, hosts = receivers(2, "send_lat")
    c = client(servers[0], *GROUP, "-D", "60s", host=hosts, program="send_lat")
    c.wait_err("attached to and not joined")
    servers[1].wait_err("attached to and not joined")
    servers[1].kill(signal.SIGKILL)
    equal("exit code of the client", c.wait(30), 4)
    equal("exit code of the other receiver", servers[0].wait(30), 4)


@case("refused: several hosts without --mcast, another transport, no group, several queue pairs", quick=True)
def refused():
    need_softverbs()
    for args, text in ((["a,b"], "only --mcast has"), (["--mcast", "a,b"], "--transport UD"),
                       (["--transport", "UD", "--mcast=10.0.0.1", "-q", 2, "a"], "one queue pair"),
                       (["--transport", "UD", "--mcast=nowhere", "a"], "a group"),
                       (["--transport", "UD", "--mcast", "--dump", "f", "a"], "leave it out with --mcast")):
        p = start(args, program="send_lat")
        equal(f"exit code of {args}", p.wait(), 2)
        has(f"said of {args}", p.err, text)


@case("an address that is no group is refused when it is joined")
def no_group():
    need_softverbs()
    servers, _hosts = receivers(1, "send_lat")
    c = client(servers[0], "--transport", "UD", "--mcast=10.0.0.1", program="send_lat")
    equal("exit code of the client", c.wait(), 2)
    has("said", c.err, r"is no group")
    equal("exit code of the receiver", servers[0].wait(), 2)


if __name__ == "__main__":
    main()
