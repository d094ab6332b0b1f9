"""--elastic over several machines: a run goes on without what it lost, and takes nodes back."""

import os
import signal
import sys
import time

import cluster
from programs import until
from runs import LongRun, finish, start_node

cluster.isolate()

LOGICAL = ["--set", "logical_ranks=4"]


def elastic(c, *words):
    return LongRun(c, "--elastic", *LOGICAL, *words)


def worlds(run):
    return [event["ranks"] for event in run.run.events("world")]


def until_worlds(run, expected):
    until(lambda: worlds(run) == expected or run.nodes[0].ended(), f"{expected} ranks")
    assert worlds(run) == expected, f"{worlds(run)}: {run.nodes[0]}"
    return run.run.events("world")[-1]


def goes_on(run):
    """Waits until the run has done a step after its last change."""
    step = run.run.events("world")[-1]["step"] + 12
    until(lambda: run.run.last_step() >= step or run.nodes[0].ended(), f"step {step}")
    assert run.run.last_step() >= step, run.nodes[0]


def comes_back(run, *words):
    """Starts node 1 again with its command: all four ranks train from the next checkpoint. The bits stay the same."""
    before = worlds(run)
    run.nodes[1] = start_node(run.cluster, 1, "run", "--elastic", *LOGICAL, *words, "--set", "epochs=1000000")
    event = until_worlds(run, [*before, 4])
    assert event["reason"] == "node 1 (10.88.0.2) is back", event
    goes_on(run)
    run.nodes[0].kill(signal.SIGTERM)
    finish(run.nodes, code=143)
    assert run.run.summary()["world_size"] == 4, run.run.summary()
    run.check_resumes_to_the_same_bits(*LOGICAL)


def killed_node(c):
    """a run goes on without a node that is killed, takes it back after a checkpoint, and has the same bits"""
    run = elastic(c)
    run.nodes[1].kill()
    killed = time.monotonic()
    event = until_worlds(run, [2])
    assert "node 1 (10.88.0.2) is gone" in event["reason"], event
    goes_on(run)
    print(f"        {time.monotonic() - killed:.2f} s after the kill node 0 had trained 12 steps")
    comes_back(run)


def killed_ranks(c):
    """a run goes on without ranks that are killed, on node 1 and on node 0"""
    run = elastic(c)
    os.kill(run.ranks()[3], signal.SIGKILL)
    event = until_worlds(run, [2])
    assert event["reason"].startswith("rank 3: ") and "killed by SIGKILL" in event["reason"], event
    goes_on(run)
    run.nodes[1].kill()
    goes_on(run)
    assert worlds(run)[-1] in (1, 2), worlds(run)
    run.nodes[0].kill(signal.SIGTERM)
    finish(run.nodes[:1], code=143)
    run.check_resumes_to_the_same_bits(*LOGICAL)


def partition(c):
    """of two parts without a network between them only node 0's goes on; the other node ends and may come back"""
    run = elastic(c, "--set", "distributed.timeout=6")
    c.hosts[1].cut_cable()
    until_worlds(run, [2])
    goes_on(run)
    cut_off = run.nodes[1].finish()
    assert cut_off.code == 1 and "node 0" in cut_off.err, cut_off
    c.hosts[1].mend_cable()
    goes_on(run)
    comes_back(run, "--set", "distributed.timeout=6")


PROMISES = [killed_node, killed_ranks, partition]
sys.exit(cluster.check(PROMISES))
