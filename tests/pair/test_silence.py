#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One end lives and does nothing: 5 s of it are survived, after 10 s the other one ends."""
import signal
import time

from ends import LONG, NOTICED, end_in_time, held_pair, running_pair
from output import Report
from pair import SLOW, between, equal, has, main, table, true

IDLE = (8, 10 + 15 * SLOW)  # seconds of the idle deadline, which is 10


@table("SIGSTOP of the {0}: the other one's idle deadline, exit 6", [("client",), ("server",)])
def stopped(who):
    s, c = running_pair()
    victim, survivor = (s, c) if who == "server" else (c, s)
    victim.kill(signal.SIGSTOP)
    between("seconds", end_in_time(survivor, IDLE[1], 6), *IDLE)
    has("the reason", survivor.err, r"nothing came from the peer for 10 s at stage run")
    true("laps", Report(survivor.out).rows[0]["laps"] > 0)
    victim.kill(signal.SIGCONT)
    equal("exit code of the one that was stopped", victim.wait(NOTICED), 4)


@table("--timeout of the {0} ends it while the other one is stopped, exit 6", [("client",), ("server",)])
def timeout_in_silence(who):
    limit = ["--timeout", f"{3 * SLOW}s"]
    s, c = running_pair(limit if who == "server" else [], LONG + (limit if who == "client" else []))
    (c if who == "server" else s).kill(signal.SIGSTOP)
    between("seconds", end_in_time(s if who == "server" else c, 9 if SLOW == 1 else IDLE[1], 6), 0, IDLE[1])


@table("5 s of SIGSTOP of the {0} are survived", [("client",), ("server",)])
def stopped_shortly(who):
    s, c = running_pair(client_args=["-D", f"{8 * SLOW}s"])
    victim = s if who == "server" else c
    victim.kill(signal.SIGSTOP)
    time.sleep(5)
    victim.kill(signal.SIGCONT)
    for p in c, s:
        equal(f"exit code of {p}", p.wait(), 0)
    true("the stall is the maximum", Report(s.out).rows[0]["max"] > 1e6)


@table("5 s of silence after {0} of the {1} are survived",
       [("endpoints", "client"), ("ready", "server"), ("run", "client"), ("run", "server")])
def held_shortly(stage, who):
    victim, survivor = held_pair(stage, who)
    time.sleep(5)
    victim.kill(signal.SIGCONT)
    for p in victim, survivor:
        equal(f"exit code of {p}", p.wait(), 0)


@table("silence after {0} of the {1}: the other one gives up, exit 6",
       [("plan", "client"), ("endpoints", "server"), ("go", "server"), ("run", "client")])
def held_long(stage, who):
    victim, survivor = held_pair(stage, who)
    between("seconds", end_in_time(survivor, IDLE[1], 6), 0, IDLE[1])
    has("the reason", survivor.err, r"in time|nothing came from the peer")


if __name__ == "__main__":
    main()
