# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kinds of picture that scripts/plot draws: each makes a gnuplot script of what was read."""
import bisect
import math
import os

import gp
import read
from read import Bad

COLUMNS = 1000     # of a time series: about one a pixel
SINGLE = 3000      # so many samples are drawn one by one
CURVES = 12
BINS = 150
LOG_FROM = 8       # an axis is logarithmic where its ends differ by more than this factor
CHANGES = 50       # most that lat_stats tells
LEGEND_LINE = 0.037  # of a frame's height
MARKED = 50        # hiccups of an end that have a mark, the largest
TAIL = "with linespoints pointtype 6 pointsize 0.8 dashtype 2 linewidth 1.3"
ENDS = {"client": "#1b6ca8", "server": "#d95f02"}
HICCUPS = {        # point type and colour by the place where it happened
    "out": (9, "#2a9d5c", "on the way out"), "back": (11, "#8e44ad", "on the way back"),
    "client": (5, "#c0392b", "client's CPU"), "server": (7, "#000000", "server's CPU"),
    "out_or_server": (8, "#1f7a46", "out or server"), "back_or_client": (10, "#a0279b", "back or client"),
    "both": (13, "#b8860b", "both"), "unknown": (6, "#c0392b", "place unknown")}


# ---- words

def ends(facts):
    """What is known of (client, server)."""
    if "client" in facts or "server" in facts:
        both = facts.get("client"), facts.get("server")
    elif facts.get("role") == "server":
        both = facts.get("remote"), facts.get("local")
    else:
        both = facts.get("local"), facts.get("remote")
    return tuple(e if isinstance(e, dict) else {} for e in both)


def end_words(role, e):
    if not e.get("host") and not e.get("device"):
        return ""
    text = f"{role} {gp.clean(e.get('host') or '?', 40)}, {gp.clean(e.get('device') or '?', 24)}"
    text += f" port {e['port']}" if e.get("port") else ""
    return text + (f", CPU {e['cpu']}" if isinstance(e.get("cpu"), int) and e["cpu"] >= 0 else "")


def where_words(facts):
    """The ends; words on device, path and time."""
    client, server = ends(facts)
    first = "   –   ".join(filter(None, (end_words("client", client), end_words("server", server))))
    settings = facts.get("settings") if isinstance(facts.get("settings"), dict) else {}
    soft = {e.get("software") for e in (client, server)} - {None}
    path = facts.get("path") if isinstance(facts.get("path"), dict) else {}
    mtu = path.get("mtu") or settings.get("mtu") or client.get("mtu")
    words = [f"software device {', '.join(sorted(map(str, soft)))}" if soft else "", client.get("link_layer"),
             settings.get("transport"), f"MTU {mtu}" if mtu else "", facts.get("time"),
             f"verbsperf {facts['version']}" if facts.get("version") else ""]
    return first, [gp.clean(w or "", 40) for w in words]


def same(values):
    """The value that all have, else None."""
    values = list(values)
    return values[0] if values and all(v == values[0] for v in values) else None


def subtitle(facts):
    """Lines on device and settings, as far as all files agree."""
    firsts, words = zip(*map(where_words, facts))
    return [line for line in (same(firsts), ", ".join(filter(None, map(same, zip(*words))))) if line]


def kind_words(result):
    return "full round trip" if result.get("latency_kind") == "full_rtt" else "half round trip"


def sample_words(series):
    return same(kind_words(s.result) for s in series) or "latency"


def size_words(size):
    return "" if size is None else f"{gp.size_name(size)} byte{'s' if size != 1 else ''}"


def headline(series, what):
    """Programs, what a sample is, size: as far as they are the same."""
    words = [what, same(kind_words(s.result) for s in series), same(size_words(s.result["size"]) for s in series)]
    return f"{subjects([s.facts for s in series], [s.path for s in series])}: {', '.join(filter(None, words))}"


def subjects(facts, paths):
    """The programs, else the file or how many there are."""
    programs = list(dict.fromkeys(gp.clean(f.get("program") or "", 40) for f in facts))
    if all(programs) and len(programs) <= 4:
        return ", ".join(programs)
    paths = set(paths)
    return gp.clean(os.path.basename(paths.pop()), 60) if len(paths) == 1 else f"{len(paths)} files"


def names(series):
    """What tells each one from the others."""
    return differing([(gp.clean(s.facts.get("program") or "", 40), s.role, size_words(s.result["size"]),
                       f"run {s.result['run']}", gp.clean(os.path.basename(s.path), 40)) for s in series], 1)


