#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Judges what the two hosts of tests/lab/hosts.sh left in the folder that is the argument."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../pair"))
from output import Report, full_table  # noqa: E402
from pair import Fail, between, case, equal, has, hasnt, main, true  # noqa: E402

FOLDER = sys.argv.pop(1)
NOTICED = 20  # seconds; it should take 10, and after kill -9 2


def left(step, host, what):
    try:
        with open(f"{FOLDER}/{step}.{host}.{what}") as f:
            return f.read()
    except FileNotFoundError:
        raise Fail(f"host {host} left no {what} of step {step}") from None


def codes(step):
    return tuple(int(left(step, host, "code")) for host in "AB")


def seconds(step, host):
    """From the deed to the end of this end."""
    with open(f"{FOLDER}/{step}.cut") as f:
        return float(left(step, host, "end")) - float(f.read())


@case("-cU on both hosts: addresses, 50 integers on the client, 49 on the server, table", device=False)
def plain():
    equal("exit codes", codes("plain"), (0, 0))
    ends = {host: full_table(left("plain", host, "out")) for host in "AB"}
    for host, n in ("B", 50), ("A", 49):
        r = ends[host]
        equal("titles", [b.title for b in r.blocks], ["#, cycles"])
        r.blocks[0].check_count(n)
        true("integers", all(v.isdigit() for v in r.blocks[0].values))
        equal("laps and samples", (r.rows[0]["laps"], r.rows[0]["samples"]), (50, n))
        hasnt("-c never says usec", left("plain", host, "out"), "usec")
    has("GID of the server", ends["A"].addresses[0], r"GID ::ffff:10\.77\.0\.1 \(index 1, RoCE v2\)")
    equal("addresses, crossed", [a[18:] for a in ends["A"].addresses],
          [a[18:] for a in reversed(ends["B"].addresses)])


@case("the medians of both hosts agree within 20 %", device=False)
def medians():
    a, b = (full_table(left("plain", host, "out")).rows[0]["median"] for host in "AB")
    between("ratio", a / b, 0.8, 1.25)


@case("MTU 4200 on one host, 1500 on the other: 1024 on both", device=False)
def mtu():
    equal("exit codes", codes("mtu"), (0, 0))
    a, b = (json.loads(left("mtu", host, "out")) for host in "AB")
    equal("ports", (a["local"]["mtu"], b["local"]["mtu"]), (4096, 1024))
    equal("paths", (a["path"]["mtu"], b["path"]["mtu"]), (1024, 1024))


@case("kill -9 of the server: the client on the other host ends soon, with 4 and the stage", device=False)
def killed():
    equal("exit code of the client", codes("killed")[1], 4)
    between("seconds", seconds("killed", "B"), -1, NOTICED)
    has("the reason", left("killed", "B", "err"), r"lost at stage (warm-up|run)\b")
    true("laps", Report(left("killed", "B", "out")).rows[0]["laps"] > 0)


@case("all packets dropped: both hosts notice, say so, and print what they had", device=False)
def silent():
    for host, code in zip("AB", codes("silent")):
        true(f"exit code {code} of host {host}", code in (1, 4, 6))
        between(f"seconds of host {host}", seconds("silent", host), -1, NOTICED)
        has("the reason", left("silent", host, "err"),
            "lost at stage|nothing came from the peer|transport retry counter exceeded")
        true("laps", Report(left("silent", host, "out")).rows[0]["laps"] > 0)
        print(f"# host {host}: exit code {code} after {seconds('silent', host):.1f} s, "
              f"{left('silent', host, 'err').splitlines()[-1]}")


if __name__ == "__main__":
    main()
