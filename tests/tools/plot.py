#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/plot: what is planted in the data is at its place in the picture, in both formats; texts stay
texts. scripts/report: one page, well-formed, with every figure and nothing from outside."""
import contextlib
import csv
import html.parser
import io
import json
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
import zlib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [f"{TREE}/scripts", f"{TREE}/scripts/plot.d"]
import gp  # noqa: E402
import kinds  # noqa: E402
import page  # noqa: E402
import read  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
HZ = 2e9            # of the clocks of planted dumps
WARMUP, LAPS = 100, 5000
STEP, SPIKE = 2001, 3500   # laps as lat_stats counts them, from 1
EVIL = "h'o\"s`touch pwned`t_{/Bold x}^2 @A$(touch pwned)<b>&\\n%s\\"
count = [0, 0]
PLOT = REPORT = None  # the scripts


def check(name, what):
    """@what returns None, or what is wrong."""
    count[0] += 1
    try:
        wrong = what()
    except Exception as e:  # pylint: disable=broad-except
        wrong = f"{type(e).__name__}: {e} (line {e.__traceback__.tb_next.tb_lineno})"
    if wrong:
        count[1] += 1
        print(f"not ok {count[0]} - {name}\n# " + str(wrong).replace("\n", "\n# "), flush=True)
    else:
        print(f"ok {count[0]} - {name}", flush=True)


# ---- planted files

def end(host, cpu):
    return {"host": host, "kernel": "6.1.0", "device": "mlx_0", "firmware": "1.2", "software": None, "port": 1,
            "link_layer": "InfiniBand", "mtu": 4096, "cpu": cpu, "clock": {"source": "tsc", "hz": HZ}}


def facts(host="host_a"):
    return {"program": "rdma_lat", "version": "0.1.0", "protocol": 1, "time": "2026-01-31T12:00:00Z",
            "settings": {"transport": "RC"}, "client": end(host, 1), "server": end("host_b", 0)}


def write_dump(path, laps, header, warmup=WARMUP, sizes=(8,)):
    """A dump of both ends as doc/dump.md has it; @laps: {role: whole laps in ticks}."""
    series, words = [], []
    for size in sizes:
        for role, ticks in laps.items():
            posts = [10 ** 6]
            for t in ticks:
                posts.append(posts[-1] + t)
            posts = posts if role == "client" else posts[:-1]
            series.append({"role": role, "size": size, "run": 1, "laps": len(ticks), "warmup": warmup, "lost": 0,
                           "latency_kind": "half_rtt", "sample_ends": "post", "columns": {"post": len(posts)}})
            words += posts
    text = json.dumps({**header, "unit": "counter", "halved": False, "bits": 64, "byte_order": "little",
                       "series": series}).encode()
    size = (len(text) + 64 + 7) // 8 * 8
    head = b"verbsperf dump 1 header %d\n" % size
    data = (head + text).ljust(size - 1) + b"\n" + struct.pack(f"<{len(words)}Q", *words)
    mask, total = (1 << 64) - 1, 0xcbf29ce484222325
    for (word,) in struct.iter_unpack("<Q", data):
        total ^= word
        total = ((total << 29 | total >> 35) & mask) * 0x9e3779b97f4a7c15 & mask
    with open(path, "wb") as f:
        f.write(data + struct.pack("<Q", total))


def planted_laps(slow=0):
    """8 usec half round trip, 12 from lap STEP on; at SPIKE 500 usec. A little noise, the same each time."""
    noise, laps = 12345, []
    for k in range(-WARMUP + 1, LAPS + 1):
        noise = noise * 1103515245 + 12345 & 0x7fffffff
        laps.append((32000 if k < STEP else 48000) + slow + (noise >> 16) % 400)
    laps[WARMUP + SPIKE - 1] = int(2 * 500e-6 * HZ)
    return laps


def result(size, median, **more):
    return {"size": size, "run": 1, "samples": 1000, "latency_kind": "half_rtt", "median_usec": median,
            "median_ci95_usec": [median * 0.8, median * 1.5], "p99_usec": median * 3, **more}


def rate(size, gbit):
    return {"size": size, "run": 1, "direction": "client_to_server", "avg_gbit_s": gbit,
            "min_window_gbit_s": gbit * 0.5, "max_window_gbit_s": gbit * 1.25}


def document(program, results, host="host_a"):
    f = facts(host)
    return {"program": program, "version": "0.1.0", "role": "client", "time": f["time"], "local": f["client"],
            "remote": f["server"], "settings": f["settings"], "warnings": [], "results": results, "error": None}


def save(path, value):
    with open(path, "w", encoding="utf-8") as f:
        f.write(value if isinstance(value, str) else json.dumps(value))


def plant():
    write_dump("a.dump", {"client": planted_laps(), "server": planted_laps()}, facts())
    write_dump("b.dump", {"client": planted_laps(4000)}, facts())
    write_dump("two.dump", {"client": [32000] * 200}, facts(), 0, (8, 64))
    write_dump("read.dump", {"client": [32000, 32400] * 100, "server": []}, facts(), 0)
    save("lat.json", document("send_lat", [result(8, 2.0), result(64, 2.5), result(1024, 4.0), result(65536, 30.0)]))
    save("bw.json", document("send_bw", [rate(64, 1.0), rate(1024, 3.0), rate(65536, 9.0)]))
    save("none.json", document("send_bw", []))
    save("list.txt", "#, usec\n" + "".join(f"{i}, {5 + i % 7}\n" for i in range(1, 301)))
    with open("sweep.csv", "w", newline="", encoding="utf-8") as f:
        rows = csv.writer(f)
        rows.writerow(["program", "size", "binding", "options", "where", "exit_code", "median_usec", "median_ci95_usec_lo",
                       "median_ci95_usec_hi", "avg_gbit_s", "min_window_gbit_s", "max_window_gbit_s"])
        for size, median in ((8, 2.0), (1024, 4.0), (65536, 30.0)):
            rows.writerow(["rdma_lat", size, "0,1", "", "", 0, median, median * 0.8, median * 1.5, "", "", ""])
            rows.writerow(["rdma_lat", size, "1,0", "", "", 0, median * 2, "", "", "", "", ""])
            rows.writerow(["send_bw", size, "0,1", "", "", 0, "", "", "", median, "", ""])
        rows.writerow(["rdma_lat", 128, "0,1", "", "", 5, 1e9, "", "", "", "", ""])


# ---- pictures

def load(name):
    """A script as a module."""
    loader = SourceFileLoader(name, f"{TREE}/scripts/{name}")
    module = module_from_spec(spec_from_loader(name, loader))
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def here(module, words):
    """(exit code, stdout, stderr) of a script, without a new Python."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = [module.__name__, *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = module.main()
    except SystemExit as e:
        code = e.code
    finally:
        sys.argv = argv
    return code, out.getvalue(), err.getvalue()


