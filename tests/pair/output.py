# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads what a latency program prints: addresses, dumps, table."""
import re

from pair import Fail, equal

ADDRESS = (r"LID 0x[0-9a-f]{4}, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, RKey 0x[0-9a-f]{8}, "
           r"VAddr 0x[0-9a-f]{16}(, GID [0-9a-f:.]+ \(index \d+, (RoCE v[12]|IB)\))?")
COLUMNS = ["min", "median", "mean", "stdev", "p90", "p99", "p99.9", "p99.99", "max"]


class Block:
    """One dump: its size and marker lines, its title, the numbers of its rows and the values as text."""
    def __init__(self, size, marker, title):
        self.size, self.marker, self.title = size, marker, title
        self.rows = []

    @property
    def values(self):
        return [r[1] for r in self.rows]

    def check_count(self, n):
        equal(f"numbers of the samples of {self.title!r}", [int(r[0]) for r in self.rows],
              list(range(1, n + 1)))


class Report:
    """The text that an end has printed."""
    def __init__(self, text):
        lines = text.splitlines()
        self.lines = lines
        self.addresses = lines[:2]
        self.check_addresses()
        self.blocks = []
        empty = lines.index("")
        self.take_blocks(lines[2:empty])
        self.header = lines[empty + 1]
        self.rows = self.take_table(lines[empty + 1:])

    def check_addresses(self):
        for line, start in zip(self.addresses, ("  local address:  ", "  remote address: ")):
            if not re.fullmatch(start + ADDRESS, line):
                raise Fail(f"address line: {line!r}")

    def take_blocks(self, lines):
        size = marker = None
        for line in lines:
            if line.startswith("# size "):
                size = int(line.split()[2])
            elif line.startswith("# "):
                marker = line
            elif line.startswith("#, "):
                self.blocks.append(Block(size, marker, line))
                marker = None
            else:
                self.blocks[-1].rows.append(line.split(", "))

    def take_table(self, lines):
        """Rows as dictionaries by the name of the column, without its unit; `-` is None."""
        head = next((i for i, s in enumerate(lines) if s.split()[:1] == ["bytes"]), None)
        if head is None:
            raise Fail("there is no table")
        names = lines[head].split()
        self.titles = names
        unit = "cycles" if names[3].endswith("[cycles]") else "usec"
        equal("titles of the table", names, ["bytes", "laps", "samples"] + [f"{c}[{unit}]" for c in COLUMNS])
        rows = []
        for line in lines[head + 1:]:
            if not re.match(r" *\d+ +\d+ +\d+ ", line):
                break
            values = [None if v == "-" else float(v) for v in line.split()]
            rows.append(dict(zip([n.split("[")[0] for n in names], values)))
        return rows


def full_table(text, rows=1):
    """The report of a run that went to its end."""
    r = Report(text)
    equal("rows of the table", len(r.rows), rows)
    return r
