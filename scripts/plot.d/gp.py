# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A gnuplot script in the making: texts as texts, axes with ticks that can be read, a fixed frame of 1200 x 800."""
import copy
import html
import math
import os
import re
import shutil
import subprocess
import tempfile

import lib
from read import Bad

WIDTH, HEIGHT = 1200, 800
LEFT, RIGHT, TOP, BOTTOM = 0.115, 0.962, 0.845, 0.105  # the frame, in shares of the picture
TERMINALS = {
    ".svg": f"set terminal svg size {WIDTH},{HEIGHT} noenhanced font 'sans-serif,17' background '#ffffff'",
    ".png": f"set terminal pngcairo size {WIDTH},{HEIGHT} noenhanced font 'sans-serif,12.5' background '#ffffff'",
}
COLOURS = ("#1b6ca8", "#d95f02", "#2a9d5c", "#8e44ad", "#c0392b", "#6b6b6b", "#b8860b", "#16a0a0",
           "#e377c2", "#3b3b98", "#7f8c00", "#000000")
LEGEND_ROW = 0.029
LIMIT = 300  # seconds


def clean(text, most=0):
    """One line without control characters, cut to @most characters."""
    text = "".join(c if c.isprintable() else "\ufffd" for c in str(text).encode("utf-8", "replace").decode())
    return text if not most or len(text) <= most else text[:most - 1] + "…"


def quote(text):
    """A string of gnuplot. In single quotes nothing has a meaning, but the quote itself, twice."""
    return "'" + clean(text).replace("'", "''") + "'"


def figure(v):
    """With four digits that say something, and no exponent."""
    if v == 0 or not math.isfinite(v):
        return f"{v:g}"
    digits = 3 - math.floor(math.log10(abs(v)))
    text = f"{v:,.{min(max(digits, 0), 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def size_name(size):
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("k", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.3g}{unit}"
    return f"{size:.4g}"


def nice_step(span, ticks):
    raw = span / ticks
    power = 10 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)


class Axis:
    """Range and ticks of an axis: linear, or logarithmic where the values span more than @factor."""

    def __init__(self, lo, hi, log=False, zero=False, ticks=8):
        if log:
            pad = (hi / lo) ** 0.04 if hi > lo else 1.1
            self.lo, self.hi = lo / pad, hi * pad
            self.ticks = self.log_ticks()
        else:
            lo = min(lo, 0) if zero else lo
            pad = (hi - lo) * 0.05 or abs(hi) * 0.1 or 1
            self.lo, self.hi = lo if zero else lo - pad, hi + pad
            step = nice_step(self.hi - self.lo, ticks)
            first = math.ceil(self.lo / step - 1e-9)
            last = math.floor(self.hi / step + 1e-9)
            self.ticks = [(n * step, figure(n * step), 0) for n in range(first, last + 1)]
        self.log = log

    def log_ticks(self):
        span = math.log10(self.hi / self.lo)
        ticks, named = [], (1, 2, 5) if span < 3.2 else (1,)
        if span < 0.7:
            named = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
        for e in range(math.floor(math.log10(self.lo)), math.ceil(math.log10(self.hi)) + 1):
            ticks += [(m * 10 ** e, figure(m * 10 ** e) if m in named else "", 0 if m in named else 1)
                      for m in sorted({*range(1, 10), *named})]
        ticks = [t for t in ticks if self.lo <= t[0] <= self.hi]
        if sum(1 for t in ticks if t[1]) < 3:  # a narrow range between the named ones
            step = nice_step(self.hi - self.lo, 7)
            first, last = math.ceil(self.lo / step), math.floor(self.hi / step)
            ticks = [(n * step, figure(n * step), 0) for n in range(first, last + 1)]
        return ticks

    def commands(self, axis):
        marks = ", ".join(f"{quote(name.replace('%', '%%'))} {at:.12g} {level}" for at, name, level in self.ticks)
        return [f"{'set' if self.log else 'unset'} logscale {axis}",
                f"set {axis}range [{self.lo:.12g}:{self.hi:.12g}]",
                f"set {axis}tics nomirror out scale 0.8,0.4 textcolor rgb '#222222' ({marks})"]

    def headroom(self, share):
        """Leaves that share of the axis free above the data, for a legend."""
        if self.log:
            self.hi = self.lo * (self.hi / self.lo) ** (1 / (1 - share))
        else:
            self.hi = self.lo + (self.hi - self.lo) / (1 - share)

    def unnamed(self):
        """The same without the ticks' names."""
        other = copy.copy(self)
        other.ticks = [(at, "", level) for at, _, level in self.ticks]
        return other


class Sizes(Axis):
    """Message sizes, by powers of two."""

    def __init__(self, lo, hi):
        self.lo, self.hi, self.log = lo / 1.3, hi * 1.3, True
        low, high = math.floor(math.log2(lo)), math.ceil(math.log2(hi))
        step = 1 if high - low <= 16 else 2
        self.ticks = [(1 << e, size_name(1 << e), 0) for e in range(low, high + 1)
                      if e % step == 0 and self.lo <= 1 << e <= self.hi]