def differing(parts, otherwise):
    """Of each name as many of the words that not all have as tell it from the others; with none the word
    at @otherwise."""
    keep = []
    for i in range(len(parts[0])):
        if len({tuple(p[k] for k in keep) for p in parts}) < len(parts) and same(p[i] for p in parts) is None:
            keep.append(i)
    return [", ".join(p[i] for i in keep if p[i]) or p[otherwise] for p in parts]


def of_samples(series):
    unit = same(s.unit for s in series)
    if not unit:
        raise Bad("one file is in usec and another in cycles without a clock: these do not go into one picture")
    if len(series) > CURVES:
        raise Bad(f"{len(series)} series, and at most {CURVES} go into one picture: choose with --size, --run, --role")
    return unit


def log_wanted(lo, hi):
    return lo > 0 and hi > LOG_FROM * lo


# ---- time series

def series_rows(series):
    """{block: rows of read.Columns}, for each series."""
    sinks = {}
    for s in series:
        total = s.result["samples"] + s.result["warmup"]
        sinks[s.block] = read.Columns(total, total if total <= SINGLE else COLUMNS)
    read.feed(series[0].path, sinks)
    return {block: sink.close() for block, sink in sinks.items()}


def worst_hiccups(s):
    return sorted(s.found["hiccups"], key=lambda h: s.figure(h, "excess") or 0, reverse=True)[:MARKED]


def hiccup_points(s, rows):
    """{where: [(lap, value)]}: the value is that of its column, or from its excess."""
    numbers = [r[0] for r in rows]
    points = {}
    for h in worst_hiccups(s):
        i = min(bisect.bisect_left(numbers, h["lap"]), len(rows) - 1)
        near = min((j for j in (i - 1, i, i + 1) if 0 <= j < len(rows)), key=lambda j: abs(numbers[j] - h["lap"]))
        lap, _, median, most, width = rows[near]
        value = most if lap == h["lap"] or width == 1 else median + s.figure(h, "excess")
        points.setdefault(h["where"], []).append((h["lap"], value))
    return points


def change_labels(script, s, x):
    """A dashed line at each change, and how large it is where there is room, in two rows."""
    script.add(*(f"unset arrow {100 + i}" for i in range(CHANGES)))
    taken = ([], [])
    for i, c in enumerate(s.found["change_points"]):
        script.add(f"set arrow {100 + i} from first {c['lap']},graph 0 to first {c['lap']},graph 1 nohead front "
                   "dashtype 2 linewidth 1.5 linecolor rgb '#c0392b'")
        text = f" {gp.figure(s.figure(c, 'before'))} → {gp.figure(s.figure(c, 'after'))} {s.unit} "
        share, width = (c["lap"] - x.lo) / (x.hi - x.lo), 9.2 * len(text) / gp.WIDTH / (gp.RIGHT - gp.LEFT)
        right = share + width > 1
        a, b = (share - width, share) if right else (share, share + width)
        row = next((r for r in (0, 1) if all(b <= p or q <= a for p, q in taken[r])), None)
        if row is not None:
            taken[row].append((a, b))
            script.add(f"set label {200 + i} {gp.quote(text)} at first {c['lap']},graph {0.95 - 0.09 * row:g} "
                       f"{'right' if right else 'left'} front noenhanced textcolor rgb '#c0392b' font ',{{15}}'")


def panel(script, s, rows, x, y, top, bottom, last):
    colour = ENDS.get(s.role, ENDS["client"])
    script.frame(top, bottom)
    script.axes(x if last else x.unnamed(), y, "lap" if last else "", f"{kind_words(s.result)} [{s.unit}]")
    change_labels(script, s, x)
    if s.result["warmup"]:
        script.add(f"set object 1 rectangle from first {x.lo:.12g},graph 0 to first 0.5,graph 1 behind "
                   "fillstyle solid 1 noborder fillcolor rgb '#e4e4e4'")
    name = s.role if s.role != "unknown" else os.path.basename(s.path)
    script.add(f"set label 300 {gp.quote(name)} at graph 0,graph 1 left "
               f"offset 0,0.6 noenhanced textcolor rgb '{colour}' font ',{{15}}'")
    items = []
    if all(r[4] == 1 for r in rows):
        items.append(([(r[0], max(r[3], y.lo)) for r in rows],
                      f"with points pointtype 7 pointsize 0.45 linecolor rgb '{colour}'", None))
    else:
        items.append(([(r[0], max(r[1], y.lo), r[3] - max(r[1], y.lo)) for r in rows],
                      f"using 1:2:(0):3 with vectors nohead linewidth 1.4 linecolor rgb '{lighter(colour)}'", None))
        items.append(([(r[0], max(r[2], y.lo)) for r in rows], f"with lines linewidth 1.8 linecolor rgb '{colour}'", None))
    for where, points in sorted(hiccup_points(s, rows).items()):
        kind, ink, _ = HICCUPS.get(where, HICCUPS["unknown"])
        items.append((points, f"with points pointtype {kind} pointsize 0.9 linecolor rgb '{ink}'", None))
    script.plot(items)


