#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--rdma-cm and --path-record on a device that rdma_cm does not know; tests/lab/cm.sh has the runs by it."""
import signal

from pair import client, equal, has, main, messages, need_softverbs, one_message, server, table

# On a machine with the kernel's rdma_cm the loopback is what is wrong.
WHY = r"rdma_cm is not to be had here .* leave out --rdma-cm and --path-record: |is the loopback's; name an address"


@table("{} on a software device: the client ends with 2 and the reason, the server goes on",
       [("--rdma-cm",), ("--path-record",)])
def refused(option):
    need_softverbs()
    s = server()
    c = client(s, option, "-n", 10)
    equal("exit code", c.wait(10), 2)
    one_message("the reason", c, WHY)
    ok = client(s, "-n", 10)
    equal("exit code without it", ok.wait(), 0)
    equal("exit code of the server", s.wait(), 0)
    has("the server", s.err, "dropped .*: peer failed at plan: rdma_cm")


@table("-v prints the attributes of the QPs: {}", [([], 1), (["-q", 3], 1), (["-q", 3, "--flow-label", "5+"], 3)])
def attributes(args, lines):
    need_softverbs()
    s = server("-v", spec="soft0:link=eth,gids=::ffff:10.0.0.1")
    c = client(s, "-v", "-n", 10, "--sl", 3, *args, spec="soft0:link=eth,gids=::ffff:10.0.0.1")
    for p in c, s:
        equal(f"exit code of {p}", p.wait(), 0)
        said = messages(p, [": stage "])
        equal("lines", len(said), lines)
        has("the first", said[0], r"QP 0x\w+ attributes: state 3, .* timeout 14, retries 7, RNR retries 7, "
            r"min RNR timer 12, .* SL 3, .* hop limit 64")


if __name__ == "__main__":
    main()
