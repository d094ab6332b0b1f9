"""--max-restarts over several machines: after a failure all machines start their ranks again."""

import os
import signal
import sys

import cluster
from programs import until
from runs import LongRun, finish, start_node

cluster.isolate()


def killed_rank(c):
    """a rank of node 1 that is killed is started again with all others, and the run ends with the same bits"""
    run = LongRun(c, "--max-restarts", 2)
    for time, rank in enumerate((3, 0), start=1):
        os.kill(run.ranks()[rank], signal.SIGKILL)
        until(lambda: len(run.run.events("restart")) == time or any(n.ended() for n in run.nodes), "a restart")
        event = run.run.events("restart")[-1]
        assert (event["rank"], event["restart"]) == (rank, time), event
        assert "killed by SIGKILL after step" in event["cause"], event
        run.until_step(event["step"] + 12)
    assert "rank 3 (cpu): on node 1 (" + c.hosts[1].address + "): killed by SIGKILL" in run.nodes[0].said(), run.nodes[0].said()
    assert "node 0 starts all ranks again" in run.nodes[1].said(), run.nodes[1].said()
    # A stop still reaches all ranks.
    run.nodes[1].kill(signal.SIGTERM)
    finish(run.nodes, code=143)
    assert run.run.summary()["restarts"] == 2, run.run.summary()
    run.check_resumes_to_the_same_bits()


def hung_rank(c):
    """a rank of node 1 that hangs is started again with all others"""
    run = LongRun(c, "--max-restarts", 1, "--set", "distributed.timeout=6")
    os.kill(run.ranks()[3], signal.SIGSTOP)
    until(lambda: run.run.events("restart") or any(n.ended() for n in run.nodes), "a restart")
    (event,) = run.run.events("restart")
    assert event["rank"] == 3 and "rank 3 stays away" in event["cause"], event
    run.until_step(event["step"] + 12)
    run.nodes[0].kill(signal.SIGTERM)
    finish(run.nodes, code=143)


def killed_node(c):
    """a node that is killed is not replaced: the run fails and names it"""
    run = LongRun(c, "--max-restarts", 2)
    run.nodes[1].kill()
    (node_0,) = finish(run.nodes[:1], code=1)
    assert "node 1 (10.88.0.2) is gone" in node_0.err, node_0
    assert not run.run.events("restart"), run.run.events("restart")


def restarts_of_node_1(c):
    """--max-restarts on node 1 alone is answered with a warning; on both nodes it is not"""
    for words, warned in (([], True), (["--max-restarts", "1"], False)):
        node_1 = finish([start_node(c, 0, "run", *words), start_node(c, 1, "run", "--max-restarts", "1")])[1]
        assert ("warning: --max-restarts has no effect here: node 0" in node_1.err) == warned, node_1


PROMISES = [killed_rank, hung_rank, killed_node, restarts_of_node_1]
sys.exit(cluster.check(PROMISES))