def plot(*words, path=None):
    old, os.environ["PATH"] = os.environ["PATH"], path or os.environ["PATH"]
    try:
        return here(PLOT, words)
    finally:
        os.environ["PATH"] = old


class Picture:
    """One call that makes all three forms, and what is to be found in them."""

    def __init__(self, *words, png=True):
        said = plot("-o", "x.svg", "-o", "x.gp", *(("-o", "x.png") if png else ()), *words)
        assert said == (0, "", ""), f"plot {words}: {said}"
        with open("x.gp", encoding="utf-8") as f:
            self.script = f.read()
        self.root = xml.parse("x.svg").getroot()
        self.png = b""
        if png:
            with open("x.png", "rb") as f:
                self.png = f.read()
        self.lines, self.step, self.packed = [], 0, b""
        self.blocks = [[[float(v) for v in line.split()] for line in block.splitlines()]
                       for block in re.findall(r"^\$d\d+ << EOD\n(.*?)\nEOD$", self.script, re.M | re.S)]
        self.marks = self.find_marks()

    def sizes(self):
        """What is wrong with its size."""
        png = struct.unpack(">II", self.png[16:24])
        svg = self.root.get("width"), self.root.get("height"), self.root.get("viewBox")
        if self.png[:8] != b"\x89PNG\r\n\x1a\n" or png != (1200, 800) or svg != ("1200", "800", "0 0 1200 800"):
            return f"png {png}, svg {svg}"
        return None

    def texts(self):
        return ["".join(t.itertext()).strip() for t in self.root.iter(SVG + "text")]

    def place(self, x, y, panel=0):
        """Pixel of a point of a panel, by the axes of the script."""
        before = "plot".join(re.split(r"^plot ", self.script, flags=re.M)[:panel + 1])

        def last(pattern):
            return re.findall(pattern, before)[-1]
        out = []
        for axis, value, low, high, extent in (("x", x, "l", "r", gp.WIDTH), ("y", y, "b", "t", gp.HEIGHT)):
            lo, hi = map(float, last(rf"set {axis}range \[(.*):(.*)\]"))
            a, b = (float(last(rf"set {m}margin at screen (.*)")) for m in (low, high))
            if last(rf"(set|unset) logscale {axis}") == "set":
                lo, hi, value = math.log(lo), math.log(hi), math.log(value)
            share = a + (value - lo) / (hi - lo) * (b - a)
            out.append(extent * (share if axis == "x" else 1 - share))
        return out

    def find_marks(self):
        """Where a point is drawn."""
        moves = [u.get("transform") for u in self.root.iter(SVG + "use") if u.get("transform")]
        return [tuple(map(float, re.match(r"translate\(([-\d.]+),([-\d.]+)\)", m).groups())) for m in moves if "translate" in m]

    def missing_marks(self, points, panel=0, off=1.5):
        """Those of @points that have no mark at their place."""
        wanted = [(p, self.place(*p, panel)) for p in points]
        return [(p, at) for p, at in wanted
                if not any(abs(m[0] - at[0]) <= off and abs(m[1] - at[1]) <= off for m in self.marks)]

    def vertices(self, colour=None):
        """All corners of all lines, or of those of a colour, in pixels."""
        out = []
        for path in self.root.iter(SVG + "path"):
            if colour and path.get("stroke") != rgb(colour):
                continue
            out += [(float(x), float(y)) for x, y in re.findall(r"[ML]?([-\d.]+),([-\d.]+)", path.get("d"))]
        return out

    def missing_corners(self, points, panel=0, off=1.0):
        have = self.vertices()
        wanted = [(p, self.place(*p, panel)) for p in points]
        return [(p, at) for p, at in wanted if not any(abs(c[0] - at[0]) <= off and abs(c[1] - at[1]) <= off for c in have)]

    def segments(self, colour):
        """Strokes of a colour."""
        return sum(p.get("d").count("M") for p in self.root.iter(SVG + "path") if p.get("stroke") == rgb(colour))

    def pixels(self, rows):
        """The first rows of the PNG, as lists of bytes, and bytes a pixel."""
        if not self.packed:
            at, data = 8, b""
            while at < len(self.png):
                n, name = struct.unpack(">I4s", self.png[at:at + 8])
                data += self.png[at + 8:at + 8 + n] if name == b"IDAT" else b""
                at += n + 12
            self.packed, self.step = zlib.decompress(data), {2: 3, 6: 4}[self.png[25]]
        width = 1200 * self.step
        for r in range(len(self.lines), rows):
            line = bytearray(self.packed[r * (width + 1) + 1:(r + 1) * (width + 1)])
            unfilter(self.packed[r * (width + 1)], line, self.lines[-1] if r else bytearray(width), self.step)
            self.lines.append(line)
        return self.lines, self.step

    def ink(self, x, y, colour, off=40):
        """Whether the PNG has nearly this colour within 3 pixels of a place."""
        lines, step = self.pixels(int(y) + 4)
        want = [int(colour[i:i + 2], 16) for i in (1, 3, 5)]
        return any(max(abs(lines[r][c * step + k] - want[k]) for k in range(3)) < off
                   for r in range(int(y) - 3, int(y) + 4) for c in range(int(x) - 3, int(x) + 4))


