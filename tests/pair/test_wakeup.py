#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--events: no wake-up is lost. The time limit of a sleep would hide that, so build/tests/longsleep.so
makes it half a minute. WAKEUP_MESSAGES: how many messages a case has (100,000)."""
import json
import os
import re

from pair import BUILD, LINKED, Fail, Skip, between, client, equal, main, need_softverbs, server, table, true

MESSAGES = int(os.environ.get("WAKEUP_MESSAGES", 100000))
SOAK = MESSAGES >= 1000000
LOST_MS = 25000
LONGSLEEP = f"{BUILD}/tests/longsleep.so"
UP_TO_64K = ",".join(str(1 << i) for i in range(17))

ROWS = [
    # program, options, sizes; the messages of the case are divided among sizes and directions. Shallow
    # queues make an end sleep often.
    ("send_bw", ["-b", "-q", 16, "-s", 64], 1),
    ("send_bw", ["-b", "-q", 16, "-s", 64, "-t", 3, "-r", 4], 1),
    ("send_bw", ["-b", "-q", 16, "-s", 64, "--srq", "--spin", "20us"], 1),
    ("rdma_bw", ["-b", "-q", 16, "-s", 64, "-t", 2], 1),
    ("rdma_bw", ["-b", "-q", 16, "-s", 64, "--imm", "-t", 1, "-r", 1], 1),
    ("read_bw", ["-b", "-q", 16, "-s", 64, "-t", 2], 1),
    ("send_bw", [*(["-a"] if SOAK else ["-s", UP_TO_64K]), "-t", 16, "-r", 16], 24 if SOAK else 17),
    # It sleeps for every message.
    ("send_lat", ["-a"] if SOAK else ["-s", UP_TO_64K], 24 if SOAK else 170),
]


def sleeps(p, name):
    """How often it slept; Fail when one sleep was ended by its limit."""
    told = re.search(r"^longsleep: (\d+) sleeps, longest (\S+) ms$", p.err, re.M)
    true(f"longsleep.so was not in the {name}", told)
    between(f"longest sleep of the {name}, in ms", float(told.group(2)), 0, LOST_MS)
    return int(told.group(1))


@table("{0} -e {1}: every sleep ends by an event", [row[:2] for row in ROWS], limit=100 if not SOAK else 3600)
def no_lost_wakeup(program, args):
    need_softverbs("soft0:async=1")
    if LINKED or not os.path.exists(LONGSLEEP):
        raise Skip("longsleep.so is for the plain build")
    sizes = next(row[2] for row in ROWS if row[:2] == (program, args))
    each = MESSAGES // sizes // (2 if "-b" in args else 1)
    env = {"LD_PRELOAD": LONGSLEEP}
    s = server("--json", spec="soft0:async=1", program=program, env=env)
    c = client(s, "-e", "-n", each, *args, "-T", "none", "--json", spec="soft0:async=2", program=program, env=env)
    limit = 90 if not SOAK else 3000
    equal("exit codes", (c.wait(limit), s.wait(limit)), (0, 0))
    slept = sleeps(c, "client"), sleeps(s, "server")
    true(f"nothing slept: {slept}", max(slept) > 0)
    for r in json.loads(c.out)["results"]:
        equal(f"messages of {r['size']} bytes", r["iterations"], each * (2 if r.get("direction") == "both" else 1))


main()