def lighter(colour):
    return "#" + "".join(f"{(int(colour[i:i + 2], 16) + 2 * 255) // 3:02x}" for i in (1, 3, 5))


def series_legend(series, rows):
    """Entries of all panels, once."""
    width = max(r[4] for s in series for r in rows[s.block])
    colour = ENDS.get(series[0].role, ENDS["client"])
    if width == 1:
        entries = [("a sample", None, f"pointtype 7 pointsize 0.8 linecolor rgb '{colour}'")]
    else:
        entries = [(f"median of {width:,} laps", f"linewidth 2.5 linecolor rgb '{colour}'", None),
                   ("least to largest of them", f"linewidth 7 linecolor rgb '{lighter(colour)}'", None)]
    warmup = max(s.result["warmup"] for s in series)
    if warmup:
        entries.append((f"warm-up ({warmup:,} laps)", "linewidth 12 linecolor rgb '#d4d4d4'", None))
    if any(s.found["change_points"] for s in series):
        entries.append(("change of level", "dashtype 2 linewidth 1.5 linecolor rgb '#c0392b'", None))
    marked = {h["where"] for s in series for h in worst_hiccups(s)}
    most = max(s.found["hiccup_count"] for s in series)
    if most:
        entries.append((f"hiccups ({MARKED} largest of {most:,}):" if most > MARKED else f"hiccups ({most:,}):", None, None))
    return entries + [(name, None, f"pointtype {kind} pointsize 1.1 linecolor rgb '{ink}'")
                      for where, (kind, ink, name) in HICCUPS.items() if where in marked]


def time_series(series):
    """Both ends of one run, one below the other."""
    unit = of_samples(series)
    if same((s.path, s.result["size"], s.result["run"]) for s in series) is None:
        sizes = ", ".join(dict.fromkeys(f"{s.result['size']} (run {s.result['run']})" for s in series))
        raise Bad(f"a time series is of one file, size and run, and there are {sizes}: choose with --size and --run")
    if any(s.found["sorted"] for s in series):
        raise Bad(f"{series[0].path}: sorted samples have no order in time; draw a histogram or an ecdf")
    rows = series_rows(series)
    script = gp.Script()
    flat = [r for s in series for r in rows[s.block]]
    lo, hi = min(r[1] for r in flat), max(r[3] for r in flat)
    least = min((r[1] for r in flat if r[1] > 0), default=0)
    x = gp.Axis(min(r[0] for r in flat), max(r[0] for r in flat), ticks=10)
    first, end = min(r[0] for r in flat), max(r[0] for r in flat)
    x.lo, x.hi = first - (end - first) * 0.006 - 0.5, end + 0.5  # the first lap is not to hide in the frame
    x.ticks = [t for t in x.ticks if x.lo <= t[0] <= x.hi]
    log = log_wanted(least, hi)
    y = gp.Axis(least if log else lo, hi, log=log)
    if any(s.found["change_points"] for s in series):
        y.headroom(0.12)
    script.title([headline(series, "every lap"), *subtitle([s.facts for s in series])])
    script.add("set multiplot")
    top, gap = 0.815 - script.legend(series_legend(series, rows)), 0.045
    height = (top - gp.BOTTOM - gap * (len(series) - 1)) / len(series)
    for i, s in enumerate(series):
        at = top - i * (height + gap)
        panel(script, s, rows[s.block], x, y, at, at - height, i == len(series) - 1)
        script.untitled()
        script.no_legend()
        script.add("unset object 1", *(f"unset label {200 + k}" for k in range(len(s.found["change_points"]))))
    script.add("unset multiplot")
    return script


# ---- distributions

def counts(series):
    """[[(value, how often)]] in the order of @series."""
    out = {}
    for path in dict.fromkeys(s.path for s in series):
        sinks = {s.block: read.Counts() for s in series if s.path == path}
        read.feed(path, sinks)
        out.update(((path, block), sink.close()) for block, sink in sinks.items())
    return [out[s.path, s.block] for s in series]


