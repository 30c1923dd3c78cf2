#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Options: the client's plan rules, differences are refused on both ends, misuse is one line."""
import json

from pair import (case, client, equal, has, main, one_message, pair, server, start, table, true)

PLAN = {  # option: value on the command line, value in the settings
    "size": ("64", [64]), "iters": ("30", 30), "warmup": ("3", 3), "mtu": ("1024", 1024),
    "tx_depth": ("4", 4), "reap": ("late", "late"), "inline": ("0", 0), "qp_timeout": ("15", 15),
    "retry_count": ("6", 6), "rnr_retry": ("5", 5), "min_rnr_timer": ("11", 11), "sl": ("0", 0),
    "traffic_class": ("8", 8), "hop_limit": ("63", 63), "flow_label": ("5+", "5+"),
}


def words(options):
    return [w for k in options for w in ("--" + k.replace("_", "-"), PLAN[k][0])]


@case("a server without options takes everything from the client", quick=True)
def server_takes_all():
    s, c = pair(["--json"], [*words(PLAN), "--full-rtt", "--json"])
    for p in s, c:
        doc = json.loads(p.out)
        for key, (_, value) in PLAN.items():
            equal(f"{key} of the {doc['role']}", doc["settings"][key], value)
        true("full_rtt is on", doc["settings"]["full_rtt"])
        equal("laps", doc["results"][0]["iterations"], 30)


@case("the same values on both ends are fine")
def same_values():
    pair(words(PLAN), words(PLAN))


DIFFERENCES = [
    # server, client, what the list must have
    (["-s", 4096], ["-s", 64], ["size: client 64, server 4096"]),
    (["-n", 10], ["-n", 20], ["iters: client 20, server 10"]),
    (["-s", 8, "-n", 10, "-m", 512], ["-s", 16, "-n", 20],
     ["size: client 16, server 8", "iters: client 20, server 10", "mtu: client none, server 512"]),
    (["-a"], ["-s", "1,2"], ["size: client 1,2, server 1,2,4,8,16"]),
    (["--full-rtt"], [], ["full-rtt: client false, server true"]),
    (["-D", "1s"], ["-n", 20], ["duration: client none, server 1"]),
    (["-T", "none,none"], ["-T", "0,0"], ["cpu: client 0,0, server none,none"]),
]


@table("refused on both ends: server {0}, client {1}", DIFFERENCES)
def difference(server_args, client_args, want):
    s, c = pair([*server_args, "--json"], [*client_args, "--json"], codes=(2, 2))
    for p in s, c:
        for line in want:
            true(f"{line!r} on stderr", line in p.err)
        doc = json.loads(p.out)
        equal("stage", doc["error"]["stage"], "plan")
        true("no QP was made", doc["path"] is None and doc["setup"]["qps_usec"] is None)
        equal("results", doc["results"], [])


@case("a difference does not end a server with --keep", quick=True)
def keep_survives_difference():
    s = server("--keep", "-n", 10)
    equal("exit code of the one that differs", client(s, "-n", 20).wait(), 2)
    equal("exit code of the next one", client(s, "-n", 10).wait(), 0)


MISUSE = [
    # arguments, the line
    (["--no-such"], "unknown or ambiguous option --no-such"),
    (["-Z"], "unknown option -Z"),
    (["--iter", "5"], "--iter is cut short; write --iters"),
    (["-n"], "a value is missing after -n"),
    (["--iters"], "a value is missing after --iters"),
    (["-n", "0"], "--iters 0: allowed is"),
    (["-n", "abc"], "--iters abc: allowed is"),
    (["-n", ""], "--iters has an empty value"),
    (["-n", "-5"], "--iters -5: allowed is"),
    (["-n", "99999999999999999999"], "--iters 99999999999999999999: allowed is"),
    (["-s", "0"], "--size 0: allowed is"),
    (["-s", "1,,2"], "--size 1,,2: allowed is"),
    (["-s", "3g"], "--size 3g: allowed is"),
    (["-s", "8x"], "--size 8x: allowed is"),
    (["-D", "abc"], "--duration abc: allowed is"),
    (["-D", "0"], "--duration 0: allowed is"),
    (["-x", "-1"], "--gid-index -1: allowed is"),
    (["-p", "65536"], "--port 65536: allowed is"),
    (["-m", "1000"], "--mtu 1000 is no path MTU"),
    (["-q", "16385"], "--qps 16385: allowed is"),
    (["-T", "zero"], "--cpu zero: allowed is"),
    (["--clock", "sun"], "--clock sun: allowed is"),
    (["--post", "x"], "--post x: allowed is"),
    (["--reap", "never"], "--reap never: allowed is"),
    (["--keep=1"], "no value is taken by --keep=1"),
    (["-s", "8", "-a"], "--size and --all"),
    (["-n", "5", "-D", "1"], "--iters and --duration"),
    (["--json", "--csv"], "both want stdout"),
    (["-4", "-6"], "-4 and -6 exclude each other"),
    (["--keep", "host"], "--keep is for servers"),
    (["-p", "0", "host"], "--port 0 is for servers"),
    (["a", "b"], "two hosts: a and b"),
    (["-c", "UD"], "UD is no host; did you mean --transport UD"),
    (["RC"], "RC is no host"),
    (["100"], "100 is no host but a number"),
    ([""], "the host is empty"),
]


@table("misuse: {0}", MISUSE, device=False)
def misuse(args, line):
    p = start(args, plain=True)
    equal("exit code", p.wait(), 2)
    one_message("misuse", p, line.replace("(", r"\("))
    equal("stdout", p.out, "")


ANSWERS = [("--help", "Usage|usage"), ("-h", "Usage|usage"), ("--version", r"^rdma_lat .*protocol \d"),
           ("-V", r"^rdma_lat "), ("--man", r"^\.TH")]


@table("{0} goes to stdout, exit 0", ANSWERS, device=False)
def answer(option, pattern):
    p = start([option], plain=True)
    equal("exit code", p.wait(), 0)
    has("stdout", p.out, pattern)
    equal("stderr", p.err, "")


@case("-F is accepted, with one notice")
def force():
    s, c = pair([], ["-F", "-n", 10])
    has("notice", c.err, "-F is accepted and ignored")


if __name__ == "__main__":
    main()
