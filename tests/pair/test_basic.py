#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a run prints, on both ends: addresses, dumps, table, JSON, CSV; and the options that shape it."""
import json
import os
import signal
import subprocess
import tempfile
import time

from output import Report, full_table
from pair import (LAB, SLOW, between, case, client, equal, has, hasnt, main, pair,
                  planted_delay, server, table, true)


def document(p):
    """The JSON of an end that printed it as all of stdout."""
    return json.loads(p.out)


# ---- dumps and table

@case("-cU on both ends: addresses, N integers on the client, N-1 on the server, table", quick=True)
def dump_cycles():
    s, c = pair(["-cU"], ["-cU", "-n", 50])
    for p, n in (c, 50), (s, 49):
        r = full_table(p.out)
        equal("blocks", [b.title for b in r.blocks], ["#, cycles"])
        r.blocks[0].check_count(n)
        true("samples are integers", all(v.isdigit() for v in r.blocks[0].values))
        equal("laps and samples", (r.rows[0]["laps"], r.rows[0]["samples"]), (50, n))
        hasnt("-c never says usec", p.out, "usec")
    equal("addresses, crossed", [a[18:] for a in Report(s.out).addresses],
          [a[18:] for a in reversed(Report(c.out).addresses)])


@case("usec of -U have four decimals")
def dump_usec():
    s, c = pair(["-U"], ["-U", "-n", 20])
    for p in s, c:
        block = full_table(p.out).blocks[0]
        equal("title", block.title, "#, usec")
        true("four decimals", all(len(v.partition(".")[2]) == 4 for v in block.values))


@case("the medians of both ends agree within 20 %, and with the planted delay", quick=True)
def medians():
    with planted_delay(50) as spec:
        s, c = pair([], ["-n", 20], spec=spec)
    a, b = (full_table(p.out).rows[0] for p in (s, c))
    between("ratio of the medians", a["median"] / b["median"], 0.8, 1.25)
    # A loaded machine adds to any lap; only the fastest is near the truth.
    between("the fastest lap", b["min"], 50e3, 100e3)


SORTABLE = [(["-UH"],), (["-cUH"],), (["-UH", "--full-rtt"],), (["-cUH", "--full-rtt"],),
            (["-UH", "--clock=gettime"],), (["-UH", "--warmup", 0],), (["-UH", "-s", "1,100,4097"],)]


@table("-U sorted is -H, byte for byte: {0}", SORTABLE)
def sorted_is_sorted(args):
    local = [a for a in args if a in ("-UH", "-cUH") or str(a).startswith("--clock")]
    for p in pair(local, [*args, "-n", 40]):
        blocks = Report(p.out).blocks
        for unsorted, in_order in zip(blocks[::2], blocks[1::2]):
            equal("sorted values", in_order.values, sorted(unsorted.values, key=float))
            true("samples are there", len(unsorted.values) >= 39)


@case("-U and -H together: each block after its marker; with sizes after # size N", quick=True)
def markers():
    for p, n in zip(pair(["-UH"], ["-UH", "-s", "1,64,4k", "-n", 10]), (9, 10)):
        blocks = full_table(p.out, rows=3).blocks
        equal("markers", [b.marker for b in blocks],
              [f"# unsorted, {n} samples", f"# sorted, {n} samples"] * 3)
        equal("sizes", [b.size for b in blocks], [1, 1, 64, 64, 4096, 4096])
        for b in blocks:
            b.check_count(n)


@case("one of -U and -H with sizes: # size N and no marker")
def sizes_without_markers():
    for p in pair(["-U"], ["-H", "-s", "1,64", "-n", 10]):
        blocks = Report(p.out).blocks
        equal("sizes, markers", [(b.size, b.marker) for b in blocks], [(1, None), (64, None)])


@case("--full-rtt doubles")
def full_rtt():
    with planted_delay(20) as spec:
        runs = [pair([], [*more, "-n", 20], spec=spec) for more in ([], ["--full-rtt"])]
    for half, full in zip(*runs):
        a, b = (full_table(p.out).rows[0]["min"] for p in (half, full))
        between("ratio of the fastest laps", b / a, 1.6, 2.5)
        has("header", full.out, "full round trip")
        has("header", half.out, "half round trip")


