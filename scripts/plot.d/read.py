# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What scripts/plot reads: dumps and listings through lat_stats, JSON documents, tables (sweeps, --csv)."""
import collections
import csv
import json
import math
import os
import re
import subprocess
from dataclasses import dataclass, field

import lib

HEADER_MOST = 16 << 20  # bytes of a dump's header, as doc/dump.md has it
CHUNK = 1 << 20


class Bad(Exception):
    """Misuse or a file that cannot be drawn; the text is one line."""


@dataclass
class Series:
    """Samples of one end: what lat_stats finds in them, and where they are."""
    path: str
    block: int    # of what lat_stats convert prints
    found: dict   # an element of lat_stats' files[]
    facts: dict   # the dump's header; {} of a listing

    @property
    def result(self):
        return self.found["results"][0]

    @property
    def role(self):
        return self.found["role"]

    @property
    def unit(self):
        return "usec" if self.result["median_usec"] is not None else "cycles"

    def figure(self, of, name):
        """A figure in this series' unit."""
        return of[f"{name}_{self.unit}"]


@dataclass
class Point:
    """One size of a curve."""
    size: int
    value: float
    low: float = None
    high: float = None
    more: dict = field(default_factory=dict)


@dataclass
class Curve:
    name: tuple   # words, of which the legend shows those that differ
    points: list


@dataclass
class Table:
    """Figures over size, of one file."""
    path: str
    facts: dict
    latency: list     # of Curve
    bandwidth: list


# ---- samples

def lat_stats(*words):
    return [os.path.join(lib.BIN, "lat_stats"), *words]


def run(argv, **more):
    try:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=lib.tied_to_us, **more)
    except FileNotFoundError:
        raise Bad(f"no program {argv[0]}: run make") from None


def refused(path, err):
    """lat_stats' own line, without its name."""
    line = (err.decode(errors="replace").strip().splitlines() or ["it cannot be read"])[-1]
    return Bad(re.sub(r"^lat_stats: (error: )?", "", line) if path in line else f"{path}: {line}")


def dump_header(path):
    """The JSON header of a dump, {} where it is something else."""
    with open(path, "rb") as f:
        first = re.fullmatch(rb"verbsperf dump \d+ header (\d{1,9})\n", f.readline(64))
        if not first or int(first[1]) > HEADER_MOST:
            return {}
        try:
            header = json.loads(f.read(int(first[1]) - f.tell()))
        except ValueError:
            return {}
    return header if isinstance(header, dict) else {}


def samples(path):
    """All series of a dump or listing that have samples: the passive end of a READ has none."""
    if re.search(r"[\x00-\x1f\x7f]", path):
        raise Bad(f"{path!r}: a file name with a control character in it")
    name = os.path.join(".", path)  # one that begins with - is no option
    with run(lat_stats("--json", name)) as p:
        out, err = p.communicate()
    if p.returncode:
        raise refused(path, err)
    facts = dump_header(path)
    every = [Series(path, i, found, facts) for i, found in enumerate(json.loads(out)["files"])]
    some = [s for s in every if s.result["samples"]]
    if not some:
        raise Bad(f"{path}: there is no sample in it")
    return some


def feed(path, sinks):
    """Gives every lap to the sink of its series, sinks[series.block]: feed(numbers, values), as text.
    Numbers below 1 are warm-up. Memory does not grow with the file."""
    with run(lat_stats("convert", "--format", "gnuplot", os.path.join(".", path))) as p:
        block, rest = -1, b""
        while True:
            piece = p.stdout.read(CHUNK)
            whole, newline, rest = (rest + piece).rpartition(b"\n")
            for part in re.split(rb"^(#.*\n)", whole + newline, flags=re.M):
                if part.startswith(b"# number"):
                    block += 1
                elif part and not part.startswith(b"#") and block in sinks:
                    words = part.split()
                    sinks[block].feed(words[0::3], words[2::3])
            if not piece:
                break
        err = p.stderr.read()
    if p.returncode:
        raise refused(path, err)


