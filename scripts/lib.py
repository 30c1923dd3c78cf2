# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Shared by the Python scripts: where the tree is, one-line errors, which host an end runs on."""
import argparse
import ctypes
import os
import re
import signal
import sys

TREE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
BIN = os.path.join(TREE, os.environ.get("VERBSPERF_BUILD", "build"), "bin")
SIZE = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


LIBC = ctypes.CDLL(None)


def tied_to_us():
    """In a child, before exec: it dies with us (kill -9 too), and SIGPIPE is as a shell leaves it."""
    LIBC.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


class Parser(argparse.ArgumentParser):
    """Help is the text of the script; misuse is one line and exit code 2."""

    def __init__(self, text):
        super().__init__(prog=os.path.basename(sys.argv[0]), usage=argparse.SUPPRESS,
                         add_help=False, allow_abbrev=False)
        self.text = text
        self.add_argument("-h", "--help", action="store_true")

    def error(self, message):
        print(f"{self.prog}: {message} (see scripts/{self.prog} --help)", file=sys.stderr)
        sys.exit(2)

    def parse(self, words, mixed=False):
        """@mixed: options may stand between the arguments. A bare --soft takes no value from the next word; --help alone is enough. A reader that has
        seen enough (| head) ends the script without a word."""
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        words = ["--soft=soft0" if w == "--soft" else w for w in words]
        first = next((w for w in words if w in ("-h", "--help") or not w.startswith("-")), "")
        if first.startswith("-"):
            print(self.text.strip())
            sys.exit(0)
        return self.parse_intermixed_args(words) if mixed else self.parse_args(words)


def seconds(text):
    """500ms, 10s, 10, 2m as seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|)", text)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a time like 500ms, 10s or 2m")
    return float(found[1]) * {"ms": 1e-3, "s": 1, "": 1, "m": 60, "h": 3600}[found[2]]


def size(text):
    """8, 4k, 1m as bytes."""
    found = re.fullmatch(r"(\d+)([kmg]?)", text.lower())
    if not found or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a size like 8, 4k or 1m")
    return int(found[1]) * SIZE[found[2]]


def status(words):
    """A line that tells how far it is, in place of the last one; on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{words[:(os.get_terminal_size(2).columns or 80) - 1]}", end="", file=sys.stderr, flush=True)


def reason(document, err):
    """One line that says why a run by run-pair failed, from its JSON and stderr."""
    error = document.get("error") if document else None
    if error:
        return f"{error['stage']}: {error['text']}"
    lines = [s for s in err.splitlines() if s.strip() and "listening on" not in s and ": warning: " not in s]
    own = [s for s in lines if not s.startswith("server| ")]
    return " ".join((own or lines or ["no reason given"])[-1].split())


# Options that say where the two ends run: run-pair's, which sweep passes on to it.
WHERE = ("soft", "server", "client", "address", "port", "rsh", "path", "server_options",
         "ready_timeout")


def add_where(parser):
    for name in WHERE:
        parser.add_argument("--" + name.replace("_", "-"))


def where_argv(options):
    """The words that give run-pair the same."""
    given = ((name, getattr(options, name)) for name in WHERE)
    return [f"--{name.replace('_', '-')}={value}" for name, value in given if value is not None]