@case("--detail: three columns, post to seen within the sample")
def detail():
    s, c = pair(["-cU"], ["-cU", "--detail", "-n", 30])
    for p, n in (c, 30), (s, 29):
        block = full_table(p.out).blocks[0]
        equal("title", block.title, "#, cycles, post to seen [cycles], longest poll gap [cycles]")
        block.check_count(n)
        equal("columns", {len(r) for r in block.rows}, {4})
    for _, half, seen, gap in Report(c.out).blocks[0].rows:
        true(f"post to seen {seen} and gap {gap} lie within the lap {half}",
             0 < int(seen) <= 2 * int(half) + 1 and int(gap) <= 2 * int(half) + 1)


@case("--warmup 0: sample 1 is the first exchange")
def warmup_none():
    with tempfile.TemporaryDirectory() as folder:
        s, c = pair([], ["-cU", "--warmup", 0, "-n", 20, f"--json={folder}/c"])
        with open(f"{folder}/c") as f:
            r = json.load(f)["results"][0]
        equal("warm-up laps", r["warmup"], 0)
        equal("sample 1", int(Report(c.out).blocks[0].values[0]), int(r["first_exchange_cycles"]))


@case("--warmup N: N laps before, none of them reported")
def warmup_some():
    s, c = pair(["--json"], ["--json", "--warmup", 7, "-n", 20])
    for p, samples in (c, 20), (s, 19):
        r = document(p)["results"][0]
        equal("warm-up, laps, samples", (r["warmup"], r["iterations"], r["samples"]), (7, 20, samples))


# ---- runs by time

@case("-D 0.5s ends in time, both ends count the same laps", quick=True)
def by_time():
    begun = time.monotonic()
    s, c = pair(["--json"], ["--json", "-D", "0.5s"])
    between("seconds", time.monotonic() - begun, 0.5, 5 * SLOW)
    a, b = (document(p)["results"][0] for p in (c, s))
    equal("laps of server", b["iterations"], a["iterations"])
    equal("samples", (a["samples"], b["samples"]), (a["iterations"], a["iterations"] - 1))
    between("time in the samples", a["mean_usec"] * 2 * a["samples"] / 1e6, 0.4, 2 * SLOW)


@case("-D with -U keeps every sample")
def by_time_dumped():
    for p in pair(["-U"], ["-U", "-D", "0.3s"]):
        r = full_table(p.out)
        r.blocks[0].check_count(int(r.rows[0]["samples"]))
        true("samples", r.rows[0]["samples"] > 0)


# ---- ways of working

WAYS = [
    # options of server and client, what the JSON of the client must have
    ([], ["--reap", "late"], ("settings", "reap", "late")),
    ([], ["--reap", "late", "-t", 1], ("settings", "tx_depth", 1)),
    ([], ["--post", "send"], ("path", "post", "send")),
    ([], ["--post", "wr"], ("path", "post", "wr")),
    (["--post", "send"], ["--post", "wr"], ("path", "post", "wr")),
    ([], ["--clock=gettime"], ("settings", "clock", "gettime")),
    (["--clock=gettime"], [], ("settings", "clock", "tsc")),
    ([], ["-I", 0], ("path", "inline_asked", 0)),
    ([], ["-m", 512], ("path", "mtu", 512)),
    ([], ["-T", "none,none"], ("settings", "cpu", "none,none")),
    ([], ["--detail", "-D", "200ms"], ("settings", "detail", True)),
]


@table("runs with: server {0}, client {1}", WAYS)
def way(server_args, client_args, where):
    s, c = pair([*server_args, "--json"],
                [*client_args, "--json", *([] if "-D" in client_args else ["-n", 50])])
    group, key, value = where
    equal(key, document(c)[group][key], value)
    true("median on both ends", all(document(p)["results"][0]["median_usec"] > 0 for p in (s, c)))


