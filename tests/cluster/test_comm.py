"""comm measures and checks the network between machines."""

import json
import os
import pathlib
import re
import signal
import sys

import cluster
from commands import running
from programs import PROGRAM, children, until
from runs import PORT, finish

PYTHON = os.environ.get("DDP_PYTHON")
cluster.isolate("tc")

OPS = ["all_reduce", "reduce", "broadcast", "scatter", "gather", "all_gather"]


def start(c, number, *words, nnodes=2):
    launch = ["--nnodes", nnodes, "--node-rank", number, "--nproc-per-node", 2]
    meeting = ["--master-addr", c.hosts[0].address, "--master-port", PORT]
    return c.hosts[number].start(PROGRAM, "comm", *words, *launch, *meeting)


def start_both(c, *words):
    return [start(c, number, *words) for number in (0, 1)]


def rows_of(table):
    return [line.split() for line in table.splitlines() if not line.startswith("#")]


def all_are_right(c):
    """all collectives between two machines are timed and right, and only node 0 prints them"""
    node_0, node_1 = finish(start_both(c, "--sizes", "4,64KiB", "--iterations", 2))
    assert "# 4 ranks on 2 nodes, backend gloo, float" in node_0.out, node_0
    assert "# every value of every rank was right" in node_0.out, node_0
    rows = rows_of(node_0.out)
    assert [row[0] for row in rows] == [op for op in OPS for _ in range(2)], node_0
    assert all(float(row[3]) > 0 and row[6] == "0" for row in rows), node_0
    assert node_1.out == "", node_1
    assert not any(any(host.folder.iterdir()) for host in c.hosts)


def shows_the_link(c):
    """on a link of 100 Mbit/s the bus bandwidth equals the link's bandwidth"""
    for host in c.hosts:
        host.call(*"tc qdisc add dev eth0 root tbf rate 100mbit burst 64kb latency 400ms".split())
    words = ["--op", "broadcast", "--sizes", "1MiB", "--iterations", 3, "--json"]
    for _ in range(5):  # on a busy machine a measurement may not use the full link
        (row,) = json.loads(finish(start_both(c, *words))[0].out)["rows"]
        assert row["wrong"] == 0 and row["busbw_gb_per_s"] < 0.014, row  # 0.0125 without headers
        if row["busbw_gb_per_s"] > 0.005:
            return
    raise AssertionError(row)


def another_command_is_refused(c):
    """a node that has another command line is refused, with the difference"""
    for here, there, differs in [
        (["--sizes", "1KiB"], ["--sizes", "2KiB"], '--sizes is "2KiB" {}, "1KiB" on node 0'),
        (["--op", "reduce"], ["--op", "gather"], '--op is "gather" {}, "reduce" on node 0'),
        (["--dtype", "half"], [], '--dtype is "float" {}, "half" on node 0'),
    ]:
        ended = finish([start(c, 0, *here), start(c, 1, *there)], code=2)
        for node, where in zip(ended, ("there", "here")):
            assert differs.format(where) in node.err and node.out == "", node


def another_verb_is_refused(c):
    """a node that trains while node 0 measures is refused"""
    measuring = start(c, 0, "--sizes", "4")
    (c.hosts[1].folder / "x.toml").write_text('model = "linear"\ndataset = "random_pairs"\ndevice_pool = 2\n')
    launch = ["--nnodes", 2, "--node-rank", 1, "--nproc-per-node", 2, "--master-addr", c.hosts[0].address]
    ended = finish([measuring, c.hosts[1].start(PROGRAM, "run", "x.toml", *launch)], code=2)
    for node, where in zip(ended, ("there", "here")):
        assert f'command is "run" {where}, "comm" on node 0' in node.err, node


