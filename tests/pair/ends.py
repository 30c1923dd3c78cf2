# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pairs that stand at a stage or are in the middle of their laps, for the tests of loss."""
import time

from pair import LAB, SLOW, client, equal, server

NOTICED = 6 * SLOW  # seconds until the survivor has ended; it should take 2
LONG = ["-D", "60s"]
# Many laps of a millisecond, whose samples need little memory.
SLOW_LAPS = None if LAB else "soft0:delay=1ms"
MANY_LAPS = ["-n", 300000]


def held_pair(stage, who, server_args=(), client_args=("-n", 50, "--warmup", 0)):
    """A pair one end of which has stopped after @stage."""
    s = server(*server_args, hold=stage if who == "server" else None)
    c = client(s, *client_args, hold=stage if who == "client" else None)
    victim, survivor = (s, c) if who == "server" else (c, s)
    victim.wait_err(f"^HELD {stage}$")
    return victim, survivor


def running_pair(server_args=(), client_args=LONG, spec=None, program=None):
    """A pair in the middle of its laps."""
    s = server("-v", *server_args, spec=spec, program=program)
    c = client(s, "-v", *client_args, spec=spec, program=program)
    for p in s, c:
        p.wait_err("stage ready$")
    time.sleep(1 * SLOW)
    return s, c


def end_in_time(survivor, limit, code):
    """The survivor ends with @code before @limit seconds are over; how long it took."""
    begun = time.monotonic()
    equal("exit code of the survivor", survivor.wait(limit), code)
    return time.monotonic() - begun