def check_sizes(s, c, sizes, n):
    for p in s, c:
        results = document(p)["results"]
        equal("sizes", [r["size"] for r in results], sizes)
        equal("laps", {r["iterations"] for r in results}, {n})
        true("every size has its median", all(r["median_usec"] > 0 for r in results))


@case("-a: 24 sizes", limit=300)
def all_sizes():
    check_sizes(*pair(["--json"], ["--json", "-a", "-n", 5]), [1 << k for k in range(24)], 5)


@case("odd sizes", quick=True)
def odd_sizes():
    sizes = [1, 2, 3, 7, 8, 12, 100, 4097]
    check_sizes(*pair(["--json"], ["--json", "-s", ",".join(map(str, sizes)), "-n", 20]), sizes, 20)


@case("laps 1, 2, 3: N and N-1 samples; without a sample there is no median")
def few_laps():
    for n in 1, 2, 3:
        s, c = pair(["--json"], ["--json", "-n", n])
        a, b = (document(p)["results"][0] for p in (c, s))
        equal("samples", (a["samples"], b["samples"]), (n, n - 1))
        equal("median of no sample", b["median_usec"] is None, n == 1)


# ---- JSON and CSV

LATENCY = {f"{k}_{unit}": (float, int, type(None)) for unit in ("usec", "cycles")
           for k in ("first_exchange", "min", "median", "mean", "stdev", "p90", "p99", "p99_9", "p99_99",
                     "max")}
LATENCY.update(run=int, lost=int, late=int, loaded=bool, interval_inflation=(float, type(None)), modes=(list, type(None)),
               worst=(list, type(None)), load_gbit_s=(float, type(None)))
LATENCY.update(size=int, iterations=int, samples=int, latency_kind=str, max_at=int,
               write_in_order=(bool, type(None)), median_ci95_usec=(list, type(None)),
               median_ci95_cycles=(list, type(None)))
CLOCK = {"source": str, "hz": float, "ppm": float, "invariant": (bool, type(None))}
END = {"host": str, "device": str, "software": (str, type(None)), "port": int, "link_layer": str,
       "mtu": int, "lid": int, "gid": (str, type(None)), "gid_index": (int, type(None)),
       "gid_type": (str, type(None)), "cpu": (int, type(None)), "numa_node": (int, type(None)),
       "clock": CLOCK}
SETUP = {f"{k}_usec": float for k in ("device", "memory", "qps", "exchange", "connect")}
DOCUMENT = {"program": str, "version": str, "protocol": int, "role": str, "time": str, "local": END,
            "remote": END, "settings": dict, "setup": SETUP, "warnings": list, "results": [LATENCY],
            "error": type(None)}


def check_shape(what, value, shape):
    if isinstance(shape, dict):
        equal(f"type of {what}", type(value), dict)
        for key, inner in shape.items():
            true(f"{what} has {key}", key in value)
            check_shape(f"{what}.{key}", value[key], inner)
    elif isinstance(shape, list):
        true(f"{what} has entries", value)
        for entry in value:
            check_shape(what, entry, shape[0])
    else:
        true(f"type of {what} is {type(value).__name__}", isinstance(value, shape))


