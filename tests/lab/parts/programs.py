#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""In a VM of the lab: every latency program once over soft-RoCE from rxe1 to rxe0, with each transport
that it has: exit 0, exact counts, and both ends agree (tests/pair/test_programs.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../pair"))
import pair  # noqa: E402
import test_programs  # noqa: E402
from pair import equal, has, main, table  # noqa: E402

pair.CASES.clear()  # those of test_programs

ROWS = [("rdma_lat", ["RC"]), ("rdma_lat", ["UC"]), ("rdma_lat", ["RC", "--imm"]), ("rdma_lat", ["UC", "--imm"]),
        ("send_lat", ["RC"]), ("send_lat", ["UC"]), ("send_lat", ["UD"]), ("send_lat", ["UD", "-e"]),
        ("send_lat", ["RC", "--srq", "-q", 3]), ("read_lat", ["RC"]), ("read_lat", ["RC", "-e"]),
        ("atomic_lat", ["RC"]), ("atomic_lat", ["RC", "-A", "cmp-swap"])]


@table("{0} --transport {1} over the wire: exit 0, exact counts, both ends agree", ROWS)
def program(name, args):
    run = test_programs.whole(name, ["--transport", *args], [])
    for p, doc in zip((run.server, run.client), run.docs):
        has("the transport", p.out, f" over {args[0]}, ")
        equal("software", doc["local"]["software"], "rxe")
    equal("devices", (run.docs[1]["remote"]["device"], run.docs[1]["local"]["device"]), ("rxe0", "rxe1"))


if __name__ == "__main__":
    main()