def quantile(count, q):
    """Nearest rank."""
    rank, seen = max(1, math.ceil(q * sum(n for _, n in count))), 0
    for v, n in count:
        seen += n
        if seen >= rank:
            return v
    return count[-1][0]


def summary(s, name):
    """A legend's text: the figures of lat_stats."""
    def told(key):
        v = s.figure(s.result, key)
        return "-" if v is None else gp.figure(v)
    return (f"{name}: {s.result['samples']:,} samples, median {told('median')}, p99 {told('p99')}, "
            f"p99.9 {told('p99_9')}, max {told('max')} {s.unit}")


def linear_bins(all_counts, lo, hi):
    """Edges: of whole steps of the clock, or they would show as a comb."""
    values = sorted({v for c in all_counts for v, _ in c if lo <= v <= hi})
    gaps = [b - a for a, b in zip(values, values[1:]) if b - a > 2e-6]
    step = min(gaps, default=0)
    width = (hi - lo) / BINS
    if step and len(values) < 20 * BINS:
        width = step * max(1, math.ceil(width / step - 1e-6))
    width = width or abs(hi) * 0.01 or 1
    n = max(1, math.ceil((hi - lo) / width + 0.5))
    return [lo + (i - 0.5) * width for i in range(n + 1)]


def log_bins(lo, hi):
    if hi <= lo:
        lo, hi = lo * 0.99, hi * 1.01
    return [lo * (hi / lo) ** ((i - 0.5) / BINS) for i in range(BINS + 2)]


def binned(count, edges, base):
    """Outline of a histogram in percent of all samples, from @base and back to it."""
    total = sum(n for _, n in count)
    height = [0] * (len(edges) - 1)
    for v, n in count:
        i = bisect.bisect_right(edges, v) - 1
        if 0 <= i < len(height):
            height[i] += n
    rows = [(edges[0], base)]
    for i, n in enumerate(height):
        share = max(100 * n / total, base)
        rows += [(edges[i], share), (edges[i + 1], share)]
    return rows + [(edges[-1], base)]


def outline_items(series, outlines, base, titles):
    items = []
    for i, rows in enumerate(outlines):
        colour = colour_of(series, i)
        items.append((rows, f"with filledcurves y1={base:.12g} fillcolor rgb '{colour}' "
                      "fillstyle transparent solid 0.25 noborder", None))
        items.append((rows, f"with lines linewidth 1.6 linecolor rgb '{colour}'", titles[i]))
    return items


def colour_of(series, i):
    """The ends' own colours where they are what is compared."""
    if len({s.role for s in series}) == len(series) and series[i].role in ENDS:
        return ENDS[series[i].role]
    return gp.COLOURS[i]


def median_arrows(script, series, x):
    script.add("unset arrow")
    for i, s in enumerate(series):
        at = s.figure(s.result, "median")
        if x.lo <= at <= x.hi:
            script.add(f"set arrow from first {at:.12g},graph 0 to first {at:.12g},graph 1 nohead back dashtype 3 "
                       f"linewidth 2 linecolor rgb '{colour_of(series, i)}'")


def histogram(series):
    """Above the body up to p99, below everything."""
    unit = of_samples(series)
    all_counts = counts(series)
    script = gp.Script()
    script.title([headline(series, "histogram"), *subtitle([s.facts for s in series])])
    lo, hi = min(c[0][0] for c in all_counts), max(c[-1][0] for c in all_counts)
    body = max(quantile(c, 0.99) for c in all_counts)
    script.add("set multiplot")
    script.frame(gp.TOP, 0.53)
    edges = linear_bins(all_counts, lo, body)
    outlines = [binned(c, edges, 0) for c in all_counts]
    x = gp.Axis(edges[0], edges[-1], ticks=10)
    y = gp.Axis(0, max(r[1] for rows in outlines for r in rows), zero=True, ticks=5)
    y.headroom(0.09 * (len(series) + 1))
    script.axes(x, y, f"{sample_words(series)} [{unit}], up to p99", "share of samples [%]")
    script.add("set key top right noenhanced opaque samplen 1.5")
    median_arrows(script, series, x)
    dotted = [(None, "keyentry with lines dashtype 3 linewidth 2 linecolor rgb '#444444'",
               f"median (bins of {gp.figure(edges[1] - edges[0])} {unit})")]
    script.plot(outline_items(series, outlines, 0, [summary(s, n) for s, n in zip(series, names(series))]) + dotted)
    script.untitled()
    script.add("unset key")
    script.frame(0.415, gp.BOTTOM)
    least = min((v for c in all_counts for v, _ in c if v > 0), default=0)
    log = log_wanted(least, hi)
    edges = log_bins(least, hi) if log else linear_bins(all_counts, lo, hi)
    base = 50 / max(sum(n for _, n in c) for c in all_counts)
    outlines = [binned(c, edges, base) for c in all_counts]
    x = gp.Axis(max(edges[0], least / 1.2) if log else edges[0], edges[-1], log=log, ticks=10)
    top = max(r[1] for rows in outlines for r in rows)
    script.axes(x, gp.Axis(base, max(top, 2 * base), log=True), f"all samples [{unit}]", "share [%]")
    median_arrows(script, series, x)
    script.plot(outline_items(series, outlines, base, [None] * len(series)))
    script.add("unset multiplot")
    return script