@case("--json is all of stdout, with every key", quick=True)
def json_alone():
    s, c = pair(["--json"], ["--json", "-n", 1000, "-s", "8,64"])
    for p, role, n in (c, "client", 1000), (s, "server", 999):
        doc = document(p)
        check_shape("document", doc, DOCUMENT)
        equal("role, program", (doc["role"], doc["program"]), (role, "rdma_lat"))
        equal("software", doc["local"]["software"], "rxe" if LAB else "softverbs")
        has("time", doc["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        for r in doc["results"]:
            equal("p99.9 needs 1000 samples", r["p99_9_usec"] is None, n < 1000)
            true("order", r["min_usec"] <= r["median_usec"] <= r["p90_usec"] <= r["p99_usec"] <=
                 r["max_usec"])
            true("kind", r["latency_kind"] == "half_rtt")
    equal("local of one is remote of the other", document(s)["remote"], document(c)["local"])


@case("settings have every long option")
def json_settings():
    s, c = pair(["--json"], ["--json", "-n", 10])
    doc = document(c)["settings"]
    for key in ("size iters duration warmup full_rtt detail tx_depth qps inline post reap ib_dev ib_port "
                "gid_index mtu sl traffic_class flow_label hop_limit path_bits pkey qp_timeout retry_count "
                "rnr_retry min_rnr_timer cpu clock cycles unsorted sorted json csv verbose port bind ipv4 "
                "ipv6 keep timeout connect_timeout").split():
        true(f"settings have {key}", key in doc)


@case("--json=FILE and --csv=FILE stand beside the table")
def files():
    with tempfile.TemporaryDirectory() as folder:
        ends = pair([f"--json={folder}/sj", f"--csv={folder}/sc"],
                    [f"--json={folder}/cj", f"--csv={folder}/cc", "-n", 20, "-s", "1,8"])
        for p, name in zip(ends, "sc"):
            full_table(p.out, rows=2)
            with open(f"{folder}/{name}j") as f:
                check_shape("document", json.load(f), DOCUMENT)
            check_csv(open(f"{folder}/{name}c").read(), [1, 8])
        equal("files", sorted(os.listdir(folder)), ["cc", "cj", "sc", "sj"])


def check_csv(text, sizes):
    head, *rows = [line.split(",") for line in text.splitlines()]
    equal("columns", set(head) ^ {k for k in LATENCY if "ci95" not in k} ^ {"warmup"},
          {f"median_ci95_{u}_{end}" for u in ("usec", "cycles") for end in ("lo", "hi")})
    equal("sizes", [int(dict(zip(head, r))["size"]) for r in rows], sizes)
    equal("cells", {len(r) for r in rows}, {len(head)})


@case("--csv is all of stdout")
def csv_alone():
    for p in pair(["--csv"], ["--csv", "-n", 20]):
        check_csv(p.out, [8])


@case("a file that cannot be written is an error, the table is there")
def file_refused():
    s, c = pair([], ["--json=/nowhere/x", "-n", 10], codes=(0, 1))
    full_table(c.out)
    has("stderr", c.err, "/nowhere/x")


# ---- the rest

@case("--keep serves two clients, SIGTERM ends it with 0", quick=True)
def keep():
    s = server("--keep")
    for n in 10, 20:
        c = client(s, "-n", n)
        equal("exit code of a client", c.wait(), 0)
        equal("laps", full_table(c.out).rows[0]["laps"], n)
    s.kill(signal.SIGTERM)
    equal("exit code of the server", s.wait(10 * SLOW), 0)
    equal("tables", s.out.count("RDMA WRITE over RC"), 2)
    equal("it listens once", s.err.count("listening on"), 1)


@case("-v says settings and stages")
def verbose():
    s, c = pair(["-v"], ["-v", "-n", 10])
    for p in s, c:
        has("settings", p.out, "^  hop_limit = 64$")
        for stage in "endpoints", "connect-qp", "results":
            has("stages", p.err, f"stage {stage}$")
    full_table(c.out)


def into_head(lines):
    """A reader that takes @lines lines and goes; its stdin is for a program to write to."""
    return subprocess.Popen(["head", "-n", str(lines)], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL)


@table("the {0} into head: both exit 0, the other has all", [("client",), ("server",)], quick=True)
def head(which):
    reader = into_head(1)
    try:
        pipe = {"stdout": reader.stdin}
        s = server("-U", **(pipe if which == "server" else {}))
        c = client(s, "-U", "-n", 3000 if not LAB else 300, **(pipe if which == "client" else {}))
        reader.stdin.close()
        equal("exit code of the client", c.wait(), 0)
        equal("exit code of the server", s.wait(), 0)
        other = c if which == "server" else s
        full_table(other.out)
    finally:
        reader.kill()
        reader.wait()


if __name__ == "__main__":
    main()
