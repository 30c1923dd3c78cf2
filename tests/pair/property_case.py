# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A case of the property test: drawn from seed and number, and what must become of it."""
import random

PROGRAMS = ["rdma_lat", "rdma_bw", "send_lat", "send_bw", "read_lat", "read_bw", "atomic_lat", "atomic_bw"]
MTUS = [256, 512, 1024, 2048, 4096]
MIB = 1 << 20
MOST = 32 * MIB  # bytes of a size in one direction, so that a case stays short
FLAGS = {"bidirectional", "reversed", "events", "srq", "imm", "mr-per-qp", "verify", "allow-loss",
         "detail", "full-rtt", "all"}
# Options that only some programs have.
FOR = {
    "bidirectional": "bw", "reversed": "bw", "post-list": "bw", "cq-mod": "bw", "rate": "bw",
    "buffer": "bw", "gap": "lat", "detail": "lat", "full-rtt": "lat", "reap": "lat",
    "rx-depth": "recv", "recv-post-list": "recv", "srq": "recv", "imm": "recv", "allow-loss": "recv",
    "outs": "fetch", "atomic": "atomic",
}


class Case:
    """@options and @devices are what was drawn: {name: text or None}, {end: {key: text}}."""

    def __init__(self, seed, number, program, options, server, devices, left_out=()):
        self.seed, self.number, self.program = seed, number, program
        self.options, self.server, self.devices = options, server, devices
        self.left_out = list(left_out)
        self.family, kind = program.split("_")
        self.bandwidth = kind == "bw"
        self.fetches = self.family in ("read", "atomic")

    # ---- as commands

    def client_words(self):
        return [f"--{k}" if v is None else f"--{k}={v}" for k, v in self.options.items()]

    def server_words(self):
        return [f"--{k}={v}" for k, v in self.server.items()]

    def spec(self, end):
        keys = ",".join(k if v is None else f"{k}={v}" for k, v in self.devices[end].items())
        return f"soft0:{keys}" if keys else "soft0"

    def parts(self):
        """Names of what can be left out."""
        return ([k for k in self.options if k != "cpu"] + [f"server.{k}" for k in self.server] +
                [f"device.{k}" for k in dict.fromkeys(k for d in self.devices.values() for k in d)])

    def without(self, names):
        names = list(names)

        def kept(d, prefix):
            return {k: v for k, v in d.items() if prefix + k not in names}

        return Case(self.seed, self.number, self.program, kept(self.options, ""),
                    kept(self.server, "server."),
                    {e: kept(d, "device.") for e, d in self.devices.items()}, self.left_out + names)

    def replay(self):
        line = f"tests/pair/property.py --seed {self.seed} --case {self.number}"
        return line + (f" --without {','.join(self.left_out)}" if self.left_out else "")

    # ---- what it is

    def has(self, name):
        return name in self.options

    def num(self, name, default):
        return int(self.options.get(name, default))

    def applies(self, name):
        of = FOR.get(name)
        return of is None or of in ("bw" if self.bandwidth else "lat", self.family) or \
            of == "recv" and not self.fetches or of == "fetch" and self.fetches

    @property
    def transport(self):
        return self.options.get("transport", "RC")

    @property
    def receives(self):
        return self.family == "send" or self.has("imm")

    @property
    def timed(self):
        return self.has("duration") or self.bandwidth and not self.has("iters")

    @property
    def server_is_silent(self):
        """It has no samples: it is passive, or the client pauses between two laps."""
        return self.fetches or self.has("gap") or self.has("verify")

    @property
    def iters(self):
        return self.num("iters", 1000)

    @property
    def tx_depth(self):
        return self.num("tx-depth", 128 if self.bandwidth else 16)

    @property
    def rx_depth(self):
        return self.num("rx-depth", 512)

    @property
    def sizes(self):
        if self.has("all"):
            return [1 << i for i in range(24)]
        if not self.has("size"):
            return [65536 if self.bandwidth and self.family != "atomic" else 8]
        return [int(s) for s in self.options["size"].split(",")]

    @property
    def mtu(self):
        """The path MTU: the smallest of both ends and --mtu."""
        return min([int(d.get("mtu", 4096)) for d in self.devices.values()] + [self.num("mtu", 4096)])

    def expected_sizes(self, _document=None):
        sizes = list(dict.fromkeys(self.sizes))
        if self.transport == "UD" and self.has("all"):
            return [s for s in sizes if s <= self.mtu]
        if self.transport == "UD" and not self.has("size"):
            return [min(s, self.mtu) for s in sizes]
        return sizes

    def directions(self):
        """The rows of a size. Who fetches sends nothing: its data goes the other way."""
        there = ["client_to_server", "server_to_client"]
        if self.has("bidirectional"):
            return [*there, "both"]
        return there[1:] if self.has("reversed") != self.fetches else there[:1]

    def limit(self, key, default):
        """The smaller attribute of both devices."""
        return min(int(d.get(key, default)) for d in self.devices.values())

    def lacks(self, key, value):
        return any(value not in d[key].split("|") for d in self.devices.values() if key in d)

    # ---- what must become of it

    def refused_by_options(self):
        return any(applies(self) for applies, _ in RULES)

    def refusals(self, must=False):
        """What a refusal may say; with @must, only what has to be refused. Empty: it must run."""
        rules = RULES + DEVICE_RULES + ([] if must else MAY)
        return [words for applies, words in rules if applies(self)]


