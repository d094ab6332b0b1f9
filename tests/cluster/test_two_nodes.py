"""A run over two machines is one run: its numbers, its results, its resume."""

import sys

import cluster
from runs import LongRun, Run, begun_run, finish, on_one_machine, same, start_node, start_nodes

cluster.isolate()


def same_bits(c):
    """two nodes of two ranks train what one machine's four ranks do, bit for bit"""
    node_0, node_1 = finish(start_nodes(c, "run"))
    run = Run(node_0.out.strip(), c.hosts[0].folder)
    alone = on_one_machine(c.folder / "alone")
    same(run, alone)
    summary, of_one = run.summary(), alone.summary()
    assert summary["world_size"] == 4 and summary["devices"] == ["cpu"] * 4, summary
    for key in ("name", "status", "steps", "epochs", "world_size", "devices", "backend", "final", "best", "versions"):
        assert summary[key] == of_one[key], (key, summary, of_one)
    assert node_1.out == "", "only node 0 has a run to name"
    for key in ("step", "epoch", "checkpoint"):
        assert len(run.events(key)) == len(alone.events(key)), key


def results_are_node_0s(c):
    """node 0 has all results and the logs of all ranks; node 1 writes no file"""
    (node_0, _) = finish(start_nodes(c, "run"))
    run = Run(node_0.out.strip(), c.hosts[0].folder)
    assert [file.name for file in c.hosts[1].folder.iterdir()] == ["small.toml"]
    for rank in range(4):
        assert "Running mlp on cpu" in run.log(rank), f"rank {rank}: {run.log(rank)}"
    assert len(list((run.path / "logs").iterdir())) == 4


def either_order(c):
    """nodes start in either order: who comes first waits for the others"""
    node_1 = start_node(c, 1, "run")
    node_1.until_said("waiting for node 0 at 10.88.0.1:29500")
    node_0 = start_node(c, 0, "run")
    finish([node_0, node_1])
    node_0 = start_node(c, 0, "run")
    node_0.until_said("node 0 of 2 at 10.88.0.1:29500, waiting for the others")
    node_1 = start_node(c, 1, "run")
    finish([node_0, node_1])


def resume(c):
    """a run over two nodes is resumed over two nodes, of which one does not see its folder"""
    finish(start_nodes(c, "run", "--set", "epochs=2"))
    finish(start_nodes(c, "resume", "small", "--set", "epochs=4"))
    run = begun_run(c.hosts[0].folder)
    same(run, on_one_machine(c.folder / "alone"))
    assert len(run.events("resume")) == 1


def run_id(c):
    """--run-id goes on with that run on all nodes, and says where it has nothing to do"""
    words = ["run", "--run-id", "mine"]
    finish(start_nodes(c, *words, "--set", "epochs=2"))
    finish(start_nodes(c, *words, "--set", "epochs=4"))
    run = begun_run(c.hosts[0].folder)
    assert run.path.name == "mine"
    same(run, on_one_machine(c.folder / "alone"))
    node_0, node_1 = finish(start_nodes(c, *words, "--set", "epochs=4"))
    assert "nothing to do" in node_0.err, node_0


def listeners(c):
    """nodes listen on their own address alone, and on none while they do not wait for others"""
    node_0 = start_node(c, 0, "run")
    node_0.until_said("waiting for the others")
    assert c.hosts[0].listens_on() == {"10.88.0.1:29500"}, c.hosts[0].listens_on()
    node_0.end()
    long_run = LongRun(c)
    for host in c.hosts:
        addresses = {address.rpartition(":")[0] for address in host.listens_on()}
        assert addresses == {host.address}, addresses
    assert "10.88.0.1:29500" not in c.hosts[0].listens_on()
    long_run.nodes[0].kill()


sys.exit(cluster.check([same_bits, results_are_node_0s, either_order, resume, run_id, listeners]))
