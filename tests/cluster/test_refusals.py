"""Nodes that do not belong together are refused by name before anything is started."""

import re
import shutil
import signal
import sys

import cluster
from programs import PROGRAM, until
from runs import PORT, LongRun, Run, finish, start_node, start_nodes, without

cluster.isolate()
SOON = 20  # seconds; less than one on an idle machine, while a waiting node waits for 600


def both_differ(c, node_0, node_1, *differences):
    """Both nodes end soon with these differences, each from its own side; node 0 says them once."""
    both_refuse(c, node_0, node_1, *[f", {value_0} on node 0" for _, _, value_0 in differences])
    for node, place in ((node_0, "there"), (node_1, "here")):
        for key, value, value_0 in differences:
            said = node.finish().err.count(f"{key} is {value} {place}, {value_0} on node 0")
            assert said == 1, (said, node.finish())


def both_refuse(c, node_0, node_1, *words):
    """Both nodes end soon with exit code 2 and these words, and write no file."""
    for ended in [node.finish(within=SOON) for node in (node_0, node_1)]:
        assert ended.code == 2, ended
        for text in words:
            assert text in ended.err, f"no \"{text}\" in {ended}"
    for host in c.hosts:
        written = {file.name for file in host.folder.iterdir()}
        assert written <= {"small.toml"}, written


def another_experiment(c):
    """a node with another experiment is refused; both nodes report the keys and their two values"""
    node_1 = start_node(c, 1, "run", "--set", "optimizer.lr=0.5", "--set", "seed=7")
    both_differ(c, start_node(c, 0, "run"), node_1, ("optimizer.lr", "0.5", "0.01"), ("seed", "7", "42"))


def another_build(c):
    """a node with another build of the program is refused"""
    version = c.hosts[0].call(PROGRAM, "--version")
    stamp = re.search(r"0\.1\.0\+([0-9a-f]{12}), compiler", version)[1]
    shutil.copytree(PROGRAM.parent, c.folder / "bin")
    # The compiler may have split the text: its first half is contiguous.
    other = (c.folder / "bin/ddp-exp").read_bytes().replace(stamp[:8].encode(), b"deadbeef")
    (c.folder / "bin/ddp-exp").write_bytes(other)
    node_1 = start_node(c, 1, "run", program=[c.folder / "bin/ddp-exp"])
    builds = f"build is \"0.1.0+deadbeef{stamp[8:]}", f"\"0.1.0+{stamp}"
    both_refuse(c, start_node(c, 0, "run"), node_1, *builds)


def other_number_of_ranks(c):
    """a node with another --nproc-per-node is refused"""
    both_differ(c, start_node(c, 0, "run"), start_node(c, 1, "run", ranks=1), ("nproc_per_node", "1", "2"))


def other_command(c):
    """a node that resumes while node 0 runs is refused"""
    node_1 = start_node(c, 1, "resume", "small")
    both_differ(c, start_node(c, 0, "run"), node_1, ("command", '"resume"', '"run"'))


def no_such_node(c):
    """--node-rank 2 of 2 nodes is refused at once, and so is a missing --node-rank"""
    ended = start_node(c, 2, "run", host=c.hosts[1]).finish(within=SOON)
    assert ended.code == 2 and "there is no node 2 of 2" in ended.err, ended
    ended = c.hosts[1].start(PROGRAM, "run", "small.toml", "--nnodes", 2, "--master-addr", "host1").finish(within=SOON)
    assert ended.code == 2 and "is required with 2 nodes" in ended.err, ended


def second_node_0(c):
    """a second node 0 is refused, on the same machine or another one; the first is not disturbed"""
    node_0 = start_node(c, 0, "run")
    node_0.until_said("waiting for the others")
    for host, why in ((c.hosts[0], "Address already in use"), (c.hosts[1], "Cannot assign requested address")):
        ended = start_node(c, 0, "run", host=host).finish(within=SOON)
        assert ended.code == 2 and why in ended.err and "10.88.0.1:29500" in ended.err, ended
    finish([node_0, start_node(c, 1, "run")])


def two_nodes_1(c):
    """the second of two nodes with --node-rank 1 is refused; the others train"""
    nodes = [start_node(c, 0, "run", nnodes=3), start_node(c, 1, "run", nnodes=3)]
    nodes[0].until_said("node 1 (10.88.0.2) is there")
    second = start_node(c, 1, "run", nnodes=3, host=c.hosts[2]).finish(within=SOON)
    assert second.code == 2 and "node 1 (10.88.0.2) is there already" in second.err, second
    node_0 = finish([*nodes, start_node(c, 2, "run", nnodes=3)])[0]
    assert Run(node_0.out.strip(), c.hosts[0].folder).summary()["world_size"] == 6


def too_late(c):
    """nodes that come after the start of the run are refused and do not disturb it"""
    run = LongRun(c)
    late = start_node(c, 1, "run", host=c.hosts[2]).finish(within=SOON)
    assert late.code == 2 and "node 1 (10.88.0.2) is there already" in late.err, late
    late = start_node(c, 2, "run", host=c.hosts[2], nnodes=3).finish(within=SOON)
    assert late.code == 2 and "the run at 10.88.0.1:29500 has its 2 nodes" in late.err, late
    late = start_node(c, 0, "run").finish(within=SOON)
    assert late.code == 2 and "Address already in use" in late.err, late
    run.until_step(run.run.last_step() + 12)
    run.nodes[0].kill(signal.SIGTERM)
    finish(run.nodes, code=143)


