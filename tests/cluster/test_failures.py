"""A failure on one machine ends all machines with the same reason; the run resumes from what was saved, to the same
bits."""

import os
import signal
import sys

import cluster
from programs import PROGRAM
from runs import LongRun, finish

cluster.isolate()
SOON = 20  # seconds; one or two on an idle machine


def killed_rank(c):
    """a rank of node 1 that is killed ends both nodes, and both name it; the run can be resumed"""
    rank_dies(c, 3).check_resumes_to_the_same_bits()


def killed_rank_of_node_0(c):
    """a rank of node 0 that is killed ends both nodes, and both name it"""
    rank_dies(c, 1)


def rank_dies(c, rank):
    run = LongRun(c)
    os.kill(run.ranks()[rank], signal.SIGKILL)
    ended_soon(run.nodes)
    for ended in finish(run.nodes, code=1):
        place = f"on node {rank // 2} (10.88.0.{rank // 2 + 1})"
        assert f"rank {rank} (cpu): {place}: killed by SIGKILL after step " in ended.err, ended
        assert "to continue, on all 2 nodes with the launch flags of this command: " in ended.err, ended
    assert "files are on node 0" in run.nodes[1].finish().err
    summary = run.run.summary()
    assert summary["status"] == "failed" and summary["error"]["rank"] == rank, summary
    return run


def killed_node_1(c):
    """node 1 that is killed ends node 0, which names it and its address"""
    run = LongRun(c)
    run.nodes[1].kill()
    ended_soon(run.nodes[:1])
    (node_0,) = finish(run.nodes[:1], code=1)
    assert "node 1 (10.88.0.2) is gone" in node_0.err, node_0
    assert "node 1 (10.88.0.2)" in run.run.summary()["error"]["what"], run.run.summary()


def killed_node_0(c):
    """node 0 that is killed ends node 1, which names it and its address; the run can be resumed"""
    run = LongRun(c)
    run.nodes[0].kill()
    ended_soon(run.nodes[1:])
    (node_1,) = finish(run.nodes[1:], code=1)
    assert "node 0 (10.88.0.1) is gone" in node_1.err, node_1
    how = f"on all 2 nodes with the launch flags of this command, and on node 0 with its --results: {PROGRAM} resume small"
    assert f"to continue from its last checkpoint, {how}" in node_1.err, node_1
    run.check_resumes_to_the_same_bits()


def ended_soon(nodes):
    for node in nodes:
        node.finish(within=SOON)


def stopped_by_node_0(c):
    """SIGTERM to node 0 stops all ranks after one step, saves, and ends both nodes with 143; the run can be resumed"""
    is_stopped(c, node=0, number=signal.SIGTERM, code=143).check_resumes_to_the_same_bits()


def stopped_by_node_1(c):
    """SIGINT to node 1 stops all ranks after one step, saves, and ends both nodes with 130"""
    is_stopped(c, node=1, number=signal.SIGINT, code=130)


def is_stopped(c, node, number, code):
    run = LongRun(c)
    run.nodes[node].kill(number)
    node_0, _ = finish(run.nodes, code=code)
    last = run.run.last_step()
    assert run.run.saved_step() == last and f"saved after step {last}" in node_0.err, node_0
    assert "to continue, on all 2 nodes with the launch flags of this command: " in node_0.err, node_0
    summary = run.run.summary()
    assert (summary["status"], summary["steps"], summary["error"]) == ("interrupted", last, None), summary
    return run


def stuck_when_stopped(c):
    """if a rank hangs while the run stops, all nodes end after `grace` and say what is saved"""
    run = LongRun(c, "--set", "grace=1")
    os.kill(run.ranks()[3], signal.SIGSTOP)
    run.nodes[0].kill(signal.SIGTERM)
    ended_soon(run.nodes)
    for ended in finish(run.nodes, code=143):
        assert "have not saved and ended within 1 s (grace)" in ended.err, ended
    assert run.run.summary()["status"] == "interrupted", run.run.summary()
    run.check_resumes_to_the_same_bits()


PROMISES = [killed_rank, killed_rank_of_node_0, killed_node_1, killed_node_0, stopped_by_node_0, stopped_by_node_1,
            stuck_when_stopped]  # fmt: skip
sys.exit(cluster.check(PROMISES))
