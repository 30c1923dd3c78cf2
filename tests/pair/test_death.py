#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One end dies, stops or is told to end, at every stage: the other one ends soon, says at which
stage, and prints what it had measured."""
import json
import signal
import tempfile
import time

from ends import LONG, MANY_LAPS, NOTICED, SLOW_LAPS, end_in_time, held_pair, running_pair
from output import Report
from pair import (SLOW, case, client, equal, has, main, one_message, server, table, true)

# Held after this stage, the end that is killed, the stages that the survivor may name.
STAGES = [
    ("plan", "client", "endpoints"),
    ("plan", "server", "endpoints"),
    ("endpoints", "client", "ready|connect-qp"),
    ("endpoints", "server", "ready|connect-qp"),
    ("ready", "client", "warm-up|run"),
    ("ready", "server", "ready"),
    ("go", "client", "warm-up|run"),
    ("go", "server", "warm-up|run"),
    ("run", "client", "run"),
    ("run", "server", "results"),
    ("done", "client", "results"),
    ("done", "server", "results"),
]
MEASURING = ("go", "run", "done")


@table("kill -9 after {0} of the {1}: the other ends at {2}, exit 4", STAGES)
def killed(stage, who, where):
    victim, survivor = held_pair(stage, who)
    time.sleep(0.2)  # the survivor has come to where it waits
    victim.kill()
    end_in_time(survivor, NOTICED, 4)
    one_message("the reason", survivor, rf"^rdma_lat: peer \S+ lost at stage ({where})\b")
    if stage in MEASURING:
        laps = Report(survivor.out).rows[0]["laps"]
        true(f"{laps} laps in the table", laps == 50 or stage == "go")


@table("kill -9 of the {0} in the middle: the other prints what it had", [("client",), ("server",)],
       quick=True)
def killed_running(who):
    with tempfile.NamedTemporaryFile() as file:
        more = ["-cU", f"--json={file.name}"]
        s, c = running_pair(more, [*MANY_LAPS, *more], SLOW_LAPS)
        victim, survivor = (s, c) if who == "server" else (c, s)
        victim.kill()
        end_in_time(survivor, NOTICED, 4)
        with open(file.name) as f:
            doc = json.load(f)
    has("the reason", survivor.err, r"lost at stage (warm-up|run)\b")
    has("stage in JSON", doc["error"]["stage"], "^(warm-up|run)$")
    r = Report(survivor.out)
    true("laps", r.rows[0]["laps"] > 0)
    equal("samples of the JSON", doc["results"][0]["samples"], r.rows[0]["samples"])
    r.blocks[0].check_count(int(r.rows[0]["samples"]))


@case("kill -9 in the middle of a run without samples: the table is there")
def killed_histogram():
    s, c = running_pair()
    c.kill()
    end_in_time(s, NOTICED, 4)
    true("laps", Report(s.out).rows[0]["laps"] > 0)


@case("the server with --keep serves on after a client died")
def keep_after_death():
    s = server("--keep")
    c = client(s, hold="endpoints")
    c.wait_err("^HELD")
    c.kill()
    equal("exit code of the next client", client(s, "-n", 20).wait(), 0)


# ---- signals

SIGNALS = [(sig, who, args, code)
           for args, code in ((LONG, 0), (["-n", 10 ** 9], 4))
           for sig, who in (("INT", "client"), ("INT", "server"), ("TERM", "client"), ("TERM", "server"))]


@table("SIG{0} of the {1} in {2}: both report and end with {3}", SIGNALS)
def told_to_end(sig, who, args, code):
    s, c = running_pair(client_args=args)
    (s if who == "server" else c).kill(getattr(signal, "SIG" + sig))
    for p, name in (c, "client"), (s, "server"):
        equal(f"exit code of the {name}", p.wait(NOTICED), code)
        true(f"laps of the {name}", Report(p.out).rows[0]["laps"] > 0)
    equal("laps of both", *(Report(p.out).rows[0]["laps"] for p in (s, c)))


@case("SIGINT of the client, and a server that needs a second for its results: both end with 0")
def slow_results():
    s = server(hold="run")
    c = client(s, *LONG, "-v")
    c.wait_err("stage ready$")
    time.sleep(1)
    c.kill(signal.SIGINT)
    s.wait_err("^HELD run$")
    time.sleep(1)
    s.kill(signal.SIGCONT)
    for p in c, s:
        equal(f"exit code of {p}", p.wait(NOTICED), 0)


@case("SIGINT of a run with -U: every sample is printed")
def interrupted_dump():
    s, c = running_pair(["-U"], [*MANY_LAPS, "-U"], SLOW_LAPS)
    c.kill(signal.SIGINT)
    for p in c, s:
        equal(f"exit code of {p}", p.wait(NOTICED), 4)
        r = Report(p.out)
        r.blocks[0].check_count(int(r.rows[0]["samples"]))


@table("SIGTERM while the {0} waits: ends at once", [("server",), ("client",)])
def told_while_waiting(who):
    p = server()
    if who == "client":
        p.kill()
        p.wait()
        p = client(p)
        p.wait_err("waiting for a server")
    p.kill(signal.SIGTERM)
    equal("exit code", p.wait(NOTICED), 4)
    one_message("the reason", p, "ended by signal 15")


# ---- --timeout

@table("--timeout of the {0}: exit 6 there, 4 at the peer", [("client",), ("server",)])
def time_is_up(who):
    limit = ["--timeout", f"{2 * SLOW}s"]
    s = server(*(limit if who == "server" else []))
    c = client(s, *LONG, *(limit if who == "client" else []))
    ends = [(s, "server"), (c, "client")]
    for p, name in ends:
        equal(f"exit code of the {name}", p.wait(), 6 if name == who else 4)
        has(f"reason of the {name}", p.err, "the run did not end within --timeout")
        true(f"laps of the {name}", Report(p.out).rows[0]["laps"] > 0)


if __name__ == "__main__":
    main()