class Long:
    """A measurement over both machines in its second row, which takes minutes."""

    def __init__(self, c):
        self.nodes = start_both(c, "--op", "broadcast", "--sizes", "4,64MiB", "--iterations", 1000, "--timeout", 10)
        until(lambda: rows_of(self.nodes[0].printed()) or self.nodes[0].ended(), "the first row is there")
        assert not self.nodes[0].ended(), self.nodes[0].finish()

    def rank(self, node, number):
        return [pid for pid in children(self.nodes[node].pid) if pid in running("ddp-exp")][number]


def killed_rank(c):
    """a rank of the other machine that is killed is named on both, with the rows measured so far"""
    long = Long(c)
    os.kill(long.rank(1, 0), signal.SIGKILL)
    for ended in finish(long.nodes, code=1):
        assert "rank 2 (cpu): killed by SIGKILL in measurement " in ended.err, ended
        assert "measurement 2 is broadcast of 67108864 B" in ended.err, ended


def killed_node(c):
    """a machine that disappears is named"""
    long = Long(c)
    long.nodes[1].kill()
    (node_0,) = finish(long.nodes[:1], code=1)
    assert "node 1 (10.88.0.2) is gone" in node_0.err, node_0


def stopped(c):
    """a signal to either node ends both at once"""
    for node, number, code in [(0, signal.SIGINT, 130), (1, signal.SIGTERM, 143)]:
        long = Long(c)
        long.nodes[node].kill(number)
        for ended in finish(long.nodes, code=code):
            assert "error" not in ended.err, ended


def documentation(c):
    """the commands of docs/clusters.md measure"""
    text = (pathlib.Path(os.environ["DDP_SOURCE"]) / "docs/clusters.md").read_text()
    section = re.search(r"^## Is the network right\?\n(.*?)(?=^## |\Z)", text, re.M | re.S).group(1)
    nodes = []
    for number, command in re.findall(r"^10\.0\.0\.(\d)\$ ddp-exp (.*)", section, re.M):
        words = command.replace("10.0.0.1", c.hosts[0].address).split()
        nodes.append(c.hosts[int(number) - 1].start(PROGRAM, *words))
    assert len(nodes) == 2, section
    shown = [line.split()[:3] for line in section.splitlines() if line.startswith("all_")]
    assert [row[:3] for row in rows_of(finish(nodes)[0].out)] == shown, shown
    alone = re.findall(r"^\$ ddp-exp (.*)", section, re.M)
    assert len(alone) >= 3, section
    for command in alone:
        finish([c.hosts[0].start(PROGRAM, *command.split(), CUDA_VISIBLE_DEVICES="-1")])


def under_torchrun(c):
    """torchrun's ranks on two machines measure together; one with another command line ends them"""
    def torchrun(number, *words):
        flags = ["--nnodes", 2, "--nproc-per-node", 2, "--node-rank", number]
        meeting = ["--master-addr", c.hosts[0].address, "--master-port", PORT]
        return c.hosts[number].start(
            PYTHON, "-m", "torch.distributed.run", "--no-python", *flags, *meeting, PROGRAM, "comm", *words,
            PYTHONPATH=os.environ["DDP_PYTHONPATH"], PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")  # fmt: skip

    node_0, node_1 = finish([torchrun(number, "--sizes", "4,64KiB", "--iterations", 2) for number in (0, 1)])
    assert "# 4 ranks on 2 nodes, backend gloo" in node_0.out, node_0
    assert len(rows_of(node_0.out)) == 12 and "every value of every rank was right" in node_0.out, node_0
    assert rows_of(node_1.out) == [], node_1
    ended = finish([torchrun(number, "--sizes", f"{number + 1}KiB") for number in (0, 1)], code=1)
    assert re.search(r"rank [23]: this rank has other options than rank 0: --sizes.*2048", ended[1].err), ended[1]


PROMISES = [all_are_right, shows_the_link, another_command_is_refused, another_verb_is_refused, killed_rank,
            killed_node, stopped, documentation]  # fmt: skip
if PYTHON:
    PROMISES.append(under_torchrun)
sys.exit(cluster.check(PROMISES))
