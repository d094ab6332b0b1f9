"""backend = "shm" over several machines: shared memory inside each machine, Gloo between them."""

import os
import signal
import sys

import cluster
from programs import sets
from runs import LongRun, Run, begun_run, finish, on_one_machine, same, start_nodes

cluster.isolate()

SHM = sets(distributed__backend='"shm"')


def named(c, name):
    return Run(f"results/small/{name}", c.hosts[0].folder)


def close_to(run, other):
    """Returns true if the losses are the same up to rounding of sums."""
    for mine, theirs in zip(run.training(), other.training(), strict=True):
        assert abs(mine["loss"] - theirs["loss"]) < 1e-5 * theirs["loss"], (mine, theirs)


def gloos_numbers(c):
    """two nodes of two ranks have Gloo's losses up to rounding, and the same bits in every run and after a resume"""
    finish(start_nodes(c, "run", *SHM, "--run-id", "first"))
    finish(start_nodes(c, "run", *SHM, "--run-id", "second", "--set", "epochs=2"))
    finish(start_nodes(c, "resume", "small/second", "--set", "epochs=4"))
    first, second = (named(c, name) for name in ("first", "second"))
    same(second, first)
    close_to(first, on_one_machine(c.folder / "alone"))
    assert first.summary()["backend"] == "shm", first.summary()


def one_rank_a_node(c):
    """nodes of one rank each have Gloo's bits"""
    one = sets(device_pool='["cpu"]')
    finish(start_nodes(c, "run", *SHM, *one, ranks=1))
    same(begun_run(c.hosts[0].folder), on_one_machine(c.folder / "alone", ranks=2))


def options_of_ddp(c):
    """a static graph, find_unused_parameters and small buckets train to Gloo's losses"""
    alone = on_one_machine(c.folder / "alone")
    for option, value in {"static_graph": "true", "find_unused_parameters": "true", "bucket_cap_mb": "0.0005"}.items():
        finish(start_nodes(c, "run", *SHM, *sets(**{f"distributed__{option}": value}), "--run-id", option))
        close_to(named(c, option), alone)


def killed_rank(c):
    """a rank of node 1 that is killed ends both nodes and is named by its global rank"""
    run = LongRun(c, *SHM)
    os.kill(run.ranks()[3], signal.SIGKILL)
    for ended in finish(run.nodes, code=1):
        assert "rank 3 (cpu): on node 1 (" + c.hosts[1].address + "): killed by SIGKILL after step " in ended.err, ended


PROMISES = [gloos_numbers, one_rank_a_node, options_of_ddp, killed_rank]
sys.exit(cluster.check(PROMISES))