def rgb(colour):
    """As gnuplot writes it."""
    return "rgb(" + ", ".join(f"{int(colour[i:i + 2], 16):3d}" for i in (1, 3, 5)) + ")"


def unfilter(how, line, above, step):
    """PNG specification, section 9.2."""
    for i in range(len(line) if how else 0):
        left, up, corner = (line[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
        if how == 4:
            p = left + up - corner
            near = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
        else:
            near = {1: left, 2: up, 3: (left + up) // 2}[how]
        line[i] = line[i] + near & 255


def usec(ticks):
    return ticks / 2 / HZ * 1e6


# ---- what is looked for

def series_picture():
    p = Picture("series", "a.dump")
    laps = planted_laps()
    width = -(-len(laps) // kinds.COLUMNS)
    columns = [laps[i:i + width] for i in range(0, len(laps), width)]
    bars = p.blocks[0]
    check("series: 1200 x 800 in both formats", p.sizes)
    check("series: a column for every few laps", lambda: len(bars) != len(columns) and f"{len(bars)}, not {len(columns)}")
    check("series: each column from its least to its largest lap", lambda: [
        (b, c) for b, c in zip(bars, columns) if abs(b[1] - usec(min(c))) > 1e-3 or abs(b[1] + b[2] - usec(max(c))) > 1e-3][:3])
    drawn = p.segments(kinds.lighter(kinds.ENDS["client"])) - 1  # one in the legend
    check("series: each is a stroke of the SVG", lambda: drawn != len(bars) and f"{drawn} strokes, {len(bars)} columns")
    check("series: so are the server's", lambda: p.segments(kinds.lighter(kinds.ENDS["server"])) != len(columns))
    for panel, role in enumerate(("client", "server")):
        check(f"series: the spike is a mark at its place, {role}", lambda panel=panel: p.missing_marks([(SPIKE, 500)], panel))
        check(f"series: the change is a line at its place, {role}", lambda panel=panel: change_line(p, panel))
    x, y = p.place(SPIKE, 500)
    check("series: the spike is in the PNG", lambda: not p.ink(x, y, kinds.HICCUPS["back_or_client"][1]))
    check("series: and not beside its place", lambda: p.ink(x - 20, y, kinds.HICCUPS["back_or_client"][1]))
    check("series: the warm-up is grey", lambda: not p.ink(*p.place(-50, 70), "#e4e4e4", 6))
    check("series: the legend tells all of it", lambda: [
        t for t in ("rdma_lat: every lap, half round trip, 8 bytes", 
                    "client host_a, mlx_0 port 1, CPU 1   –   server host_b, mlx_0 port 1, CPU 0",
                    "InfiniBand, RC, MTU 4096, 2026-01-31T12:00:00Z, verbsperf 0.1.0", "warm-up (100 laps)", "change of level",
                    "hiccups (1):", "back or client", "half round trip [usec]", "lap") if t not in p.texts()])
    check("series: how large the change is", lambda: not any(re.fullmatch(r"8\.0\d* → 12\.0\d* usec", t) for t in p.texts()) and p.texts())


def change_line(p, panel):
    """A dashed line from top to bottom; lat_stats may be off by three laps."""
    x, low = p.place(STEP, 8, panel)
    _, high = p.place(STEP, 500, panel)
    have = [c for c in p.vertices("#c0392b") if abs(c[0] - x) < 1.5]
    return not (any(c[1] > low for c in have) and any(c[1] < high for c in have)) and f"no line at {x}: {have}"


def histogram_picture():
    p = Picture("histogram", "a.dump", "--role", "client")
    body, whole = p.blocks[0], p.blocks[2]
    samples = planted_laps()[WARMUP:]

    def share(rows, base):  # each bin is two rows, at its left and right edge
        return sum(r[1] for r in rows[1:-1:2] if r[1] > base)
    below = sum(1 for t in samples if usec(t) <= body[-1][0]) / len(samples) * 100
    check("histogram: 1200 x 800 in both formats", p.sizes)
    check("histogram: every sample up to p99 is in a bar", lambda: abs(share(body, 0) - below) > 1e-6 and (share(body, 0), below))
    check("histogram: every sample is in a bar below", lambda: abs(share(whole, 50 / len(samples)) - 100) > 1e-6)
    spike = next(r for r in whole if r[1] > 50 / len(samples) and r[0] > 400)
    check("histogram: the spike's bar", lambda: not 400 < spike[0] <= 500 or abs(spike[1] - 100 / len(samples)) > 1e-9)
    check("histogram: it is in the SVG", lambda: p.missing_corners([spike], 1))
    check("histogram: so is the body", lambda: p.missing_corners(body, 0))
    x, y = p.place(8.05, max(r[1] for r in body if r[0] < 9) / 2)
    check("histogram: the body is in the PNG", lambda: not p.ink(x, y, kinds.lighter(kinds.ENDS["client"])))
    check("histogram: the figures of the legend", lambda: not any(re.match(
        r"client: 5,000 samples, median 12\.\d+, p99 12\.\d+, p99\.9 12\.\d+, max 500 usec", t) for t in p.texts()) and p.texts())


def ecdf_picture():
    p = Picture("ecdf", "a.dump", "b.dump")
    samples = sorted(usec(t) for t in planted_laps()[WARMUP:])
    curve = p.blocks[0]

    def at(q):  # where the share of larger samples comes to 1 - q
        return next(r[0] for r in curve if r[1] <= 1 - q + 1e-9)
    check("ecdf: 1200 x 800 in both formats", p.sizes)
    for q in (0.5, 0.99, 0.999):
        want = samples[math.ceil(q * len(samples)) - 1]
        check(f"ecdf: crosses p{100 * q:g} where it is", lambda q=q, want=want: abs(at(q) / want - 1) > 2e-3 and (at(q), want))
    def wrong(v, share):  # each corner is the share of samples that are larger, or not smaller
        larger, smaller = sum(s > v + 1e-5 for s in samples), sum(s < v - 1e-5 for s in samples)
        return not larger - 1e-6 <= share * len(samples) <= len(samples) - smaller + 1e-6
    check("ecdf: every corner is the share of larger samples", lambda: [c for c in curve[1::7] if wrong(*c)][:3])
    check("ecdf: its end is the largest sample", lambda: p.missing_marks([(500, 1 / len(samples))]))
    check("ecdf: all of it is in the SVG", lambda: p.missing_corners(curve[::10]) or len(curve) < 300 and len(curve))
    x, y = p.place(500, 1 / len(samples))
    check("ecdf: its end is in the PNG", lambda: not (p.ink(x, y, gp.COLOURS[0]) or p.ink(x, y, gp.COLOURS[1])))
    check("ecdf: ticks into the tail", lambda: [t for t in ("50 %", "90 %", "99 %", "99.9 %") if t not in p.texts()])
    check("ecdf: both files have a name", lambda: [f for f in ("a.dump: ", "b.dump: ") if not any(t.startswith(f) for t in p.texts())])


def latency_picture():
    for source in ("lat.json", "sweep.csv"):
        p = Picture("latency", source)
        points = [(8, 2.0), (1024, 4.0), (65536, 30.0)]
        check(f"latency of {source}: 1200 x 800 in both formats", p.sizes)
        check(f"latency of {source}: each median has a mark", lambda p=p, points=points: p.missing_marks(points))
        check(f"latency of {source}: each interval has its ends",
              lambda p=p, points=points: p.missing_corners([(s, v * f) for s, v in points for f in (0.8, 1.5)], 0, 6))
        x, y = p.place(1024, 4.0)
        check(f"latency of {source}: in the PNG", lambda p=p, x=x, y=y: not p.ink(x, y, gp.COLOURS[0]))
        check(f"latency of {source}: sizes by powers of two", lambda p=p: [t for t in ("64", "1k", "64k") if t not in p.texts()])
    check("latency of a sweep: bindings have names, a failed run no point",
          lambda: [t for t in ("0,1: median, 95 % interval", "1,0: median (no interval in the file)") if t not in p.texts()]
          or "1000000000" in p.script and "the failed run is drawn")


def bandwidth_picture():
    p = Picture("bandwidth", "bw.json")
    half = 1024 * 64 ** 0.25  # 4.5 is a quarter of the way from 3 to 9
    check("bandwidth: 1200 x 800 in both formats", p.sizes)
    check("bandwidth: each rate has a mark", lambda: p.missing_marks([(64, 1), (1024, 3), (65536, 9)]))
    check("bandwidth: each window its ends", lambda:
          p.missing_corners([(s, v * f) for s, v in ((1024, 3), (65536, 9)) for f in (0.5, 1.25)], 0, 6))
    check("bandwidth: the half-rate size has a mark", lambda: p.missing_marks([(half, 4.5)]))
    check("bandwidth: and is told", lambda: not any("half of the best rate at 2.83k bytes" in t for t in p.texts()) and p.texts())
    check("bandwidth: it is in the PNG", lambda: not p.ink(*p.place(65536, 9), gp.COLOURS[0]))
    low = read.Point(64, 5.0), read.Point(128, 9.0)
    check("bandwidth: half of it at the least size is no exact place", lambda: kinds.half_rate(low) != (4.5, 64, False))


def guessed():
    """The kind that the files tell."""
    for paths, kind in ((["a.dump"], "series"), (["a.dump", "b.dump"], "ecdf"), (["lat.json"], "latency"), (["bw.json"], "bandwidth"),
                        (["list.txt"], "series"), (["list.txt", "a.dump"], "ecdf"), (["read.dump"], "series")):
        check(f"{' '.join(paths)} is drawn as {kind}",
              lambda paths=paths, kind=kind: PLOT.make(None, paths, PLOT.parse(paths))[0] != kind)
    p = subprocess.run([f"{TREE}/scripts/plot", "series", "--size", "64", "two.dump"], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, timeout=60, check=False)
    check("without -o: a name from the file's, one size of two",
          lambda: (p.returncode, p.stdout, p.stderr) != (0, "two-series.svg\n", "") and p)
    check("and its picture", lambda: "rdma_lat: every lap, half round trip, 64 bytes" not in
          ["".join(t.itertext()).strip() for t in xml.parse("two-series.svg").iter(SVG + "text")])


def bad_input():
    with open("a.dump", "rb") as f:
        data = f.read()
    with open("cut.dump", "wb") as f:
        f.write(data[:-100])
    save("broken.json", '{"program": "x", ')
    save("odd.json", '{"results": 5}')
    save("text.txt", "nothing in it\n")
    for words, text in (((), "which FILE"), (("series", "gone.dump"), "gone.dump"), (("cut.dump",), "cut.dump"),
                        (("broken.json",), "broken JSON"), (("odd.json",), "without results"), (("none.json",), "no result"),
                        (("text.txt",), "text.txt"), (("sweep.csv",), "name the kind"), (("series", "lat.json"), "holds no samples"),
                        (("latency", "a.dump"), "neither a JSON"), (("latency", "bw.json"), "no result with a median"),
                        (("two.dump",), "choose with --size"), (("two.dump", "--size", "9"), "no such samples"),
                        (("latency", "sweep.csv", "--only", "zz"), "zz"), (("-o", "x.pdf", "a.dump"), ".svg, .png or .gp"),
                        (("--size", "x", "a.dump"), "x"), (("piechart", "a.dump"), "piechart"),
                        (("-o", "no/such/x.svg", "bw.json"), "no/such"), ((".",), "directory")):
        check(f"refused: plot {' '.join(words)}", lambda words=words, text=text: refused(plot(*words), 2, text))
    check("gnuplot is not there", lambda: refused(plot("bw.json", path="/nonexistent"), 1, "gnuplot-nox"))
    os.mkdir("fake")
    save("fake/gnuplot", "#!/bin/sh\necho 'warning: odd' >&2\nexec " + shutil.which("gnuplot") + ' "$@"\n')
    os.chmod("fake/gnuplot", 0o755)
    check("a warning of gnuplot is a failure",
          lambda: refused(plot("-o", "w.svg", "bw.json", path=f"{os.getcwd()}/fake:{os.environ['PATH']}"), 1, "warning: odd")
          or os.path.exists("w.svg"))
    os.symlink("/dev/full", "full.svg")
    check("a full disk", lambda: refused(plot("-o", "full.svg", "bw.json"), 1, "No space"))
    check("nothing half is left", lambda: [n for n in os.listdir(".") if n.startswith(".plot-")])


def refused(said, code, text):
    """One line that has @text."""
    line = said[2]
    if said[0] != code or said[1] or not line.startswith("plot: ") or line.count("\n") != 1 or text not in line:
        return f"{said}"
    return None


def hostile():
    write_dump("e.dump", {"client": planted_laps()[:300]}, {**facts(EVIL[:40]), "program": EVIL})
    name = "e'\"`touch pwned`$(touch pwned)_{x}.json"
    save(name, document(EVIL, [result(8, 1.0), result(64, 2.0)], EVIL))
    shutil.copy("b.dump", EVIL.replace("/", "") + ".dump")
    for words, text in ((["e.dump"], gp.clean(EVIL, 40) + ": every lap, half round trip, 8 bytes"),
                        ([name], gp.clean(EVIL, 40) + ": latency over message size"),
                        (["ecdf", "a.dump", EVIL.replace("/", "") + ".dump"], gp.clean(EVIL.replace("/", ""), 40))):
        p = Picture(*words, png=False)
        check(f"a hostile text is shown as it is, {len(words)} files", lambda p=p, text=text:
              not any(t.startswith(text) for t in p.texts()) and "\n".join(p.texts()))
    check("a host's name too", lambda: not any(f"client {gp.clean(EVIL, 40)}, mlx_0" in t for t in Picture(name, png=False).texts()))
    check("and is no code", lambda: os.path.exists("pwned") and "pwned is there")
    check("a control character in a file's name", lambda: refused(plot("series", "a\nb"), 2, "a"))
    check("a quote is doubled, control characters are none", lambda: gp.quote("a'b\n\x1b`c`\\") != "'a''b\ufffd\ufffd`c`\\'")


# ---- the page

class Reader(html.parser.HTMLParser):
    """Finds tags that do not fit, references, names and the text of cells."""
    EMPTY = {"meta", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.references, self.ids, self.cells, self.tags = [], [], [], [], set(), set()
        self.feed(text)
        self.close()
        self.wrong += [f"<{t}> is not closed" for t in self.open]

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)
        for k, v in attrs:
            if k in ("src", "href", "xlink:href", "action", "data", "srcset"):
                self.references.append(v)
            if k == "id":
                self.ids.append(v)
            if k.startswith("on"):
                self.wrong.append(f"{k} in {tag}")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        self.cells.add(data.strip())


def report(*words):
    p = subprocess.run([sys.executable, "-B", f"{TREE}/scripts/report", *words], capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, timeout=120, check=False)
    return p.returncode, p.stdout, p.stderr


def report_page():
    said = report("--soft", "--quick", "--programs", "rdma_lat,rdma_bw", "out")
    check("report: a page, and no word but its name", lambda: said != (0, f"{os.getcwd()}/out/report.html\n", "") and said)
    with open("out/report.html", encoding="utf-8") as f:
        text = f.read()
    r = Reader(text)
    check("report: every tag is closed", lambda: r.wrong[:5])
    pictures = re.findall(r"<svg.*?</svg>", text, re.S)
    check("report: the pictures are XML, one of each kind", 
          lambda: len([xml.fromstring(s) for s in pictures]) != 5 and f"{len(pictures)} pictures")
    check("report: nothing from outside", lambda: [v for v in r.references if not v.startswith("#")]
          + re.findall(r"https?:|url\((?!['\"]?#)|@import", text) + sorted(r.tags & {"script", "link", "img", "iframe", "object"}))
    check("report: what is referred to is there once", lambda: [v for v in r.references if r.ids.count(v[1:]) != 1][:5]
          + [i for i in set(r.ids) if r.ids.count(i) > 1][:5])
    with open("out/rdma_lat.json", encoding="utf-8") as f:
        d = json.load(f)
    figures = [v for v in numbers(d)]
    check("report: every figure of a JSON document", lambda:
          len(figures) < 60 and len(figures) or [v for v in figures if v not in r.cells][:5])
    result_keys = [f"{k}_usec" for k in ("min", "median", "median_ci95", "p99", "p99_9", "max", "first_exchange")]
    check("report: the table's figures", lambda: [k for k in result_keys if page.shown(d["results"][0][k]) not in r.cells])
    with open("out/rdma_bw.json", encoding="utf-8") as f:
        b = json.load(f)["results"][0]
    check("report: programs by their names", lambda: "rdma_lat-sizes" in r.cells or "rdma_lat" not in r.cells)
    check("report: those of the bandwidth", lambda: [
        k for k in ("avg_gbit_s", "avg_mib_s", "min_window_gbit_s", "max_window_gbit_s", "peak_gbit_s",
                    "msg_rate_per_s") if page.shown(b[k]) not in r.cells])
    check("report: says that it is a software device", lambda:
          "software device" not in r.cells or "soft0 port 1 (software device softverbs)" not in r.cells)
    check("report: kernel, firmware, clock", lambda: [t for t in (d["local"]["kernel"], d["local"]["firmware"]) if t not in r.cells]
          or not any("MHz" in c and "trusted" in c and "a stamp costs" in c for c in r.cells))
    check("report: what each number means", lambda: [k for k, _ in page.MEANINGS if k not in r.cells])
    check("report: warnings", lambda: [w for w in d["warnings"] if not any(c.startswith(w) for c in r.cells)])
    check("report: the files beside it", lambda: [
        n for n in ("rdma_lat.dump", "rdma_lat.json", "rdma_lat.txt", "rdma_bw.json", "rdma_bw-sizes.json",
                    "ecdf.svg", "bandwidth.svg") if not os.path.getsize("out/" + n)])


def numbers(value):
    """Every number of a JSON document as it stands there."""
    if isinstance(value, dict):
        for v in value.values():
            yield from numbers(v)
    elif not isinstance(value, list):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield str(value)
    elif value and all(isinstance(v, (int, float)) for v in value):
        yield ", ".join(map(str, value))
    else:
        for v in value:
            yield from numbers(v)


def report_failures():
    said = report("--soft", "--quick", "--programs", "rdma_bw", "--options=--rate nonsense", "bad")
    check("report: what failed is said", lambda: (said[0] != 1 or said[2].count("\n") != 2 or "rdma_bw failed" not in said[2]) and said)
    with open("bad/report.html", encoding="utf-8") as f:
        r = Reader(f.read())
    check("report: and is in the page", lambda: r.wrong or not any(c.startswith("failed: ") and "rate" in c for c in r.cells) and r.cells)
    for words, text in ((("--quick",), "which DIR"), (("--programs", "rm", "out"), "none of"), (("a.dump",), "a.dump"),
                        (("--client", "x", "out"), "--client"), (("--timeout", "x", "out"), "not a time")):
        check(f"refused: report {' '.join(words)}", lambda words=words, text=text: not (
            (s := here(REPORT, words))[0] == 2 and not s[1] and s[2].count("\n") == 1 and text in s[2]) and s)
    evil = Reader(page.page(EVIL, [page.every_figure(read_run()), page.results_table([read_run()], page.LATENCY, " [usec]"),
                                   page.ends_table(end(EVIL, 1), end(EVIL, 0))]))
    check("report: hostile texts are texts", lambda: evil.wrong or "b" in evil.tags or EVIL not in evil.cells)
    p = subprocess.Popen([sys.executable, "-B", f"{TREE}/scripts/report", "--soft", "stopped"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not os.path.exists("stopped/rdma_lat.txt") and p.poll() is None:
        time.sleep(0.02)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=30)
    check("report: stopped", lambda: (p.returncode != 130 or out or "SIGINT" not in err or os.path.exists("stopped/report.html"))
          and (p.returncode, out, err))


def read_run():
    """A run as page takes it, with hostile texts in it."""
    d = document(EVIL, [result(8, 1.0, latency_kind=EVIL)], EVIL)
    return type("Run", (), {"name": EVIL, "program": EVIL, "document": d, "results": d["results"], "error": EVIL})


PARTS = (series_picture, histogram_picture, ecdf_picture, latency_picture, bandwidth_picture, guessed, bad_input, hostile,
         report_page, report_failures)


def main():
    """All parts, or those that are named."""
    global PLOT, REPORT  # pylint: disable=global-statement
    if not shutil.which("gnuplot"):
        print("1..0 # SKIP no gnuplot: install gnuplot-nox")
        return 77
    PLOT, REPORT = load("plot"), load("report")
    os.environ["SOFTVERBS_FABRIC"] = f"plot_{os.getpid()}"
    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        plant()
        for part in PARTS:
            if sys.argv[1:] and part.__name__ not in sys.argv[1:]:
                continue
            begun = time.monotonic()
            check(f"{part.__name__} runs to its end", part)
            print(f"# {part.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
        os.chdir("/")
    print(f"1..{count[0]}")
    return 1 if count[1] else 0


if __name__ == "__main__":
    sys.exit(main())
