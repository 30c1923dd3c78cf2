#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Devices of every kind: what cannot be used is one line that names cause and cure, what can be used
is; both ends may describe their device differently."""
import json
import os

from output import Report
from pair import (LINKED, Skip, case, client, equal, has, main, need_softverbs,
                  one_message, pair, server, start, table, true)


def document(p):
    return json.loads(p.out)


# ---- no device can be used: said at the start

@case("no device: one line with the cure, exit 1, the JSON document is there", device=False)
def no_device():
    if os.path.exists("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"):
        raise Skip("this machine has a device")
    if LINKED:
        raise Skip("the device is linked in")
    for args in [], ["127.0.0.1"]:
        p = start(["--json", *args], plain=True)
        equal("exit code", p.wait(), 1)
        one_message("the reason", p, r"no RDMA device on this machine; .softverbs rdma_lat")
        doc = document(p)
        equal("stage", doc["error"]["stage"], "device")
        true("text", "no RDMA device" in doc["error"]["text"] and doc["results"] == [])


UNUSABLE = [
    # SPEC, options, exit code, the reason
    ("soft0:state=down", [], 1, r"soft0 port 1 is down \(cable\? subnet manager\?\)"),
    ("soft0:state=down", ["-d", "soft0"], 2, "soft0 port 1 is down"),
    ("soft0:state=init", [], 1, "soft0 port 1 is init"),
    ("soft0:link=eth,state=down", [], 1, r"soft0 port 1 is down \(is its network interface up\?\)"),
    ("soft0", ["-d", "nope"], 2, "no RDMA device nope here; there is soft0"),
    ("soft0;soft1", ["-d", "nope"], 2, "no RDMA device nope here; there are soft0, soft1"),
    ("soft0", ["-i", 7], 2, "soft0 port 7 does not exist: the device has 1 port"),
    ("soft0:ports=2", ["-i", 7], 2, "soft0 port 7 does not exist: the device has 2 ports"),
    ("soft0", ["-x", 99], 2, "soft0 port 1 has no GID at index 99"),
    ("soft0:link=eth,gids=none", [], 1, "soft0 port 1 has no GID .*GID table is empty"),
    ("soft0:link=eth,gids=none", ["-d", "soft0"], 2, "soft0 port 1 has no GID .*GID table is empty"),
    ("soft0:lid=0", [], 1, "soft0 port 1 has LID 0: no subnet manager"),
    ("soft0:fail=open_device@1:EPERM", [], 1, "soft0 cannot be opened: Operation not permitted"),
    ("soft0:fail=query_device@1:EIO", [], 1, "soft0 cannot be queried"),
    ("soft0:fail=query_port@1:EIO", [], 1, "soft0 port 1 cannot be queried"),
    ("soft0:fail=query_gid@1:EIO", [], 1, "soft0 port 1 has a GID that cannot be read"),
    ("soft0:fail=query_gid_table@1:EIO", [], 1, "soft0 port 1 has a GID table that cannot be read"),
    ("soft0:fail=query_pkey@1:EIO", [], 1, "soft0 port 1 has P_Keys that cannot be read"),
    ("soft0:state=down;soft1:lid=0", [], 1, "soft0 port 1 is down .*; soft1 port 1 has LID 0"),
]


@table("{0} {1}: exit {2}, says why", UNUSABLE)
def unusable(spec, args, code, reason):
    need_softverbs(spec)
    for role in [], ["127.0.0.1"]:
        p = start(["-p", 1, "--json", *args, *role], spec=spec)
        equal("exit code", p.wait(), code)
        one_message("the reason", p, reason)
        equal("stage", document(p)["error"]["stage"], "device")


# ---- pairs that can talk

ETH = "soft0:link=eth,gids="
TALK = [
    # SPEC of server, of client, options of the client, what "path" of both must be, in the text
    ("soft0", "soft0", [], {"grh": False, "mtu": 4096}, "InfiniBand"),
    (ETH + "10.1.1.1", ETH + "10.1.1.2", [], {"grh": True}, r"GID ::ffff:10.1.1.2 \(index 0, RoCE v2\)"),
    (ETH + "fe80::1|10.1.1.1", ETH + "fe80::2|10.1.1.2", [], {"grh": True}, "GID ::ffff:10.1.1.2 .index 1"),
    (ETH + "10.1.1.1|fe80::1", ETH + "fe80::2|10.1.1.2", [], {"grh": True}, "GID ::ffff:10.1.1.1 .index 0"),
    (ETH + "fe80::1|10.1.1.1", ETH + "fe80::2|10.1.1.2", ["-x", 0], {"grh": True}, "GID fe80::2 .index 0"),
    (ETH + "10.1.1.1/v1|10.1.1.1", ETH + "10.1.1.2|10.1.1.2/v1", [], {}, r"10.1.1.2 \(index 0, RoCE v2\)"),
    (ETH + "10.1.1.1/v1", ETH + "10.1.1.2/v1", [], {}, r"10.1.1.2 \(index 0, RoCE v1\)"),
    ("soft0:link=eth", "soft0:link=eth", [], {"grh": True}, "GID fe80::"),
    ("soft0:grh_required", "soft0:grh_required", [], {"grh": True}, r"GID fe80::.* \(index 0, IB\)"),
    ("soft0", "soft0:grh_required", [], {"grh": True}, r"GID fe80::.* \(index 0, IB\)"),
    ("soft0", "soft0", ["-x", 0], {"grh": True}, r"GID fe80::.* \(index 0, IB\)"),
    ("soft0:lid=3471", "soft0", [], {"grh": False}, "LID 0x0d8f"),
    ("soft0:mtu=1024", "soft0", [], {"mtu": 1024}, "MTU 1024"),
    ("soft0", "soft0:mtu=512", [], {"mtu": 512}, "MTU 512"),
    ("soft0", "soft0:mtu=512", ["-m", 2048], {"mtu": 512}, "MTU 512"),
    ("soft0", "soft0", ["-m", 256], {"mtu": 256}, "MTU 256"),
    ("soft0:pkeys=0xffff|0x8001", "soft0:pkeys=0x8001", [], {}, ""),
    ("soft0:pkeys=0xffff|0x8001", "soft0:pkeys=0xffff|0x0001", ["--pkey", "0x8001"], {}, ""),
    ("soft0:pkeys=0x0001", "soft0:pkeys=0x8001", [], {}, ""),
    ("soft0:max_inline=0", "soft0:max_inline=0", [], {"inline_granted": 0}, "inline 8 asked, 0 granted"),
    ("soft0:max_inline=28", "soft0:max_inline=28", ["-s", 64], {"inline_granted": 28}, "64 asked, 28 granted"),
    ("soft0:max_inline=60", "soft0:max_inline=60", ["-s", "8,60,61,100"], {"inline_granted": 60}, ""),
    ("soft0:max_inline=400", "soft0:max_inline=400", ["-s", 256], {"inline_granted": 256}, ""),
    ("soft0:max_rd_atomic=1", "soft0:max_rd_atomic=128", [], {}, ""),
    ("soft0:state=down;soft1", "soft0", [], {}, "soft1 port 1"),
    ("soft0:ports=2,port1.state=down", "soft0", [], {}, "soft0 port 2"),
    ("soft0:ports=2", "soft0:ports=2", ["-i", 2], {}, "soft0 port 2"),
    ("soft0;soft1", "soft0;soft1", ["-d", "soft1"], {}, "soft1 port 1"),
    ("soft0:lmc=2", "soft0:lmc=2", ["--path-bits", 3], {}, ""),
    ("soft0:mode=pvm", "soft0:mode=pvm", ["-s", "1,4097"], {}, ""),
    ("soft0:async=7", "soft0:async=7", ["-s", "1,4097"], {}, ""),
    ("soft0:complete=post", "soft0:complete=post", ["-s", "1,4097"], {}, ""),
    ("soft0:delay=uniform(0,200us)", "soft0:back=exp(20us)", ["-s", "1,4097"], {}, ""),
]


@table("server {0}, client {1} {2}: runs", TALK)
def talk(server_spec, client_spec, args, path, text):
    need_softverbs(server_spec)
    need_softverbs(client_spec)
    out = f"/dev/shm/pair-{os.getpid()}"
    ends = [[f"--json={out}.{name}"] for name in ("server", "client")]
    try:
        s, c = pair(ends[0], ["-n", 20, *args, *ends[1]], server_spec=server_spec, client_spec=client_spec)
        for name in "server", "client":
            with open(f"{out}.{name}") as f:
                got = json.load(f)["path"]
            equal(f"path of the {name}", {k: got[k] for k in path}, path)
    finally:
        for name in "server", "client":
            if os.path.exists(f"{out}.{name}"):
                os.unlink(f"{out}.{name}")
    for p in s, c:
        Report(p.out)
    has("text", c.out, text)


@case("-I above what the device grants: runs, with a warning that names what it grants")
def inline_refused():
    need_softverbs("soft0:max_inline=60")
    s, c = pair([], ["-n", 20, "-I", 1024], server_spec="soft0", client_spec="soft0:max_inline=60")
    has("warning", c.err, "inline of 1024 bytes was asked for; the device grants 60")
    has("path", c.out, "inline 1024 asked, 60 granted")


# ---- pairs that cannot talk: refused by the client, the server goes on listening

MUTE = [
    # SPEC of server, of client, options of the client, the reason
    (ETH + "10.1.1.1/v1", ETH + "10.1.1.2", [], "no two GIDs of one type and address family on one subnet"),
    (ETH + "10.1.1.1", ETH + "2001:db8::1", [], "no two GIDs of one type and address family on one subnet"),
    (ETH + "10.1.1.1", "soft0", [], "InfiniBand, RoCE and iWARP do not talk to each other"),
    (ETH + "10.1.1.1", "soft0:link=iwarp", [], "InfiniBand, RoCE and iWARP do not talk to each other"),
    ("soft0:gids=fec0:0:0:1::1", "soft0:gids=fec0:0:0:2::2", [], "different InfiniBand subnet prefixes"),
    ("soft0:pkeys=0x8002", "soft0:pkeys=0x8001", [], "no P_Key in common"),
    ("soft0:pkeys=0x0001", "soft0:pkeys=0x0001", [], "no P_Key in common of which one is a full member"),
    ("soft0", "soft0", ["--pkey", "0x8001"], "P_Key"),
    ("soft0:lmc=2", "soft0:lmc=1", ["--path-bits", 3], "--path-bits 3: soft0 port 1 has LMC 1, so at most 1"),
]


@table("server {0}, client {1} {2}: refused with the reason", MUTE)
def mute(server_spec, client_spec, args, reason):
    need_softverbs(server_spec)
    s = server("--keep", spec=server_spec)
    c = client(s, "-n", 20, "--json", *args, spec=client_spec)
    equal("exit code of the client", c.wait(), 2)
    one_message("the reason", c, reason)
    true("no QP was made", document(c)["path"] is None)
    s.wait_err("dropped .*: peer failed at plan: .*" + reason)
    equal("the server", s.code, None)


# ---- what the device refuses once the plan stands: 1 here, 4 at the peer, with the same text

FAILS = [
    # SPEC of the end that fails, options of the client, the reason
    ("soft0:fail=alloc_pd@1", [], "ibv_alloc_pd.*Cannot allocate memory"),
    ("soft0:fail=reg_mr@1:ENOMEM", [], r"registering .*locked memory.*ulimit -l.*Cannot allocate memory"),
    ("soft0:fail=reg_mr@1:EPERM", [], r"registering .*locked memory.*ulimit -l.*Operation not permitted"),
]

# The same, but a wish that this device cannot fulfil is misuse on both ends.
MISUSE = [
    ("soft0:max_cqe=4", [], "a completion queue of 16 entries is needed, soft0 allows 4"),
    ("soft0:max_qp_wr=10", [], "--tx-depth 16: soft0 allows at most 10"),
    ("soft0:max_qp_wr=10", ["--post", "send"], "--tx-depth 16: soft0 allows at most 10"),
    ("soft0:types=UC|UD", [], "soft0 has no RC queue pairs, only UC, UD"),
]


def both(rows):
    return [(who, *row) for row in rows for who in ("client", "server")]


@table("{1} on the {0}: says so on both ends", both(FAILS))
def fails(who, spec, args, reason):
    judge_failure(who, spec, args, reason, (1, 4) if who == "server" else (4, 1))


@table("{1} on the {0}, client {2}: misuse on both ends", both(MISUSE))
def misuse(who, spec, args, reason):
    judge_failure(who, spec, args, reason, (2, 2))


@case("path bits above the server's LMC: misuse on both ends")
def path_bits():
    judge_failure("server", "soft0:lmc=1", ["--path-bits", 3], "so at most 1", (2, 2), "soft0:lmc=2")


def judge_failure(who, spec, args, reason, codes, other="soft0"):
    need_softverbs(spec)
    specs = {"server_spec" if who == "server" else "client_spec": spec,
             "client_spec" if who == "server" else "server_spec": other}
    s, c = pair(["--json"], ["--json", "-n", 20, *args], codes=codes, **specs)
    for p in s, c:
        one_message("the reason", p, reason)
        true("results are empty", document(p)["results"] == [])
    has("the peer's words", (c if who == "server" else s).err, "peer failed at (endpoints|plan): ")


if __name__ == "__main__":
    main()
