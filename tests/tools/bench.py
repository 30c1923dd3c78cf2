#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/bench: its arithmetic on planted numbers, its parsers, and whole runs beside stand-ins for
the peers, which print what is known."""
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
loader = SourceFileLoader("bench", f"{TREE}/scripts/bench")
bench = module_from_spec(spec_from_loader("bench", loader))
sys.modules["bench"] = bench
loader.exec_module(bench)
sys.path.insert(0, f"{TREE}/scripts")

# A peer: its server takes one connection; its client makes one and prints, or fails.
PEER = """#!/usr/bin/python3 -B
import os, socket, sys
port = int(sys.argv[sys.argv.index("-p") + 1])
if sys.argv[-1] != "127.0.0.1":
    s = socket.socket()
    s.bind(("127.0.0.1", port))
    s.listen()
    s.accept()
    sys.exit(0)
socket.create_connection(("127.0.0.1", port)).close()
if os.environ.get("PEER_FAILS"):
    sys.exit("boom")
print("#, cycles")
for n in range(1, 102):
    print("%d, %g" % (n, 950 + n - 1))
"""


def near(got, want, share=1e-9):
    assert abs(got - want) <= share * abs(want), f"{got}, not {want}"


def row(name):
    return next(r for r in bench.rows() if r.name == name)


def fails(text, function, *args):
    try:
        function(*args)
    except bench.Failed as e:
        assert text in str(e), e
        return
    raise AssertionError("no failure")


def the_fastest_third():
    nine = [9, 1, 8, 2, 7, 3, 6, 4, 5]
    assert bench.fastest_third(nine, True) == 2 and bench.fastest_third(nine, False) == 8
    assert bench.fastest_third([4], True) == 4 and bench.fastest_third([4, 3], True) == 3
    assert bench.fastest_third([1, 2, 3, 9], True) == 1.5


def a_planted_ratio():
    """Each turn falls by chance into a fast or a slow placement, ours 6 % slower in both."""
    rng = random.Random(7)
    theirs = [rng.choice((200, 200, 600)) * rng.uniform(1, 1.02) for _ in range(24)]
    ours = [1.06 * rng.choice((200, 200, 600)) * rng.uniform(1, 1.02) for _ in range(24)]
    near(bench.ratio(ours, theirs, True), 1.06, 0.01)
    low, high = bench.interval(ours, theirs, True)
    assert 1.04 < low <= 1.06 <= high < 1.08, (low, high)
    assert (low, high) == bench.interval(ours, theirs, True)


def an_interval_tells_noise():
    rng = random.Random(3)
    quiet, noisy = ([100 * rng.uniform(1, 1 + w) for _ in range(40)] for w in (0.01, 0.5))
    a, b = bench.interval(quiet[:20], quiet[20:], True), bench.interval(noisy[:20], noisy[20:], True)
    assert b[1] - b[0] > 4 * (a[1] - a[0]), (a, b)
    assert bench.interval([220] * 5, [200] * 5, True) == (1.1, 1.1)


def goals():
    assert bench.goal_met(bench.LATENCY, (0.9, 1.05)) and not bench.goal_met(bench.LATENCY, (0.9, 1.06))
    assert bench.goal_met(bench.BANDWIDTH, (0.95, 2)) and not bench.goal_met(bench.BANDWIDTH, (0.94, 2))
    assert bench.goal_met(bench.RATE, (1.3, 2)) and not bench.goal_met(bench.RATE, (1.29, 2))


def a_median_within_a_step():
    """Laps of 190 and 195 cycles on a counter that steps by 21 are told apart."""
    rng, found = random.Random(5), []
    for lap in 190, 195:
        at, stamps = 0.0, []
        for _ in range(20001):
            stamps.append(at // 21 * 21)
            at += lap + rng.gauss(0, 8)
        found.append(bench.stepped_median([b - a for a, b in zip(stamps, stamps[1:])]))
    near(found[0], 190, 0.01)
    near(found[1], 195, 0.01)
    assert bench.stepped_median([5, 5, 5]) == 5 and bench.stepped_median([7]) == 7
    assert 1 <= bench.stepped_median([1, 2]) <= 2 and bench.stepped_median([100, 100, 100, 10 ** 6]) == 100
    fails("no samples", bench.stepped_median, [])


def dumps():
    near(bench.from_samples("#, cycles\n1, 1.59145e+06\n2, 100\n3, 102.5\n4, 100\n\n  8  4  1, 2"), 100, 0.02)
    fails("no samples", bench.from_samples, "Couldn't connect")


def perftest_tables():
    text = (" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
            " 65536      2000             92645.38            69104.00\t\t   1.105664\n")
    assert bench.from_perftest(text, row("write-bw-65536")) == 69104
    assert bench.from_perftest(text.replace("65536", "8"), row("write-rate-8")) == 1105664
    fails("no result", bench.from_perftest, text, row("write-rate-8"))


def qperf_lines():
    assert bench.from_qperf("rc_lat:\n    latency   =       13,912 ns\n", row("send-lat-8")) == 13.912
    near(bench.from_qperf("rc_bw:\n    bw  =  104857600 bytes/sec\n", row("send-bw-65536")), 100)
    near(bench.from_qperf("rc_bw:\n    bw  =  8e0 bytes/sec\n".replace("8e0", "80000000"), row("send-rate-8")), 1e7)
    assert bench.from_qperf("    msg_rate  =  13300000 /sec\n", row("atomic-rate-8")) == 13300000
    fails("no result", bench.from_qperf, "failed to connect", row("send-lat-8"))


def own_json():
    text = json.dumps({"results": [{"avg_mib_s": 5.5, "msg_rate_per_s": 7.5}]})
    assert bench.from_json(text, row("read-bw-65536")) == 5.5 and bench.from_json(text, row("read-rate-8")) == 7.5
    fails("no result", bench.from_json, '{"results": []}', row("read-rate-8"))


def a_port_that_listens():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
        assert not bench.listening(port)
        s.listen()
        assert bench.listening(port)
    assert not bench.listening(port)


def a_command_that_hangs():
    bench.LIMIT, begun = 0.2, time.monotonic()
    fails("did not end within", bench.complete, ["sleep", "60.25"])
    assert time.monotonic() - begun < 20
    assert subprocess.run(["pgrep", "-f", "sleep 60.25"], stdout=subprocess.DEVNULL, check=False).returncode == 1


def turns_in_the_slow_mode():
    """In the lab they are taken away, in pairs, and only those of a latency."""
    class place:
        lab = True
    r = row("write-lat-8")
    for a, b, gone in (100, 90, False), (8e6, 90, True), (100, 8e6, True):
        r.turns["ours"].append(a)
        r.turns["theirs"].append(b)
        assert bench.in_slow_mode(r, place) == gone
    assert (r.turns["ours"], r.turns["theirs"], r.slow) == ([100], [90], 2)
    r.turns = {"ours": [8e6], "theirs": [9e6]}
    place.lab = False
    assert not bench.in_slow_mode(r, place)


def run(*words, peers=("ib_write_lat",), code=0, **env):
    """The JSON and the text of a run in which the @peers alone are stand-ins."""
    with tempfile.TemporaryDirectory() as d:
        for name in peers:
            with open(f"{d}/{name}", "w") as f:
                f.write(PEER)
            os.chmod(f"{d}/{name}", 0o755)
        p = subprocess.run([f"{TREE}/scripts/bench", "--turns", "2", "--qperf-turns", "0", "--iters", "0.002",
                            f"--json={d}/out.json", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=100, env={**os.environ, "PATH": f"{d}:{os.environ['PATH']}", **env})
        assert p.returncode == code, f"exit code {p.returncode}, not {code}: {p.stdout}{p.stderr}"
        document = None
        if os.path.exists(f"{d}/out.json"):
            with open(f"{d}/out.json") as f:
                document = json.load(f)
    return document, p.stdout


def beside_a_stand_in():
    document, text = run("--only", "write-lat-8", "--soft=soft0:delay=1ms")
    found = document["rows"][0]
    near(found["theirs_value"], 1000, 0.001)
    assert len(found["turns"]["ours"]) == len(found["turns"]["theirs"]) == 2
    near(found["ratio"], found["ours_value"] / 1000, 0.001)
    # A millisecond is at least 10^5 steps of any counter that counts cycles.
    assert found["ours_value"] > 1e5 and not found["met"], found
    assert "missed" in text and found["unit"] == "cycles"


def a_check_that_fails():
    run("--only", "write-lat-8", "--soft=soft0:delay=1ms", "--check", code=3)


def a_peer_that_fails():
    document, text = run("--only", "write-lat-8", code=1, PEER_FAILS="1")
    assert "boom" in document["rows"][0]["error"] and "failed: " in text, text


def programs_that_are_not_there():
    with tempfile.TemporaryDirectory() as d:
        document, text = run("--only", "send-bw", code=1, VERBSPERF_BUILD=d)
    assert document["left_out"] == ["send-bw-65536: send_bw is not built"] and "left out: send-bw" in text


def all_rows():
    want = [f"{op}-lat-{s}" for op in ("write", "send", "read") for s in (8, 4096)] + ["atomic-lat-8"]
    want += [f"{op}-bw-65536" for op in ("write", "send", "read")]
    want += [f"{op}-rate-8" for op in ("write", "send", "read", "atomic")]
    assert [r.name for r in bench.rows()] == want


def misuse():
    for words in ["--only", "nonsense"], ["--turns", "1"], ["--cpus", "1"], ["--nonsense"]:
        p = subprocess.run([f"{TREE}/scripts/bench", *words], stderr=subprocess.PIPE, text=True, check=False)
        assert p.returncode == 2 and p.stderr.count("\n") == 1, p


def beside_perftest():
    """Both programs as they are: what is compared is of one kind, so within a factor of ten."""
    if not shutil.which("ib_write_lat"):
        return "ib_write_lat is not installed"
    document, _ = run("--only", "write-lat-8", "--iters", "0.1", peers=())
    assert 0.1 < document["rows"][0]["ratio"] < 10, document
    return None


CASES = [the_fastest_third, a_planted_ratio, an_interval_tells_noise, goals, a_median_within_a_step, dumps,
         perftest_tables, qperf_lines, own_json, a_port_that_listens, a_command_that_hangs, turns_in_the_slow_mode, beside_a_stand_in,
         a_check_that_fails, a_peer_that_fails, programs_that_are_not_there, all_rows, misuse, beside_perftest]


def main():
    failed = 0
    os.environ["SOFTVERBS_FABRIC"] = f"bench_test_{os.getpid()}"
    for n, case in enumerate(CASES, 1):
        name = case.__name__.replace("_", " ")
        try:
            why = case()
            print(f"ok {n} - {name}" + (f" # SKIP {why}" if why else ""), flush=True)
        except Exception as e:  # a bug of the test fails the test
            failed += 1
            print(f"not ok {n} - {name}\n# {type(e).__name__}: {str(e)[:2000]}".replace("\n", "\n# ").replace("# # ", "# "), flush=True)
    print(f"1..{len(CASES)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
