# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs of the bandwidth programs, for their tests."""
import json

import pair
from pair import client, equal, need_softverbs, server

ONE_WAY = ("client_to_server", "server_to_client")
KEYS = ["size", "run", "direction", "iterations", "bytes", "seconds", "avg_gbit_s", "avg_mib_s", "avg_mb_s",
        "peak_gbit_s", "window_s", "min_window_gbit_s", "max_window_gbit_s", "msg_rate_per_s",
        "confirmed", "sent", "received", "lost"]


def start_ends(program, *args, spec="soft0", server_spec=None, client_spec=None, server_args=()):
    """Both ends, each with a JSON document as all of stdout."""
    need_softverbs(spec)
    pair.PROGRAM = program
    s = server("--json", *server_args, spec=server_spec or spec)
    return s, client(s, "--json", *args, spec=client_spec or spec)


def run(program, *args, codes=(0, 0), **more):
    """Results of a whole run, the same on both ends."""
    s, c = start_ends(program, *args, **more)
    for p, name, code in (c, "client", codes[1]), (s, "server", codes[0]):
        equal(f"exit code of the {name}", p.wait(), code)
    a, b = json.loads(s.out), json.loads(c.out)
    equal("results of both ends", a["results"], b["results"])
    for r in b["results"]:
        equal("keys", list(r), KEYS)
    return b["results"]