def left_again(c):
    """a node that leaves before the start is awaited again"""
    node_0 = start_node(c, 0, "run", nnodes=3)
    early = start_node(c, 1, "run", nnodes=3)
    node_0.until_said("node 1 (10.88.0.2) is there")
    early.kill()
    node_0.until_said("node 1 (10.88.0.2) has left again")
    finish([node_0, start_node(c, 1, "run", nnodes=3), start_node(c, 2, "run", nnodes=3)])


def nobody_comes(c):
    """a node that is alone after distributed.timeout ends and names the missing nodes"""
    alone = ["run", "--set", "distributed.timeout=6"]
    node_0 = start_node(c, 0, *alone, nnodes=3)
    node_0.until_said("waiting for the others")
    node_1 = start_node(c, 1, *alone, nnodes=3)
    ended = node_0.finish(within=SOON)
    assert ended.code == 1 and "node 2: not there after 6 s (distributed.timeout)" in ended.err, ended
    ended = node_1.finish(within=SOON)
    assert ended.code == 1 and "node 2: not there" in ended.err, ended
    ended = start_node(c, 1, *alone).finish(within=SOON)
    assert ended.code == 1 and "10.88.0.1:29500: node 0 is not there after 6 s" in ended.err, ended
    assert not (c.hosts[0].folder / "results").exists()


def cannot_take_part(c):
    """a node that cannot train what node 0 has resolved says why on both nodes, and nothing is started"""
    data = c.folder / "data"
    data.mkdir()
    (data / "digits.csv").write_text("".join("16," * 64 + f"{n % 10}\n" for n in range(64)))
    words = ["run", "--set", f"dataset={{ name = \"digits\", path = \"{data}/digits.csv\" }}", "--set",
             "model.in_features=64", "--set", "model.out_features=10", "--set", "loss=cross_entropy"]  # fmt: skip
    node_1 = start_node(c, 1, *words, program=without(data))
    both_refuse(c, start_node(c, 0, *words), node_1, "node 0's experiment: \"dataset.path\": there is no such file",
                f"{data}/digits.csv", "every node needs the file at this path")
    finish(start_nodes(c, *words))


def other_data(c):
    """nodes whose data have the same path and another content are refused with the file, and nothing is started"""
    data, other = c.folder / "rows", c.folder / "other"
    lines = ["16," * 64 + f"{n % 10}\n" for n in range(64)]
    for folder, rows in ((data, lines), (other, lines[1:] + lines[:1])):
        folder.mkdir()
        (folder / "digits.csv").write_text("".join(rows))
    words = ["run", "--set", f"dataset={{ name = \"digits\", path = \"{data}/digits.csv\" }}", "--set",
             "model.in_features=64", "--set", "model.out_features=10", "--set", "loss=cross_entropy"]  # fmt: skip
    sees_other = ["unshare", "--mount", "sh", "-c", f"mount --bind {other} {data} && exec \"$0\" \"$@\"", PROGRAM]
    both_refuse(c, start_node(c, 0, *words), start_node(c, 1, *words, program=sees_other),
                f"its data are not node 0's: dataset.path: {data}/digits.csv has another content of the same size",
                "give all machines the same files")  # fmt: skip


def strangers(c):
    """strangers that connect to node 0's port do not disturb the start"""
    node_0 = start_node(c, 0, "run")
    node_0.until_said("waiting for the others")
    script = f"""if True:
        import random, socket, time
        def call(text):
            s = socket.create_connection(("{c.hosts[0].address}", {PORT}))
            try:
                s.sendall(text)
            except ConnectionError:  # it was hung up on
                pass
            return s
        talkers = [call(t) for t in (
            b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n", random.Random(0).randbytes(100_000), b"[1]\\n", b"null\\n",
            b"7", b'{{"type": 5}}\\n', b'{{"type": "hello"}}\\n', b'{{"type": "ready"}}\\n',
            b'{{"type": "hello", "node": "1", "terms": {{}}}}\\n',
            b'{{"type": "hello", "node": -1, "terms": {{}}}}\\n',
            b'{{"type": "hello", "node": 4294967297, "terms": {{}}}}\\n',
            b'{{"type": "hello", "node": 1, "terms": ' + b"[" * 2_000_000 + b"]" * 2_000_000 + b"}}\\n",
            b'{{"type": "hello", "node": 1, "terms": {{' + b",".join(b'"%d":0' % n for n in range(400_000)) + b"}}}}\\n",
            b'{{"type": "x"}}\\n' * 1_000_000, b"x" * 40_000_000)]
        silent = [call(b"") for _ in range(50)]
        print("called", flush=True)
        time.sleep(10000)
    """
    called = c.hosts[1].start(sys.executable, "-c", script)
    until(lambda: "called" in called.printed(), "the strangers have called")
    finish([node_0, start_node(c, 1, "run")])


PROMISES = [another_experiment, another_build, other_number_of_ranks, other_command,
            no_such_node, second_node_0, two_nodes_1, too_late, left_again, nobody_comes,
            cannot_take_part, other_data, strangers]  # fmt: skip
sys.exit(cluster.check(PROMISES, hosts=3))