def tail_rows(count, x):
    """Steps of the share of samples that are larger: first and last of each pixel, all of the tail's end."""
    total = left = sum(n for _, n in count)
    rows = []
    place = (lambda v: math.log(max(v, x.lo))) if x.log else float
    pixel, end = (place(x.hi) - place(x.lo)) / 1100, len(count) - 300
    for i, (v, n) in enumerate(count):
        above, left = left / total, left - n
        row = (max(v, x.lo), above, left / total)
        if len(rows) > 1 and i < end and place(v) - place(rows[-2][0]) < pixel:
            rows[-1] = row
        else:
            rows.append(row)
    steps = [(rows[0][0], 1)]
    for v, above, below in rows:
        steps += [(v, above)] + ([(v, below)] if below > 0 else [])
    return steps


def ecdf(series):
    unit = of_samples(series)
    all_counts = counts(series)
    most = max(sum(n for _, n in c) for c in all_counts)
    lo, hi = min(c[0][0] for c in all_counts), max(c[-1][0] for c in all_counts)
    least = min((v for c in all_counts for v, _ in c if v > 0), default=0)
    log = log_wanted(least, hi)
    x = gp.Axis(least if log else lo, hi, log=log, ticks=10)
    y = gp.Axis(1 / most / 1.3, 1, log=True)
    y.hi, y.ticks = 1, []
    nines = [(10 ** -k, f"{100 * (1 - 10 ** -k):.{max(k - 2, 0)}f}") for k in range(1, 13)]
    for share, name in [(1, "0"), (0.5, "50"), (0.2, "80"), *nines]:
        if share >= y.lo:
            y.ticks.append((share, name + " %", 0))
    script = gp.Script()
    script.title([headline(series, "distribution"), *subtitle([s.facts for s in series])])
    script.frame(gp.TOP)
    script.axes(x, y, f"{sample_words(series)} [{unit}]", "share of samples up to this time")
    top = y.lo ** (1 / (1 - LEGEND_LINE * (len(series) + 0.5)))  # room for the legend
    script.add(f"set yrange [1:{top:.12g}] noreverse", "set key top right noenhanced opaque samplen 2 spacing 1.2")
    items = []
    for i, (s, c, name) in enumerate(zip(series, all_counts, names(series))):
        colour = colour_of(series, i)
        items.append((tail_rows(c, x), f"with lines linewidth 2.2 linecolor rgb '{colour}'", summary(s, name)))
        items.append(([(max(c[-1][0], x.lo), c[-1][1] / sum(n for _, n in c))],
                      f"with points pointtype 7 pointsize 0.8 linecolor rgb '{colour}'", None))
    script.plot(items)
    return script


# ---- over size

def pick_curves(tables, kind, only):
    """Curves with the names that tell them apart."""
    curves, parts = [], []
    for t in tables:
        for c in getattr(t, kind):
            if c.points:
                curves.append(c)
                parts.append((*(gp.clean(w.replace("_to_", " to "), 60) for w in c.name),
                              gp.clean(os.path.basename(t.path), 40)))
    most = max(map(len, parts), default=0)
    found = differing([p[:-1] + ("",) * (most - len(p)) + p[-1:] for p in parts], 0) if parts else []
    chosen = [(n, c) for n, c, p in zip(found, curves, parts) if not only or any(only in w for w in p)]
    if not chosen:
        files = ", ".join(t.path for t in tables)
        raise Bad(f"{files}: no result with {'a median' if kind == 'latency' else 'a bandwidth'}"
                  + (f" whose name holds {only}" if only else ""))
    if len(chosen) > CURVES:
        raise Bad(f"{len(chosen)} curves, and at most {CURVES} go into one picture: choose with --only TEXT")
    return chosen


