"""The meeting place of ranks: init_method's env://, tcp:// and file://."""

import sys

import cluster
from programs import PROGRAM, until
from runs import begun_run, finish, on_one_machine, same, start_node, start_nodes, write_experiment

cluster.isolate()


def tcp_on_one_machine(c):
    """the ranks of one machine meet at init_method tcp://; a port that is in use is refused"""
    host = c.hosts[0]
    words = [PROGRAM, "run", write_experiment(host.folder), "--set", "distributed.init_method=tcp://10.88.0.1:7777"]
    endless = host.start(*words, "--set", "epochs=1000000")
    run = begun_run(host.folder)
    until(lambda: run.last_step() > 0 or endless.ended(), "a first step")
    assert "10.88.0.1:7777" in host.listens_on()
    second = host.start(*words).finish()
    assert second.code == 2 and "10.88.0.1:7777" in second.err and "cannot listen" in second.err, second
    endless.end()
    until(lambda: not host.listens_on(), "nobody listens")
    finish([host.start(*words, "--name", "again")])
    same(begun_run(host.folder, "again"), on_one_machine(c.folder / "alone", ranks=2))


def file_on_one_machine(c):
    """the ranks of one machine meet at init_method file://; the file is removed; an old file is refused"""
    host, file = c.hosts[0], c.folder / "meeting"
    words = [PROGRAM, "run", write_experiment(host.folder), "--set", f"distributed.init_method=file://{file}"]
    finish([host.start(*words)])
    same(begun_run(host.folder), on_one_machine(c.folder / "alone", ranks=2))
    assert not file.exists()
    file.touch()
    (refused,) = finish([host.start(*words, "--name", "again")], code=2)
    assert str(file) in refused.err and "exists already" in refused.err and "remove it" in refused.err, refused
    assert not (host.folder / "results/again").exists()


def file_for_two_nodes(c):
    """two nodes meet at init_method file:// on a shared disk, in either order"""
    words = ["run", "--set", f"distributed.init_method=file://{c.folder}/meeting"]
    node_1 = start_node(c, 1, *words, master=[])
    node_1.until_said(f"waiting for node 0 at {c.folder}/meeting")
    node_0 = start_node(c, 0, *words, master=[])
    finish([node_0, node_1])
    same(begun_run(c.hosts[0].folder), on_one_machine(c.folder / "alone"))
    assert not (c.folder / "meeting").exists()


def file_of_one_alone(c):
    """a node 0 that waits alone leaves no file"""
    words = ["run", "--set", f"distributed.init_method=file://{c.folder}/meeting", "--set", "distributed.timeout=2"]
    finish([start_node(c, 0, *words, master=[])], code=1)
    assert not (c.folder / "meeting").exists()


def stale_file_for_two_nodes(c):
    """a file left by a killed node 0 does not mislead two nodes"""
    words = ["run", "--set", f"distributed.init_method=file://{c.folder}/meeting"]
    killed = start_node(c, 0, *words, master=[])
    killed.until_said("waiting for the others")
    killed.end()
    assert (c.folder / "meeting").exists()
    node_1 = start_node(c, 1, *words, master=[])
    node_1.until_said("waiting for node 0")
    finish([start_node(c, 0, *words, master=[]), node_1])


def tcp_for_two_nodes(c):
    """two nodes meet at init_method tcp:// without --master-addr"""
    finish(start_nodes(c, "run", "--set", "distributed.init_method=tcp://host1:7777", master=[]))
    same(begun_run(c.hosts[0].folder), on_one_machine(c.folder / "alone"))


def nowhere(c):
    """nodes and ranks without a meeting place are refused"""
    for ended in finish(start_nodes(c, "run", master=[]), code=2):
        assert "the nodes have no place to meet" in ended.err and "--master-addr" in ended.err, ended
    ended = c.hosts[0].start(PROGRAM, "run", "small.toml", RANK="0", WORLD_SIZE="2", LOCAL_WORLD_SIZE="2").finish()
    assert ended.code == 2 and "MASTER_ADDR" in ended.err, ended


def alone_by_srun(c):
    """task 1 of srun without task 0 ends after distributed.timeout"""
    step = {"STEP_ID": 0, "STEP_NUM_TASKS": 2, "STEP_TASKS_PER_NODE": 2, "STEP_NODELIST": "host1", "PROCID": 1,
            "LOCALID": 1, "NODEID": 0, "JOB_ID": 7}  # fmt: skip
    words = [PROGRAM, "run", write_experiment(c.hosts[0].folder), "--set", "distributed.timeout=1"]
    (ended,) = finish([c.hosts[0].start(*words, **{f"SLURM_{k}": str(v) for k, v in step.items()})], code=1)
    assert "rank 0 is not there after 1 s (distributed.timeout)" in ended.err, ended
    assert not (c.hosts[0].folder / "results").exists()


PROMISES = [tcp_on_one_machine, file_on_one_machine, file_for_two_nodes, file_of_one_alone, stale_file_for_two_nodes,
            tcp_for_two_nodes, nowhere, alone_by_srun]  # fmt: skip
sys.exit(cluster.check(PROMISES))