class Script:
    def __init__(self):
        self.lines = ["set encoding utf8", "set border 3 linecolor rgb '#444444'",
                      "set grid xtics ytics back linetype 1 linewidth 0.8 linecolor rgb '#e2e2e2'",
                      "set style fill transparent solid 0.3 noborder"]
        self.blocks, self.middle, self.marks = 0, 0.5, ()
        self.heading = ""

    def add(self, *lines):
        self.lines += lines

    def data(self, rows):
        """A block of numbers; its name. None is a gap."""
        self.blocks += 1
        name = f"$d{self.blocks}"
        self.add(f"{name} << EOD",
                 *(" ".join("NaN" if v is None else f"{v:.12g}" for v in row) if row else "" for row in rows), "EOD")
        return name

    def title(self, lines):
        """The first one large, further ones small."""
        self.heading = clean(lines[0])
        for i, (text, font, colour) in enumerate(zip(lines, (22, 15, 15), ("#000000", "#444444", "#444444"))):
            self.add(f"set label {100 + i} {quote(clean(text, 92 if i == 0 else 150))} at screen {LEFT:g},"
                     f"{(0.965, 0.922, 0.893)[i]:g} left noenhanced font ',{{{font}}}' textcolor rgb '{colour}'")

    def untitled(self):
        self.add(*(f"unset label {100 + i}" for i in range(3)))

    def frame(self, top=TOP, bottom=BOTTOM):
        self.middle = (top + bottom) / 2
        self.add(f"set lmargin at screen {LEFT:g}", f"set rmargin at screen {RIGHT:g}",
                 f"set tmargin at screen {top:g}", f"set bmargin at screen {bottom:g}")

    def axes(self, x, y, xlabel, ylabel):
        self.add(*x.commands("x"), *y.commands("y"), f"set xlabel {quote(xlabel)} noenhanced offset 0,0.5",
                 f"set label 99 {quote(ylabel)} at screen 0.014,{self.middle:g} center rotate noenhanced")

    def legend(self, entries, at=0.862):
        """Rows of marks and texts from screen height @at on; how high they are. An entry: a text and what
        stands before it: the style of a line or of a point; a text that ends in a colon begins a row."""
        x, row, width = LEFT, at, 8.6 / WIDTH  # of a letter
        for i, (text, line, point) in enumerate(entries):
            mark = 0.034 if line else 0.016 if point else 0
            size = mark + width * len(text) + 0.012
            if x > LEFT and (x + size > RIGHT or text.endswith(":")):
                x, row = LEFT, row - LEGEND_ROW
            if line:
                self.add(f"set arrow {400 + i} from screen {x:.4f},{row:.4f} to screen {x + 0.026:.4f},{row:.4f} "
                         f"nohead {line}")
            words = f"point {point} offset 0.9,-0.2" if point else ""
            begin = x + (0.006 if point else mark)
            self.add(f"set label {400 + i} {quote(text)} at screen {begin:.4f},{row:.4f} left noenhanced "
                     f"font ',{{14}}' textcolor rgb '#222222' {words}")
            x += size
        self.marks = range(400, 400 + len(entries))
        return at - row

    def no_legend(self):
        self.add(*(f"unset {what} {i}" for i in self.marks for what in ("label", "arrow")))

    def plot(self, items):
        """@items: (rows, style and its options, title or None); rows None: a function or keyentry."""
        words = []
        for rows, style, title in items:
            source = style if rows is None else f"{self.data(rows)} {style}"
            words.append(f"{source} {'notitle' if title is None else f'title {quote(title)} noenhanced'}")
        self.add("plot " + ", \\\n     ".join(words))

    def text(self, terminal):
        """For one terminal: sizes of fonts are points of 1/72 or of 1/96 inch."""
        factor = 1 if terminal == ".svg" else 0.75
        body = "\n".join(self.lines)
        for size in (22, 15, 14):
            body = body.replace(f"',{{{size}}}'", f"',{size * factor:g}'")
        return f"{TERMINALS[terminal]}\n{body}\n"


def missing():
    return OSError("gnuplot is not there: install the package gnuplot-nox")


def available():
    """Before a long run, whose end would be the first to know."""
    if not shutil.which("gnuplot"):
        raise missing()


def draw(script, terminal):
    """The picture's bytes."""
    with tempfile.TemporaryDirectory(prefix="verbsperf-plot-") as room:
        source, picture = os.path.join(room, "plot.gp"), os.path.join(room, "picture")
        with open(source, "w", encoding="utf-8") as f:
            f.write(f"set output {quote(picture)}\n{script.text(terminal)}unset output\n")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GNUTERM", "GNUPLOT_"))}
        try:
            done = subprocess.run(["gnuplot", "-d", source], stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=LIMIT, env={**env, "LC_ALL": "C.UTF-8"}, check=False,
                                  preexec_fn=lib.tied_to_us)
        except FileNotFoundError:
            raise missing() from None
        except subprocess.TimeoutExpired:
            raise OSError(f"gnuplot was not done within {LIMIT} s") from None
        said = (done.stdout + done.stderr).decode(errors="replace").split()
        if done.returncode or said or not os.path.exists(picture):
            raise OSError(f"gnuplot failed ({done.returncode}): {' '.join(said)[:300]}")
        with open(picture, "rb") as f:
            data = f.read()
    return named(data.decode(), script.heading).encode() if terminal == ".svg" else data


def named(svg, heading):
    """With a title for who cannot see it, and without gnuplot's names of the curves, which in several
    panels are there twice, and show where the mouse is."""
    svg = re.sub(r'<g id="gnuplot_plot_\w+" *>(<title>gnuplot_plot_\w+</title>)?', "<g>", svg)
    return svg.replace("<title>Gnuplot</title>", f"<title>{html.escape(heading)}</title>", 1)