def over_size(tables, kind, only, what):
    chosen = pick_curves(tables, kind, only)
    script = gp.Script()
    facts = [t.facts for t in tables]
    script.title([f"{subjects(facts, [t.path for t in tables])}: {what}", *subtitle(facts)])
    script.frame(gp.TOP if any(facts) else 0.9)
    points = [p for _, c in chosen for p in c.points]
    return script, chosen, points, gp.Sizes(min(p.size for p in points), max(p.size for p in points))


def latency(tables, only):
    script, chosen, points, x = over_size(tables, "latency", only, "latency over message size")
    with_p99 = len(chosen) <= 3 and any(p.more.get("p99") for p in points)
    shown = [v for p in points for v in (p.value, p.low, p.high, with_p99 and p.more.get("p99") or None) if v]
    log = log_wanted(min(shown), max(shown))
    y = gp.Axis(min(shown), max(shown), log=log) if log else gp.Axis(0, max(shown) * 1.1, zero=True)
    script.add("set key top left noenhanced opaque samplen 2 spacing 1.2 reverse Left")
    items = []
    for i, (name, c) in enumerate(chosen):
        colour = gp.COLOURS[i]
        bars = [(p.size, p.value, p.low, p.high) for p in c.points if p.low and p.high]
        known = ", 95 % interval" if bars else " (no interval in the file)"
        items += curve_items(c, bars, colour, f"{name}: median{known}")
        tail = [(p.size, p.more["p99"]) for p in c.points if p.more.get("p99")]
        if with_p99 and tail:
            items.append((tail, f"{TAIL} linecolor rgb '{colour}'", None))
    if with_p99:
        items.append((None, f"keyentry {TAIL} linecolor rgb '#444444'", "p99"))
    y.headroom(LEGEND_LINE * (1 + sum(1 for item in items if item[2])))
    script.axes(x, y, "message size [bytes]", "latency [usec]")
    script.plot(items)
    return script


def curve_items(c, bars, colour, title):
    ink = f"linewidth 2 linecolor rgb '{colour}'"
    items = [([(p.size, p.value) for p in c.points], f"with linespoints pointtype 7 pointsize 0.9 {ink}", title)]
    return items + ([(bars, f"with yerrorbars pointtype 7 pointsize 0.9 {ink}", None)] if bars else [])


def half_rate(points):
    """(half of the best rate, size at which it is reached, exact): between two sizes on the picture's
    own axes; not exact where the smallest size reaches it."""
    half = max(p.value for p in points) / 2
    before = None
    for p in points:
        if p.value >= half:
            if before is None:
                return half, p.size, False
            share = (half - before.value) / (p.value - before.value)
            return half, before.size * (p.size / before.size) ** share, True
        before = p
    return half, points[-1].size, False


def bandwidth(tables, only):
    script, chosen, points, x = over_size(tables, "bandwidth", only, "bandwidth over message size")
    best = max(max(p.value, p.high or 0) for p in points)
    y = gp.Axis(0, best, zero=True)
    script.add("set key top left noenhanced opaque samplen 2 spacing 1.2 reverse Left")
    items = []
    for i, (name, c) in enumerate(chosen):
        colour = gp.COLOURS[i]
        bars = [(p.size, p.value, p.low, p.high) for p in c.points if windows(p)]
        half, at, exact = half_rate(c.points)
        text = f"half of the best rate at {'' if exact else 'or below '}{gp.size_name(at)} bytes"
        items += curve_items(c, bars, colour, f"{name}: {text}")
        items.append(([(x.lo, half), (at, half), (at, 0)],
                      f"with lines dashtype 3 linewidth 1.5 linecolor rgb '{colour}'", None))
        items.append(([(at, half)], f"with points pointtype 4 pointsize 1.6 linewidth 2 linecolor rgb '{colour}'", None))
    if any(windows(p) for p in points):
        items.append((None, "keyentry with yerrorbars pointtype 7 pointsize 0.9 linecolor rgb '#444444'",
                      "average, worst and best window of 100 ms"))
    y.headroom(LEGEND_LINE * (1 + sum(1 for item in items if item[2])))
    script.axes(x, y, "message size [bytes]", "bandwidth [Gbit/s]")
    script.plot(items)
    return script


def windows(p):
    """Whether a run had several windows."""
    return p.low is not None and p.high is not None and p.low < p.high
