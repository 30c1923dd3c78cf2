#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The bandwidth programs where something goes wrong: losses, ends that die or are told to end, events,
calls that fail; and very many queue pairs."""
import json
import signal
import time

from bw import run, start_ends
from ends import NOTICED, end_in_time
from pair import SLOW, equal, has, case, main, one_message, table, true

# ---- losses: seven messages in the middle of the measured ones

LOSSES = [("send_bw", ["--transport", "UD"]), ("send_bw", ["--transport", "UC"]),
          ("send_bw", ["--transport", "UC", "-r", 3]), ("rdma_bw", ["--transport", "UC", "--imm", "-q", 2]),
          ("send_bw", ["--transport", "UD", "--verify"])]
DROP = "soft0:drop=7@300"


@table("{0} {1}: lost messages are counted, exit 5", LOSSES)
def loss(program, args):
    r, = run(program, *args, "-n", 1000, "-s", 64, client_spec=DROP, codes=(5, 5))
    equal("sent, received, lost", (r["sent"], r["received"], r["lost"]), (1000, 993, 7))
    equal("bytes that arrived", r["bytes"], 993 * 64)


@table("{0} {1} --allow-loss: exit 0", LOSSES)
def loss_allowed(program, args):
    r, = run(program, *args, "-n", 1000, "-s", 64, "--allow-loss", client_spec=DROP)
    equal("sent, received, lost", (r["sent"], r["received"], r["lost"]), (1000, 993, 7))


@case("credits are lost too: the run ends, and nothing of the data is called lost")
def loss_of_credits():
    r, = run("send_bw", "--transport", "UD", "-s", 64, "-n", 3000, "-r", 16, server_spec="soft0:drop=0.1")
    equal("received, lost", (r["received"], r["lost"]), (3000, 0))


@case("UC without immediate: what was lost nobody knows")
def loss_unknown():
    r, = run("rdma_bw", "--transport", "UC", "-n", 1000, client_spec=DROP)
    equal("received, lost, confirmed", (r["received"], r["lost"], r["confirmed"]), (None, None, "none"))


@case("RC: a lost message is a retry, not a loss")
def loss_retried():
    r, = run("send_bw", "-n", 1000, client_spec="soft0:drop=2@300")
    equal("received", r["received"], 1000)


# ---- many queue pairs

@table("{0}: 1,024 queue pairs", [("rdma_bw",), ("send_bw",)])
def many_qps(program):
    s, c = start_ends(program, "-q", 1024, "-n", 5000, "-s", 64, "-r", 8, "-t", 8)
    for p in c, s:
        equal(f"exit code of {p}", p.wait(), 0)
    doc = json.loads(c.out)
    equal("messages", doc["results"][0]["received"], 5000)
    for key, usec in doc["setup"].items():
        true(f"{key} is {usec}", usec > 0)


# ---- early ends

MIDDLE = [("rdma_bw", [], "client"), ("rdma_bw", [], "server"), ("send_bw", [], "client"),
          ("send_bw", [], "server"), ("send_bw", ["-b", "-e"], "client"), ("read_bw", ["--reversed"], "server"),
          ("send_bw", ["--transport", "UD", "-s", "4k"], "server")]
LONG = ["-D", "60s"]
BUSY = "soft0:bw=500Mb/s"


def in_the_middle(program, args):
    """Both ends in the middle of a long run: the one that is killed, the other."""
    s, c = start_ends(program, *args, *LONG, "-v", spec=BUSY, server_args=["-v"])
    for p in s, c:
        p.wait_err("stage ready$")
    time.sleep(0.6 * SLOW)
    return s, c


@table("{0} {1}: kill -9 of the {2} in the middle, the other ends with 4", MIDDLE)
def killed(program, args, who):
    s, c = in_the_middle(program, args)
    victim, survivor = (s, c) if who == "server" else (c, s)
    victim.kill()
    end_in_time(survivor, NOTICED, 4)
    has("the reason", survivor.err, rf"^{program}: peer \S+ lost at stage run\b")


@table("{0} {1}: SIGINT to the {2}: both report and end with 0", MIDDLE)
def interrupted(program, args, who):
    s, c = in_the_middle(program, args)
    (s if who == "server" else c).kill(signal.SIGINT)
    for p in s, c:
        end_in_time(p, NOTICED, 0)
        r = json.loads(p.out)["results"][0]
        true("messages", r["iterations"] > 0 and r["seconds"] > 0)


@case("SIGINT in a run by messages: both report and end with 4")
def interrupted_by_count():
    s, c = start_ends("send_bw", "-n", 10**9, "-v", spec=BUSY)
    c.wait_err("stage ready$")
    time.sleep(0.5)
    c.kill(signal.SIGINT)
    for p in s, c:
        end_in_time(p, NOTICED, 4)
        true("messages", json.loads(p.out)["results"][0]["iterations"] > 0)


EVENTS = [("rdma_bw", ["-s", 8], "client"), ("send_bw", [], "client"), ("send_bw", ["-e"], "client"),
          ("rdma_bw", ["-b"], "server")]


@table("{0} {1}: the {2}'s port goes down in the middle: both end, with the event's name", EVENTS)
def port_event(program, args, who):
    spec = {f"{who}_spec": "soft0:event=PORT_ERR@3000"}
    s, c = start_ends(program, *args, *LONG, **spec)
    failing, other = (s, c) if who == "server" else (c, s)
    end_in_time(failing, NOTICED, 1)
    end_in_time(other, NOTICED, 4)
    one_message("the reason", failing, "soft0 reports an event: port error")
    has("at the peer", other.err, "peer failed at .*soft0 reports an event: port error")


FAULTS = [("post_send", ["--post", "send"], 300), ("wr_complete", ["--post", "wr"], 300), ("post_recv", [], 3000)]


@table("the client's {0} fails: both stop and say why", FAULTS)
def fault(call, args, at):
    s, c = start_ends("send_bw", *args, "-b", *LONG, client_spec=f"soft0:fail={call}@{at}:EIO")
    end_in_time(c, NOTICED, 1)
    end_in_time(s, NOTICED, 4)
    one_message("the reason", c, "Input/output error")
    has("at the peer", s.err, "peer failed at (warm-up|run): .*Input/output error")


@case("a request that fails: which message of which queue pair")
def failed_request():
    s, c = start_ends("rdma_bw", "-n", 1000, client_spec="soft0:err=REM_ACCESS_ERR@164")
    end_in_time(c, NOTICED, 1)
    end_in_time(s, NOTICED, 4)
    one_message("the reason", c, r"work request \d+ on QP 0x[0-9a-f]{6} failed: .*\(status 10,.*memory region")


if __name__ == "__main__":
    main()
