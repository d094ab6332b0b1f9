"""A run over two machines is one run: its numbers, its results, its resume."""

import sys

import cluster
from programs import sets
from runs import LongRun, Run, begun_run, finish, on_one_machine, same, start_node, start_nodes, without

cluster.isolate()


def same_bits(c):
    """two nodes of two ranks train the same as four ranks of one machine, bit for bit"""
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
    """nodes start in either order: the first one waits for the others"""
    node_1 = start_node(c, 1, "run")
    node_1.until_said("waiting for node 0 at 10.88.0.1:29500")
    node_0 = start_node(c, 0, "run")
    finish([node_0, node_1])
    node_0 = start_node(c, 0, "run")
    node_0.until_said("node 0 of 2 at 10.88.0.1:29500, waiting for the others")
    node_1 = start_node(c, 1, "run")
    finish([node_0, node_1])


def resume(c):
    """a run over two nodes is resumed over two nodes, and one of them does not see its folder"""
    finish(start_nodes(c, "run", "--set", "epochs=2"))
    finish(start_nodes(c, "resume", "small", "--set", "epochs=4"))
    run = begun_run(c.hosts[0].folder)
    same(run, on_one_machine(c.folder / "alone"))
    assert len(run.events("resume")) == 1


NORMED = """{ name = "sequential", layers = [
    { type = "Linear", in_features = 20, out_features = 16 }, { type = "BatchNorm1d", num_features = 16 },
    { type = "ReLU" }, { type = "Dropout", p = 0.3 }, { type = "Linear", in_features = 16, out_features = 4 }] }"""


def state_of_each_rank(c):
    """buffers, random numbers and validation of each rank are the same over two nodes, also after a resume"""
    words = sets(model=NORMED.replace("\n", ""), validation__split=0.2, accumulate=2)
    words += sets(distributed__broadcast_buffers="false")
    finish(start_nodes(c, "run", *words, *sets(epochs=2)))
    finish(start_nodes(c, "resume", "small", *sets(epochs=4)))
    run = begun_run(c.hosts[0].folder)
    assert len(run.epochs()) == 4 and run.epochs()[3]["val_loss"], run.epochs()
    same(run, on_one_machine(c.folder / "alone", *words))


def logical_ranks(c):
    """a run with logical ranks is the same on one rank and over two nodes, which continue each other's runs"""
    words = sets(model=NORMED.replace("\n", ""), validation__split=0.2, logical_ranks=8, batch_size=5)
    alone = on_one_machine(c.folder / "alone", *words, ranks=1)
    finish(start_nodes(c, "run", *words, *sets(epochs=2)))
    finish(start_nodes(c, "resume", "small", *sets(epochs=4)))
    same(begun_run(c.hosts[0].folder), alone)


def synced_batch_norms(c):
    """batch norms that are synchronised over two nodes have the bits of one rank that computes the same logical ranks"""
    words = sets(model=NORMED.replace("\n", ""), model__sync_batch_norm="true", logical_ranks=8, batch_size=5)
    alone = on_one_machine(c.folder / "alone", *words, ranks=1)
    finish(start_nodes(c, "run", *words))
    same(begun_run(c.hosts[0].folder), alone)


def model_parallel(c):
    """a model over the two devices of each rank trains on two nodes as on one machine"""
    words = sets(model="head_tail", dataset='{ name = "counting", size = 4096 }', loss="cross_entropy", batch_size=256)
    pair = '["cpu", "cpu"]'
    finish(start_nodes(c, "run", *words, *sets(device_pool=f"[{pair}, {pair}]")))
    run = begun_run(c.hosts[0].folder)
    assert run.summary()["devices"] == ["cpu + cpu"] * 4, run.summary()
    same(run, on_one_machine(c.folder / "alone", *words, *sets(device_pool=f"[{pair}, {pair}, {pair}, {pair}]")))


def init_from(c):
    """weights that only node 0 sees reach all ranks"""
    first = on_one_machine(c.folder / "first")
    words = ["run", "--init-from", first.path / "checkpoints/latest"]
    finish([start_node(c, 0, *words), start_node(c, 1, *words, program=without(c.folder / "first"))])
    run = begun_run(c.hosts[0].folder)
    assert run.training() != first.training()
    same(run, on_one_machine(c.folder / "alone", *words[1:]))


def run_id(c):
    """--run-id resumes that run on all nodes, and says if it is already complete"""
    words = ["run", "--run-id", "mine"]
    finish(start_nodes(c, *words, "--set", "epochs=2"))
    finish(start_nodes(c, *words, "--set", "epochs=4"))
    run = begun_run(c.hosts[0].folder)
    assert run.path.name == "mine"
    same(run, on_one_machine(c.folder / "alone"))
    node_0, node_1 = finish(start_nodes(c, *words, "--set", "epochs=4"))
    assert "nothing to do" in node_0.err, node_0


def timed_saves(c):
    """all ranks of two nodes save when rank 0's clock says so, after the same step, and train the same bits"""
    words = sets(validation__split=0.2, epochs=60)
    finish(start_nodes(c, "run", *words, *sets(checkpoint__save_every_minutes=0.00001)))
    run = begun_run(c.hosts[0].folder)
    reasons = {event.get("reason") for event in run.events("checkpoint")}
    assert {"time", None} <= reasons, run.events("checkpoint")
    same(run, on_one_machine(c.folder / "alone", *words, *sets(checkpoint__save_every_minutes=0)))


def fork(c):
    """a run over two nodes is forked over two nodes, and one of them does not see its folder"""
    finish(start_nodes(c, "run", "--set", "epochs=2"))
    finish(start_nodes(c, "fork", "small", "--name", "forked", "--set", "epochs=4"))
    run, alone = begun_run(c.hosts[0].folder, "forked"), on_one_machine(c.folder / "alone")
    assert run.training() == alone.training()[6:], run.training()
    assert run.saved() == alone.saved(), "the saved bits differ"
    assert run.summary()["origin"]["step"] == 6, run.summary()


def listeners(c):
    """nodes listen only on their own address"""
    node_0 = start_node(c, 0, "run")
    node_0.until_said("waiting for the others")
    assert c.hosts[0].listens_on() == {"10.88.0.1:29500"}, c.hosts[0].listens_on()
    node_0.end()
    long_run = LongRun(c)
    for host in c.hosts:
        addresses = {address.rpartition(":")[0] for address in host.listens_on()}
        assert addresses == {host.address}, addresses
    long_run.nodes[0].kill()


PROMISES = [same_bits, results_are_node_0s, either_order, resume, state_of_each_rank, logical_ranks, synced_batch_norms, model_parallel, init_from,
            run_id, timed_saves, fork, listeners]  # fmt: skip
sys.exit(cluster.check(PROMISES))