def no_such_message(c):
    return c.fetches and c.transport != "RC" or c.family == "rdma" and c.transport == "UD"


# What the options alone tell: refused before anything is connected.
RULES = [
    (lambda c: any(not c.applies(k) for k in c.options), "unknown or ambiguous option --"),
    (lambda c: any(s < 1 for s in c.sizes), "--size [0-9,]+: allowed is"),
    (no_such_message, "has no (RDMA|SEND|FETCH|CMP)"),
    (lambda c: c.has("events") and not c.bandwidth and c.family == "rdma" and not c.has("imm"),
     "--events sleeps on completions"),
    (lambda c: c.has("spin") and not c.has("events"), "add --events"),
    (lambda c: c.has("srq") and not c.receives, "takes none"),
    (lambda c: c.has("bidirectional") and c.has("reversed"), "leave out --reversed"),
    (lambda c: c.has("allow-loss") and c.transport == "RC", "--allow-loss is for UC and UD"),
    (lambda c: c.family == "atomic" and c.sizes != [8], "an atomic is of 8 bytes"),
    (lambda c: c.bandwidth and c.num("post-list", 1) > c.tx_depth, "--post-list is longer"),
    (lambda c: c.bandwidth and c.num("cq-mod", 1) > max(c.tx_depth // 2, 1), "--cq-mod is more than half"),
    (lambda c: c.receives and c.num("recv-post-list", 1) > c.rx_depth, "--recv-post-list is longer"),
    (lambda c: c.fetches and c.num("inline", 0) > 0, "leave out --inline"),
    (lambda c: c.has("srq") and c.receives and c.has("rx-depth") and c.rx_depth < c.num("qps", 1),
     "fewer receives"),
    (lambda c: c.options.get("relaxed-ordering") == "on" and not c.bandwidth and c.family == "rdma" and
     not c.has("imm"), "--relaxed-ordering on"),
    (lambda c: c.has("detail") and (c.has("gap") or c.has("verify")), "--detail looks at laps"),
    (lambda c: c.has("verify") and c.has("allow-loss") and not c.bandwidth, "leave out --allow-loss"),
    (lambda c: c.has("iters") and c.has("duration"), "--iters|--duration"),
]

# What only the devices tell.
DEVICE_RULES = [
    (lambda c: len({d.get("link", "ib") for d in c.devices.values()}) > 1, "link layer|InfiniBand|Ethernet"),
    (lambda c: c.lacks("types", c.transport), "has no U?[RCD]+ queue pairs"),
    (lambda c: c.family == "atomic" and any(d.get("atomic") == "none" for d in c.devices.values()),
     "has no atomic operations"),
    (lambda c: c.fetches and c.limit("max_rd_atomic", 16) < 1, "has no READs and atomics"),
    (lambda c: c.transport == "UD" and c.has("size") and not c.has("all") and max(c.sizes) > c.mtu,
     "a UD message is one packet"),
]


def receives_at_most(c):
    return 2 * (c.rx_depth + c.num("recv-post-list", 1)) * (c.num("qps", 1) if c.has("srq") else 1)


# What may be refused, by a device whose limit is below what could be needed at most.
MAY = [
    (lambda c: c.limit("max_qp_wr", 32768) < max(c.tx_depth + 8, receives_at_most(c)), r"max_qp_wr|max_srq_wr"),
    (lambda c: c.limit("max_cqe", 4194303) < 2 * (c.tx_depth + 8) + receives_at_most(c),
     "completion queue|max_cqe"),
]


# ---- drawing

def chance(r, p):
    return r.random() < p


def a_size(r, c, limit):
    """Around what matters: nothing, a word, the inline limit, the MTU, 1 MiB."""
    base = r.choice([1, 8, 8, 64, limit, limit, c["mtu"], c["mtu"], 3 * c["mtu"], 65536, MIB])
    size = max(1, base + r.choice([-1, 0, 0, 1]))
    return 0 if chance(r, 0.01) else size


def draw_sizes(r, c, o, limit):
    sizes = [a_size(r, c, limit) for _ in range(r.choice([1, 1, 1, 2, 3]))]
    if o.get("transport") == "UD" and not chance(r, 0.1):
        sizes = [min(s, c["mtu"]) for s in sizes]
    o["size"] = ",".join(map(str, dict.fromkeys(sizes)))
    return max(sizes)


def draw_devices(r):
    """Both ends alike but for what may differ; the path MTU beside them."""
    d = {}
    if chance(r, 0.25):
        d["link"] = "eth"
    for key, p, values in (
            ("max_inline", 0.3, [0, 8, 64, 256]), ("max_cqe", 0.12, [64, 256, 1024, 4096]),
            ("max_qp_wr", 0.12, [16, 64, 256, 1024]), ("max_rd_atomic", 0.3, [0, 1, 2, 4, 16]),
            ("mtu", 0.4, MTUS), ("atomic", 0.1, ["none", "hca", "hca"]),
            ("types", 0.08, ["RC", "RC|UC", "RC|UD"]), ("mode", 0.2, ["pvm"])):
        if chance(r, p):
            d[key] = str(r.choice(values))
    ends = {"client": dict(d), "server": dict(d)}
    for end, other in (("client", 1), ("server", 2)):
        if not chance(r, 0.1):
            ends[end]["async"] = str(r.randrange(1 << 31))
        if d.get("link") == "eth":
            ends[end]["gids"] = f"::ffff:10.0.0.{other}"
    for key, values in ("mtu", MTUS), ("max_inline", [0, 64]), ("max_rd_atomic", [1, 3]), ("mode", ["shared", "pvm"]):
        if chance(r, 0.1):
            ends["server"][key] = str(r.choice(values))
    if chance(r, 0.01):
        ends["server"]["link"] = r.choice(["ib", "eth"])
    return ends


def draw_depths(r, o, wild):
    """Depths and what must not be larger than they are, mostly."""
    if chance(r, 0.7):
        o["tx-depth"] = r.randint(1, 130)
    if chance(r, 0.5):
        o["rx-depth"] = r.choice([r.randint(1, 16), r.randint(1, 130), 512])
    tx, rx = o.get("tx-depth", 128), o.get("rx-depth", 512)
    if chance(r, 0.4):
        o["cq-mod"] = r.randint(1, 100 if wild else min(100, max(1, tx // 2)))
    if chance(r, 0.4):
        o["post-list"] = r.randint(1, 130 if wild else tx)
    if chance(r, 0.3):
        o["recv-post-list"] = r.randint(1, 130 if wild else min(rx, 130))
    if chance(r, 0.5):
        o["qps"] = r.randint(1, 8)
    if chance(r, 0.4):
        o["outs"] = r.choice([1, 1, 2, 4, 16, r.randint(1, 20)])


def draw_modes(r, o, wild):
    for name, p in (("bidirectional", 0.3), ("reversed", 0.2), ("events", 0.35), ("imm", 0.35),
                    ("mr-per-qp", 0.2), ("verify", 0.3), ("detail", 0.15), ("full-rtt", 0.1)):
        if chance(r, p) and (wild or not (name == "reversed" and "bidirectional" in o)):
            o[name] = None
    if chance(r, 0.3):
        o["srq"] = None
    if chance(r, 0.4 if "events" in o else 0.01):
        o["spin"] = f"{r.choice([1, 20, 300])}us"
    if chance(r, 0.2 if o.get("transport", "RC") != "RC" else 0.01):
        o["allow-loss"] = None
    for name, p, values in (
            ("reap", 0.3, ["now", "late", "late"]), ("gap", 0.15, ["1us", "30us", "200us"]),
            ("rate", 0.15, ["5k/s", "100k/s", "2M/s", "4Gb/s", "200MB/s"]), ("warmup", 0.5, [0, 0, 1, 7, 100]),
            ("inline", 0.3, [0, 1, 8, 64, 256, 1024, 2000]), ("relaxed-ordering", 0.1, ["on", "off"]),
            ("buffer", 0.1, [1, 100, 4096, 20000, 1 << 20]), ("clock", 0.05, ["gettime"]),
            ("post", 0.3, ["send", "wr"]), ("mtu", 0.15, MTUS), ("atomic", 0.5, ["cmp-swap", "fetch-add"])):
        if chance(r, p):
            o[name] = str(r.choice(values))


def tame(r, case):
    """Takes out what would be refused, so that most cases run; a rule that stays is meant to."""
    o = case.options
    for name in list(o):
        if not case.applies(name) and not chance(r, 0.005):
            del o[name]
    for need, name in (("events", not case.bandwidth and case.family == "rdma" and not case.has("imm")),
                       ("srq", not case.receives), ("relaxed-ordering", case.family == "rdma"),
                       ("spin", not case.has("events")), ("inline", case.fetches),
                       ("detail", case.has("gap") or case.has("verify")),
                       ("allow-loss", case.has("verify") and not case.bandwidth),
                       ("size", case.family == "atomic")):
        if name and need in o and not chance(r, 0.05):
            del o[need]
    if case.has("srq") and case.rx_depth < case.num("qps", 1) and not chance(r, 0.1):
        o["rx-depth"] = case.num("qps", 1)


def draw(seed, number):
    r = random.Random(f"{seed}.{number}")
    program = r.choice(PROGRAMS)
    family = program.split("_")[0]
    wild = chance(r, 0.06)
    devices = draw_devices(r)
    o = {"cpu": "none" if chance(r, 0.8) else "auto", "iters": r.randint(1, 300)}
    among = {"send": ["RC", "UC", "UD"], "rdma": ["RC", "UC"]}.get(family, ["RC"])
    transport = r.choice(["RC", "UC", "UD"] if chance(r, 0.05) else among)
    if transport != "RC":
        o["transport"] = transport
    draw_depths(r, o, wild)
    draw_modes(r, o, wild)
    mtu = min(int(d.get("mtu", 4096)) for d in devices.values())
    largest = draw_sizes(r, {"mtu": min(mtu, int(o.get("mtu", 4096)))}, o,
                         max(2, int(devices["client"].get("max_inline", 1024))))
    if chance(r, 0.15):
        del o["iters"]
        o["duration"] = f"{r.randint(1, 40)}ms"
    elif largest * o["iters"] > MOST:
        o["iters"] = max(1, MOST // largest)
    if chance(r, 0.02):
        del o["size"]
        o["all"] = None
        if "iters" in o:
            o["iters"] = min(o["iters"], 4)
    if "verify" in o and largest > 65536 and "qps" in o:
        o["qps"] = min(o["qps"], 2)
    server = {"post": r.choice(["send", "wr"])} if chance(r, 0.3) else {}
    case = Case(seed, number, program, {k: v if v is None else str(v) for k, v in o.items()}, server, devices)
    tame(r, case)
    return case