class Columns:
    """Least, median and largest sample of each column of a picture: (number, least, median, largest, laps),
    the number that of the column's largest sample."""

    def __init__(self, total, columns):
        self.width = max(1, -(-total // columns))
        self.rows, self.numbers, self.values = [], [], []

    def feed(self, numbers, values):
        self.numbers += numbers
        self.values += map(float, values)
        at = 0
        while len(self.values) - at >= self.width:
            self.column(at, at + self.width)
            at += self.width
        del self.numbers[:at], self.values[:at]

    def column(self, a, b):
        part = self.values[a:b]
        most = max(part)
        number = int(self.numbers[a + part.index(most)])
        part.sort()
        self.rows.append((number, part[0], part[len(part) // 2], most, b - a))

    def close(self):
        if self.values:
            self.column(0, len(self.values))
        return self.rows


class Counts:
    """How often each value is there, without the warm-up: exact, and small, since clocks step."""

    def __init__(self):
        self.count = collections.Counter()

    def feed(self, numbers, values):
        if numbers[0].startswith(b"-") or numbers[0] == b"0":
            values = [v for n, v in zip(numbers, values) if int(n) > 0]
        self.count.update(values)

    def close(self):
        """(value, how often), ascending."""
        return sorted((float(v), n) for v, n in self.count.items())


# ---- figures over size

def number(value):
    try:
        v = float(value)
    except (TypeError, ValueError):
        return None
    return v if math.isfinite(v) else None


def half_width(value, percent):
    return None if percent is None else value * percent / 100


def result_points(rows, kind):
    """Points by direction or load, from results as JSON or CSV have them."""
    key, low, high = {"latency": ("median_usec", "median_ci95_usec_lo", "median_ci95_usec_hi"),
                      "bandwidth": ("avg_gbit_s", "min_window_gbit_s", "max_window_gbit_s")}[kind]
    curves = collections.defaultdict(list)
    for row in rows:
        size, value = number(row.get("size")), number(row.get(key))
        if size is None or size < 1 or value is None or value <= 0:
            continue
        loaded = row.get("loaded") in (True, "true")
        name = (row.get("direction") or "", "loaded" if loaded else "")
        curves[name].append(Point(int(size), value, number(row.get(low)), number(row.get(high)),
                                  {"p99": number(row.get("p99_usec"))}))
    return curves


def over_runs(points, document, kind):
    """Where a size was measured in several runs, its mean over them and that mean's interval."""
    runs = {r.get("size"): r for r in document.get("runs") or [] if isinstance(r, dict)}
    out = {}
    for p in points:
        out.setdefault(p.size, []).append(p)
    for size, those in out.items():
        if len(those) == 1:
            continue
        mean = sum(p.value for p in those) / len(those)
        half = half_width(mean, number(runs.get(size, {}).get("half_percent")))
        out[size] = [Point(size, mean, half and mean - half, half and mean + half)]
    return sorted((p for those in out.values() for p in those), key=lambda p: p.size)


def unfold(result):
    """The interval as the CSV has it."""
    ci = result.get("median_ci95_usec")
    if isinstance(ci, list) and len(ci) == 2:
        result = {**result, "median_ci95_usec_lo": ci[0], "median_ci95_usec_hi": ci[1]}
    return result


def json_table(path, document):
    results = document.get("results")
    if not isinstance(results, list) or not all(isinstance(r, dict) for r in results):
        raise Bad(f"{path}: a JSON document without results of a run")
    results = [unfold(r) for r in results]
    made = {}
    for kind in ("latency", "bandwidth"):
        curves = result_points(results, kind)
        made[kind] = [Curve((str(document.get("program")), *name), over_runs(points, document, kind))
                      for name, points in curves.items()]
    return Table(path, document, made["latency"], made["bandwidth"])


def csv_table(path, rows):
    """A sweep, or what --csv prints: a curve for each program, binding and option set."""
    groups = collections.defaultdict(list)
    for row in rows:
        if row.get("exit_code") in (None, "", "0"):
            groups[tuple(row.get(c) or "" for c in ("program", "binding", "options", "where"))].append(row)
    made = {"latency": [], "bandwidth": []}
    for name, those in groups.items():
        for kind, curves in made.items():
            curves += [Curve((*name, *more), over_runs(points, {}, kind))
                       for more, points in result_points(those, kind).items()]
    return Table(path, {}, made["latency"], made["bandwidth"])


def table(path):
    """A JSON document or CSV as a Table; None where it is neither (or holds samples)."""
    with open(path, "rb") as f:
        start = f.read(4096)
    if start.startswith(b"verbsperf dump "):
        return None
    if start.lstrip().startswith(b"{"):
        with open(path, "rb") as f:
            try:
                document = json.load(f)
            except (ValueError, RecursionError) as e:
                raise Bad(f"{path}: broken JSON: {' '.join(str(e).split())}") from None
        return json_table(path, document)
    columns = start.split(b"\n")[0].decode(errors="replace").strip().split(",")
    if "size" in columns and {"median_usec", "avg_gbit_s"} & set(columns):
        with open(path, newline="", encoding="utf-8", errors="replace") as f:
            try:
                return csv_table(path, csv.DictReader(f, restval=""))
            except csv.Error as e:
                raise Bad(f"{path}: broken CSV: {e}") from None
    return None
