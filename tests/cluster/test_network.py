"""A broken network ends a run on all sides within distributed.timeout; a short interruption does not."""

import os
import re
import signal
import sys
import time

import cluster
from runs import LongRun, Run, finish, on_one_machine, same, start_nodes

cluster.isolate("nft")
TIMEOUT = 8  # distributed.timeout, seconds
SOON = TIMEOUT + 20  # at most TIMEOUT + 2 on an idle machine


def cut(c):
    """a cut cable ends both nodes, and each names the other; after the repair the run can be resumed"""
    run = LongRun(c, "--set", f"distributed.timeout={TIMEOUT}")
    c.hosts[1].cut_cable()
    for node in run.nodes:
        node.finish(within=SOON)
    node_0, node_1 = finish(run.nodes, code=1)
    assert "node 1 (10.88.0.2)" in node_0.err, node_0
    assert "node 0 (10.88.0.1)" in node_1.err, node_1
    summary = run.run.summary()
    assert summary["status"] == "failed" and "node 1 (10.88.0.2)" in summary["error"]["what"], summary
    c.hosts[1].mend_cable()
    run.check_resumes_to_the_same_bits()


def rank_stands_still(c):
    """a stopped rank of node 1 ends both nodes, which name the rank, its step and its collective"""
    run = LongRun(c, "--set", f"distributed.timeout={TIMEOUT}")
    late = run.ranks()[2]
    os.kill(late, signal.SIGSTOP)
    for node in run.nodes:
        node.finish(within=SOON)
    for ended in finish(run.nodes, code=1):
        assert re.search(r"waited for [a-z-]+ in step \d+ .*rank 2 stays away: it is after step \d+", ended.err), ended
    assert run.run.summary()["error"]["rank"] == 2, run.run.summary()


def node_stands_still(c):
    """a machine that stops ends the other one, which names it"""
    run = LongRun(c, "--set", f"distributed.timeout={TIMEOUT}")
    for pid in [run.nodes[1].pid, *run.ranks()[2:]]:
        os.kill(pid, signal.SIGSTOP)
    node_0 = run.nodes[0].finish(within=SOON)
    assert "node 1 (10.88.0.2)" in node_0.err, node_0


def cut_for_a_moment(c):
    """a cable that is cut for a second costs a second: the run continues to the same bits"""
    run = LongRun(c, "--set", f"distributed.timeout={TIMEOUT}")
    c.hosts[1].cut_cable()
    before = run.run.last_step()
    time.sleep(1)  # the time that the cable is cut
    c.hosts[1].mend_cable()
    run.until_step(before + 20)
    run.nodes[0].kill(signal.SIGTERM)
    finish(run.nodes, code=143)
    run.check_resumes_to_the_same_bits()


def cut_before_the_start(c):
    """nodes whose cable is repaired after their start find each other"""
    c.hosts[1].cut_cable()
    nodes = start_nodes(c, "run")
    nodes[1].until_said("waiting for node 0 at 10.88.0.1:29500")
    c.hosts[1].mend_cable()
    finish(nodes)


def lost_packets(c):
    """a network that loses one packet in fifty changes no bit"""
    for host in c.hosts:
        host.lose_packets(percent=2)
    node_0, _ = finish(start_nodes(c, "run"))
    assert all(host.packets_lost() > 0 for host in c.hosts), [host.packets_lost() for host in c.hosts]
    same(Run(node_0.out.strip(), c.hosts[0].folder), on_one_machine(c.folder / "alone"))


def slow_from_now_on(c):
    """a network that suddenly becomes 20 ms slower in each direction costs time and changes no bit"""
    cable = c.hosts[1].use_slow_cable()
    run = LongRun(c)
    cable.delay = 0.02
    slow, begun = run.run.last_step(), time.monotonic()
    run.until_step(slow + 20)
    assert time.monotonic() - begun > 20 * 0.02, "it is as quick as before: nothing was slowed down"
    run.nodes[0].kill(signal.SIGTERM)
    finish(run.nodes, code=143)
    cable.delay = 0
    run.check_resumes_to_the_same_bits()


PROMISES = [cut, rank_stands_still, node_stands_still, cut_for_a_moment, cut_before_the_start, lost_packets]
if os.path.exists("/dev/net/tun"):
    PROMISES.append(slow_from_now_on)
else:
    print("without /dev/net/tun no network can be slowed down: one promise is not tried")
sys.exit(cluster.check(PROMISES))
