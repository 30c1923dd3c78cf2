# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two real processes of a program, a server and a client: started, watched, ended; results as TAP.

A test file has functions under @case("name") and calls main(); words on its command line choose
the cases whose name contains one of them, -q those marked quick. Environment:
  VERBSPERF_BUILD  the build whose bin/ and tests/ are used (build)
  PAIR             softverbs: the software device, by the wrapper command, or linked in where the
                   build is a sanitizer's; lab: soft-RoCE, to be run by scripts/lab run
  PAIR_STARTS      starts in the test of many starts (100)
No process outlives its case, no case outlives its limit.
"""
import contextlib
import ctypes
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.join(TREE, os.environ.get("VERBSPERF_BUILD", "build"))
LAB = os.environ.get("PAIR", "softverbs") == "lab"
LINKED = os.path.basename(BUILD) in ("asan", "tsan")
SLOW = 4 if LAB or LINKED else 1  # factor for limits that a case sets
PROCESS_LIMIT = 60 * SLOW
CASE_LIMIT = 120 * SLOW
PROGRAM = "rdma_lat"
LIBC = ctypes.CDLL(None)


class Skip(Exception):
    """The case cannot run here; the text says why."""


class Fail(Exception):
    """What the case names is broken."""


# ---- processes

def die_with_parent():
    LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: a killed test leaves nothing behind
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


class Process:
    """A started program; its output goes to files, so that a full pipe never blocks it."""
    alive = []

    def __init__(self, argv, env=None, stdout=None, stderr=None):
        self.argv = argv
        self.files = [tempfile.TemporaryFile("w+", errors="replace") for _ in range(2)]
        self.begun = time.monotonic()
        self.popen = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout or self.files[0],
                                      stderr=stderr or self.files[1], env={**os.environ, **(env or {})},
                                      preexec_fn=die_with_parent)
        self.pid = self.popen.pid
        Process.alive.append(self)

    def text(self, which):
        end = os.fstat(self.files[which].fileno()).st_size
        return os.pread(self.files[which].fileno(), end, 0).decode(errors="replace")

    @property
    def out(self):
        return self.text(0)

    @property
    def err(self):
        return self.text(1)

    @property
    def code(self):
        return self.popen.poll()

    def wait(self, limit=PROCESS_LIMIT):
        """Exit code; Fail when it has not ended after @limit seconds."""
        try:
            return self.popen.wait(limit)
        except subprocess.TimeoutExpired:
            raise Fail(f"has not ended after {limit:g} s: {self}") from None

    def wait_err(self, pattern, limit=PROCESS_LIMIT):
        """The match of @pattern in stderr, which may be still to come."""
        end = time.monotonic() + limit
        while True:
            ended = self.code is not None
            found = re.search(pattern, self.err, re.M)
            if found:
                return found
            if ended or time.monotonic() > end:
                why = f"ended with {self.code}" if ended else f"waited {limit:g} s"
                raise Fail(f"no \"{pattern}\" on stderr ({why}): {self}")
            time.sleep(0.02 * SLOW)

    def kill(self, number=signal.SIGKILL):
        if self.code is None:
            os.kill(self.pid, number)

    def reap(self):
        self.kill(signal.SIGKILL)
        self.popen.wait()
        for f in self.files:
            f.close()

    def forget(self):
        """For a case with very many processes."""
        Process.alive.remove(self)
        self.reap()

    def __str__(self):
        return " ".join(self.argv).replace(BUILD + "/", "")

    def diagnosis(self):
        yield f"{self} -> {self.code}"
        for name, text in ("out", self.out), ("err", self.err):
            lines = text.splitlines()
            if len(lines) > 24:
                lines[12:-12] = [f"... {len(lines) - 24} more"]
            yield from (f"  {name}: {line}" for line in lines)


def device_argv(argv, spec):
    """@argv on the software device that @spec describes, and its environment."""
    if LAB:
        return argv, {}
    if LINKED:
        return argv, {"SOFTVERBS": spec or "soft0", "ASAN_OPTIONS": "detect_leaks=1"}
    return [f"{BUILD}/bin/softverbs", "-d", spec or "soft0", *argv], {}


def start(args, spec=None, hold=None, lab_device=None, plain=False, before=(), program=None, **popen):
    """One end. @hold: the stage where it stops itself (SIGCONT lets it go on); @plain: no device;
    @before: a command line that ends by running another one; @program: instead of rdma_lat."""
    name = program or PROGRAM
    path = f"{BUILD}/tests/hold-{name}" if hold else f"{BUILD}/bin/{name}"
    args = [str(a) for a in args]
    if LAB and lab_device and "-d" not in args:
        args = ["-d", lab_device, *args]
    argv, env = device_argv([path, *args], spec) if not plain else ([path, *args], {})
    if hold:
        env["VERBSPERF_TEST_HOLD"] = hold
    return Process([*before, *argv], {**env, **popen.pop("env", {})}, **popen)


def server(*args, port=0, **more):
    """A server that listens; .port is where."""
    p = start(["-p", port, *args], lab_device="rxe0", **more)
    p.port = p.wait_err(r"listening on (\S+):(\d+)$").group(2)
    return p


def client(s, *args, host="127.0.0.1", **more):
    """A client of server @s."""
    return start(["-p", s.port, *args, host], lab_device="rxe1", **more)


def pair(server_args=(), client_args=(), spec=None, server_spec=None, client_spec=None, codes=(0, 0), program=None):
    """A whole run, both ends ended; @codes are the exit codes expected."""
    s = server(*server_args, spec=server_spec or spec, program=program)
    c = client(s, *client_args, spec=client_spec or spec, program=program)
    for p, name, code in (c, "client", codes[1]), (s, "server", codes[0]):
        equal(f"exit code of the {name}", p.wait(), code)
    return s, c


# ---- what a case says

def equal(what, got, want):
    if got != want:
        raise Fail(f"{what}: {got!r}, not {want!r}")


def true(what, held):
    if not held:
        raise Fail(what)


def has(what, text, pattern):
    if not re.search(pattern, text, re.M):
        raise Fail(f"{what}: nothing like \"{pattern}\" in: {text[-2000:]}")


def hasnt(what, text, pattern):
    found = re.search(pattern, text, re.M)
    if found:
        raise Fail(f"{what}: \"{found.group(0)}\"")


def between(what, got, low, high):
    if not low <= got <= high:
        raise Fail(f"{what}: {got:g}, not between {low:g} and {high:g}")


def messages(p, also=()):
    """Lines of stderr but those that are always there, and those that match one of @also."""
    usual = [r": listening on \S+:\d+$", r": warning: ", r": waiting for a server", *also]
    return [s for s in p.err.splitlines() if not any(re.search(u, s) for u in usual)]


def one_message(what, p, pattern, also=()):
    """One line of reason on stderr, and it is like @pattern."""
    lines = messages(p, also)
    equal(f"{what}: lines on stderr", lines, lines[:1] or ["one line"])
    has(what, lines[0], pattern)


# ---- what a case needs

def need_softverbs(spec="soft0"):
    """Only the software device can do this; an unknown key in @spec skips as well."""
    if LAB:
        raise Skip("only softverbs can do this")
    if not LINKED:
        said = subprocess.run([f"{BUILD}/bin/softverbs", "-d", spec, "true"], text=True,
                              capture_output=True, timeout=PROCESS_LIMIT)
        if said.returncode:
            raise Skip("softverbs: " + (said.stderr.strip().splitlines() or ["no reason"])[-1])


@contextlib.contextmanager
def planted_delay(ms):
    """Half a round trip takes @ms meanwhile; gives the SPEC, in the lab the wire is slow instead."""
    if not LAB:
        need_softverbs(f"soft0:delay={ms}ms")
        yield f"soft0:delay={ms}ms"
        return
    for dev in "v0", "v1":
        subprocess.run(["tc", "qdisc", "add", "dev", dev, "root", "netem", "delay", f"{ms}ms"], check=True)
    try:
        yield None
    finally:
        for dev in "v0", "v1":
            subprocess.run(["tc", "qdisc", "del", "dev", dev, "root"], check=True)


def device_trouble():
    """Why no case with a device can run here, or None."""
    if not os.path.exists(f"{BUILD}/bin/{PROGRAM}"):
        return f"{BUILD}/bin/{PROGRAM} is not built"
    if LAB or LINKED:
        return None
    for name in "bin/softverbs", "lib/libsoftverbs.so":
        if not os.path.exists(f"{BUILD}/{name}"):
            return f"{BUILD}/{name} is not built"
    p = start(["-p", 0, "--timeout", "50ms"])
    try:
        if p.wait() == 6:
            return None
        return "softverbs gives no device: " + (p.err.strip().splitlines() or ["?"])[-1]
    finally:
        end_all()


# ---- cases

CASES = []


def case(name, quick=False, device=True, limit=CASE_LIMIT, args=()):
    """Makes a function a test. @quick: part of the short subset; @args: its arguments."""
    def add(function):
        CASES.append((name, function, quick, device, limit, args))
        return function
    return add


def shown(value):
    """A value of a row in the name of its case: a list as words of a command line."""
    return shlex.join(map(str, value)) if isinstance(value, (list, tuple)) else value


def table(template, rows, **how):
    """A case for each row: @template is formatted with the row, the function called with it."""
    def add(function):
        for row in rows:
            case(template.format(*map(shown, row)), args=row, **how)(function)
        return function
    return add


def end_all():
    while Process.alive:
        Process.alive.pop().reap()


def on_alarm(_number, _frame):
    raise Fail("the case did not end within its limit")


def outcome(function, args, limit):
    """(ok, directive, diagnostics)"""
    signal.alarm(int(limit))
    try:
        function(*args)
        return True, "", []
    except Skip as s:
        return True, f" # SKIP {s}", []
    except Exception as e:  # a bug of the test fails the test
        signal.alarm(0)
        kind = "" if isinstance(e, Fail) else type(e).__name__ + ": "
        lines = f"{kind}{e}".splitlines()
        if kind:
            lines.append(f"line {e.__traceback__.tb_next.tb_lineno}")
        return False, "", lines + [d for p in Process.alive for d in p.diagnosis()]
    finally:
        signal.alarm(0)
        end_all()


def chosen(words):
    quick = "-q" in words
    words = [w for w in words if not w.startswith("-")]
    return [c for c in CASES
            if (not quick or c[2]) and (not words or any(w in c[0] for w in words))]


def main():
    """Runs the cases of the file; exit code 1 when one failed."""
    signal.signal(signal.SIGALRM, on_alarm)
    signal.signal(signal.SIGTERM, lambda *_: (end_all(), os._exit(143)))
    trouble = device_trouble()
    failed = 0
    for n, (name, function, _, device, limit, args) in enumerate(chosen(sys.argv[1:]), 1):
        begun = time.monotonic()
        if trouble and device:
            ok, directive, lines = True, f" # SKIP {trouble}", []
        else:
            ok, directive, lines = outcome(function, args, limit)
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {n} - {name}{directive}")
        for line in lines:
            print(f"# {line}")
        if "PAIR_TIMES" in os.environ:
            print(f"# {time.monotonic() - begun:.1f} s")
        sys.stdout.flush()
    sys.exit(1 if failed else 0)
