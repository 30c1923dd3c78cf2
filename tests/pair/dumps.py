# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads dump files by what doc/dump.md says of them, and nothing else; and asks lat_stats."""
import json
import re
import struct
import subprocess

from pair import BUILD, PROCESS_LIMIT, equal, true

COLUMNS = ["post", "seen", "gap", "device", "cpu"]
MASK = (1 << 64) - 1


def checksum(words):
    total = 0xcbf29ce484222325
    for word in words:
        total ^= word
        total = ((total << 29 | total >> 35) & MASK) * 0x9e3779b97f4a7c15 & MASK
    return total


class Series:
    """One end's laps: what the header says of them, and its columns as attributes ([] where there is none)."""
    def __init__(self, head, take):
        for key in "role size run laps warmup lost latency_kind sample_ends columns".split():
            setattr(self, key, head[key])
        for name in COLUMNS:
            setattr(self, name, take(head["columns"].get(name, 0)))

    @property
    def samples(self):
        stamps = self.post[self.warmup:]
        return [b - a for a, b in zip(stamps, stamps[1:])]


class Dump:
    def __init__(self, path, check=True):
        with open(path, "rb") as f:
            data = f.read()
        first = re.match(rb"verbsperf dump 1 header (\d+)\n", data)
        true("the first line", first)
        size = int(first.group(1))
        true(f"a header of {size} bytes is whole words", size % 8 == 0 and size >= 64)
        self.header = json.loads(data[first.end():size])
        self.words = struct.unpack(f"<{len(data) // 8}Q", data)
        equal("bytes in the last word", len(data) % 8, 0)
        self.at = size // 8
        self.series = [Series(head, self.take) for head in self.header["series"]]
        equal("words behind the columns", len(self.words) - self.at, 1)
        if check:
            equal("checksum", self.words[-1], checksum(self.words[:-1]))

    def take(self, n):
        self.at += n
        return list(self.words[self.at - n:self.at])

    def of(self, role, size=None):
        return [s for s in self.series if s.role == role and size in (None, s.size)]


def lat_stats(*args):
    """Exit code, stdout, stderr."""
    p = subprocess.run([f"{BUILD}/bin/lat_stats", *map(str, args)], text=True, capture_output=True,
                       timeout=PROCESS_LIMIT)
    return p.returncode, p.stdout, p.stderr


def analysed(*args):
    """What lat_stats finds, by role; the last one of each."""
    code, out, err = lat_stats("--json", *args)
    equal(f"exit code of lat_stats, which says {err}", code, 0)
    return {f["role"]: f for f in json.loads(out)["files"]}
