"""Ranks that a user starts one by one, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT."""

import json
import math
import shutil
import signal
import struct
import sys

import cluster
from programs import PROGRAM, until
from runs import EXPERIMENT, begun_run, finish, on_one_machine, same, write_experiment

cluster.isolate()

ALONE = ["--set", "device_pool=auto"]  # for ranks that are the only ones of their machines


def rank_by_hand(c, rank, *words, **environment):
    at = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2}
    at |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 7777} | environment
    folder = c.hosts[0].folder
    return c.hosts[0].start(PROGRAM, "run", write_experiment(folder), *words, **{k: str(v) for k, v in at.items()})


def by_hand(c):
    """ranks started by hand with RANK and WORLD_SIZE train the same as ranks started by one command, and have logs"""
    ended = finish([rank_by_hand(c, rank) for rank in (1, 0)])
    run = begun_run(c.hosts[0].folder)
    assert [e.out for e in ended] == ["", f"results/small/{run.path.name}\n"], ended
    for rank in (0, 1):
        assert f" rank {rank} | Running mlp on cpu\n" in run.log(rank), run.log(rank)
    same(run, on_one_machine(c.folder / "alone", ranks=2))


def by_hand_on_two_machines(c):
    """ranks started by hand on two machines train the same, each with its own device_pool"""
    ranks = []
    for rank, host in enumerate(c.hosts):
        words = ["run", write_experiment(host.folder), "--set", "device_pool=[\"cpu\"]"]
        at = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "host1", "MASTER_PORT": "7777"}
        ranks.append(host.start(PROGRAM, *words, **at))
    finish(ranks)
    same(begun_run(c.hosts[0].folder), on_one_machine(c.folder / "alone", ranks=2))
    assert not (c.hosts[1].folder / "results").exists()


def different_by_hand(c):
    """ranks started by hand with different experiments are all refused with the key; nothing is started"""
    for ended in finish([rank_by_hand(c, 0), rank_by_hand(c, 1, "--set", "optimizer.lr=0.5")], code=2):
        says_only(ended, "rank 1's experiment is not rank 0's: optimizer.lr is 0.5, not 0.01",
                  "start all ranks with the same file and settings")  # fmt: skip
    nothing_is_written(c)


def other_path_by_hand(c):
    """ranks started by hand whose data have different paths are refused with the paths and the remedy"""
    ranks = []
    for rank in (0, 1):
        folder = c.folder / f"at-{rank}"
        folder.mkdir()
        (folder / "digits.csv").write_text("".join("16," * 64 + f"{n % 10}\n" for n in range(64)))
        dataset = f"dataset={{ name = \"digits\", path = \"{folder}/digits.csv\" }}"
        ranks.append(rank_by_hand(c, rank, "--set", dataset, "--set", "model.in_features=64", "--set",
                                  "model.out_features=10", "--set", "loss=cross_entropy"))  # fmt: skip
    for ended in finish(ranks, code=2):
        says_only(ended, f"dataset.path is \"{c.folder}/at-1/digits.csv\", not \"{c.folder}/at-0/digits.csv\"",
                  "put the file at the same path on all nodes")  # fmt: skip
    nothing_is_written(c)


def alone_by_hand(c):
    """rank 0 or rank 1 without the other one ends after distributed.timeout with one error; nothing is started"""
    (ended,) = finish([rank_by_hand(c, 0, "--set", "distributed.timeout=1")], code=1)
    says_only(ended, "rank 1 of 2 did not come within 1 s (distributed.timeout)", "start all 2 ranks")
    (ended,) = finish([rank_by_hand(c, 1, "--set", "distributed.timeout=1")], code=1)
    says_only(ended, "127.0.0.1:7777: rank 0 is not there after 1 s (distributed.timeout)")
    nothing_is_written(c)


def comm_alone_by_hand(c):
    """comm as rank 0 without the other rank ends with one error, and with no word about values"""
    at = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "7777"}
    (ended,) = finish([c.hosts[0].start(PROGRAM, "comm", "--timeout", "1", **at)], code=1)
    says_only(ended, "rank 1 of 2 did not come within 1 s", "start all 2 ranks")
    assert "right" not in ended.out, ended


def elsewhere_by_hand(c):
    """rank 0 on a machine that MASTER_ADDR does not name, or at a port in use, is refused; nothing is started"""
    (ended,) = finish([rank_by_hand(c, 0, MASTER_ADDR="10.88.0.2")], code=2)
    says_only(ended, "10.88.0.2:7777: cannot listen: Cannot assign requested address")
    listener = socket_of_another_program(c)
    (ended,) = finish([rank_by_hand(c, 0)], code=2)
    says_only(ended, "127.0.0.1:7777: cannot listen: Address already in use")
    listener.kill()
    nothing_is_written(c)


def socket_of_another_program(c):
    script = "import socket; s = socket.create_server(('127.0.0.1', 7777)); print('listens', flush=True); input()"
    program = c.hosts[0].start("sh", "-c", "sleep infinity | exec \"$0\" -c \"$1\"", sys.executable, script)
    until(lambda: "listens" in program.printed(), "another program listens")
    return program


def nameless_by_hand(c):
    """an address without a host name causes no warning"""
    c.hosts[0].call("ip", "addr", "add", "10.88.0.77/24", "dev", "eth0")
    for ended in finish([rank_by_hand(c, rank, MASTER_ADDR="10.88.0.77") for rank in (0, 1)]):
        assert "hostname" not in ended.err, ended
    run = begun_run(c.hosts[0].folder)
    assert "hostname" not in run.log(0) + run.log(1)


def says_only(ended, *words):
    """Its only error has these words, and stderr has no message of a library."""
    for text in words:
        assert text in ended.err, f"no \"{text}\" in {ended}"
    assert ended.err.count("error: ") == 1, ended
    for noise in ("[c10d]", "gloo", "frame #", ".cpp"):
        assert noise not in ended.err, ended


def nothing_is_written(c):
    assert {file.name for file in c.hosts[0].folder.iterdir()} == {"small.toml"}


def long_by_hand(c):
    words = ["--set", "epochs=1000000", "--set", "distributed.timeout=20"]
    ranks = [rank_by_hand(c, rank, *words) for rank in (0, 1)]
    run = begun_run(c.hosts[0].folder, by=ranks)
    until(lambda: run.last_step() > 5 or any(rank.ended() for rank in ranks), "step 5")
    assert {address.rpartition(":")[0] for address in c.hosts[0].listens_on()} == {"127.0.0.1"}
    return ranks, run


def killed_by_hand(c):
    """a rank that was started by hand and is killed ends the other one, which names it"""
    ranks, run = long_by_hand(c)
    ranks[1].kill()
    (ended,) = finish(ranks[:1], code=1)
    says_only(ended, "rank 1 of 2 is gone: it failed, was killed, or its machine cannot be reached",
              "look at the output of rank 1", "the log of rank 0: ",
              "to continue, with the same launcher: ")  # fmt: skip
    assert run.summary()["status"] == "failed", run.summary()


def killed_rank_0_by_hand(c):
    """rank 0 that was started by hand and is killed ends the other one, which names it"""
    ranks, _ = long_by_hand(c)
    ranks[0].kill()
    (ended,) = finish(ranks[1:], code=1)
    says_only(ended, "rank 0 of 2 is gone: it failed, was killed, or its machine cannot be reached")


def nan_of_rank_1(c):
    """Writes samples of which the second one, the first of rank 1, holds NaN. Returns the settings that train on it."""
    rows = [[math.nan if row == 1 else 0.5] * 20 for row in range(16)]
    data = b"".join(struct.pack("<20f", *row) for row in rows) + bytes(16 * 4 * 4)
    arrays = {"x": {"dtype": "F32", "shape": [16, 20], "data_offsets": [0, 16 * 80]},
              "y": {"dtype": "F32", "shape": [16, 4], "data_offsets": [16 * 80, len(data)]}}  # fmt: skip
    header = json.dumps(arrays).encode()
    (c.hosts[0].folder / "nan.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    dataset = 'dataset={name="safetensors", path="nan.safetensors", inputs="x", targets="y"}'
    return ["--set", dataset, "--set", "loader.shuffle=false"]


def not_finite_by_hand(c):
    """a loss that is not finite ends all ranks that were started by hand with its reason, and the run has failed"""
    for culprit, other, words in ((0, 1, ["--set", "optimizer.lr=1e30"]), (1, 0, nan_of_rank_1(c))):
        ranks = [rank_by_hand(c, rank, *words) for rank in (0, 1)]
        ended = finish(ranks, code=1)
        says_only(ended[culprit], "is not finite")
        says_only(ended[other], f"rank {culprit} of 2 has ended: the loss of step ", "is not finite")
        summary = begun_run(c.hosts[0].folder).summary()
        assert summary["status"] == "failed" and "is not finite" in summary["error"]["what"], summary
        shutil.rmtree(c.hosts[0].folder / "results")


def stopped_by_hand(c):
    """SIGTERM to one rank that was started by hand stops all ranks after one step, and all is saved"""
    ranks, run = long_by_hand(c)
    ranks[1].kill(signal.SIGTERM)
    finish(ranks, code=143)
    assert run.summary()["status"] == "interrupted" and run.saved_step() == run.last_step(), run.summary()


def stopped_alike_by_hand(c):
    """a stop signal to either rank ends both with the exit code of that signal"""
    for stopped, number, code in ((0, signal.SIGTERM, 143), (1, signal.SIGHUP, 129), (0, signal.SIGINT, 130)):
        ranks, run = long_by_hand(c)
        ranks[stopped].kill(number)
        finish(ranks, code=code)
        assert run.summary()["status"] == "interrupted", run.summary()
        shutil.rmtree(c.hosts[0].folder / "results")


def stopped_alone_by_hand(c):
    """a rank that waits for another one says so, and a stop ends its wait and the waits of all ranks"""
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        ranks = [rank_by_hand(c, rank, "--set", "grace=600", *ALONE, WORLD_SIZE=3, LOCAL_WORLD_SIZE=1, LOCAL_RANK=0)
                 for rank in (0, 1)]  # fmt: skip
        for rank in ranks:
            rank.until_said("waiting for rank 2 of 3 at 127.0.0.1:7777 (for 600 s: distributed.timeout)")
        ranks[code == 130].kill(number)
        for ended in finish(ranks, code=code):
            says_only(ended, "stopped by a signal while waiting for rank 2 of 3; nothing was started")
        nothing_is_written(c)


def twice_by_hand(c):
    """two processes with one RANK end all ranks that wait, each with the remedy; nothing is started"""
    ranks = [rank_by_hand(c, rank, *ALONE, WORLD_SIZE=3, LOCAL_WORLD_SIZE=1, LOCAL_RANK=0) for rank in (0, 1, 1)]
    for ended in finish(ranks, code=2):
        says_only(ended, "rank 1 is there twice", "give each process its own RANK, from 0 to 2")
    first = rank_by_hand(c, 0)
    first.until_said("waiting for rank 1 of 2")
    (ended,) = finish_some([rank_by_hand(c, 0)], code=2)
    says_only(ended, "Address already in use")
    first.kill()
    nothing_is_written(c)


def finish_some(commands, code):
    ended = [command.finish() for command in commands]
    assert [e.code for e in ended] == [code] * len(ended), "".join(map(str, ended))
    return ended


def late_copy_by_hand(c):
    """a second rank 1 beside a run that trains is refused, and the run goes on"""
    ranks, run = long_by_hand(c)
    (ended,) = finish_some([rank_by_hand(c, 1)], code=2)
    says_only(ended, "rank 1 is there twice", "give each process its own RANK")
    step = run.last_step()
    until(lambda: run.last_step() > step or any(rank.ended() for rank in ranks), "another step")
    ranks[0].kill(signal.SIGTERM)
    finish(ranks, code=143)


def other_sizes_by_hand(c):
    """ranks with another WORLD_SIZE or LOCAL_WORLD_SIZE are refused with the variable; nothing is started"""
    for ended in finish([rank_by_hand(c, 0), rank_by_hand(c, 1, WORLD_SIZE=3)], code=2):
        says_only(ended, "WORLD_SIZE is 3 on rank 1, and 2 on rank 0", "give all ranks the same WORLD_SIZE")
    for ended in finish([rank_by_hand(c, 0, WORLD_SIZE=3), rank_by_hand(c, 1)], code=2):
        says_only(ended, "WORLD_SIZE is 2 on rank 1, and 3 on rank 0")
    lines = [line for line in EXPERIMENT.split("\n") if not line.startswith("threads")]
    own_threads = write_experiment(c.hosts[0].folder, "\n".join(lines))
    ranks = []
    for rank, here in ((0, 2), (1, 1)):
        at = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": here,
              "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 7777}  # fmt: skip
        ranks.append(c.hosts[0].start(PROGRAM, "run", own_threads, *ALONE, **{k: str(v) for k, v in at.items()}))
    for ended in finish(ranks, code=2):
        says_only(ended, "LOCAL_WORLD_SIZE is 1 on rank 1, and 2 on rank 0", "set LOCAL_WORLD_SIZE to the number of")
    nothing_is_written(c)


def another_program_by_hand(c):
    """rank 1 that finds a web server at MASTER_PORT names the place within the timeout"""
    server = c.hosts[0].start(sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "7777")
    until(lambda: "127.0.0.1:7777" in c.hosts[0].listens_on(), "the web server listens")
    (ended,) = finish_some([rank_by_hand(c, 1, "--set", "distributed.timeout=4")], code=1)
    says_only(ended, "127.0.0.1:7777: cannot talk to rank 0", "is another program at this port?")
    assert ended.seconds < 25, ended
    server.kill()
    nothing_is_written(c)


def failed_rank_0_by_hand(c):
    """rank 0 that cannot open the run ends all ranks, and the others have its reason"""
    (c.hosts[0].folder / "results").write_text("not a folder")
    rank_0, rank_1 = [rank_by_hand(c, rank) for rank in (0, 1)]
    ended = [rank.finish() for rank in (rank_0, rank_1)]
    assert "results" in ended[0].err and ended[0].code in (1, 2), ended[0]
    says_only(ended[1], "rank 0 of 2 has ended: ", "results")


def stuck_by_hand(c):
    """a rank started by hand ends without saving if it cannot stop within `grace` because another rank hangs"""
    ranks = [rank_by_hand(c, rank, "--set", "epochs=1000000", "--set", "grace=1") for rank in (0, 1)]
    run = begun_run(c.hosts[0].folder, by=ranks)
    until(lambda: run.last_step() > 5 or any(rank.ended() for rank in ranks), "step 5")
    ranks[1].kill(signal.SIGSTOP)
    ranks[0].kill(signal.SIGTERM)
    ended = ranks[0].finish()
    assert ended.code == 143 and "did not save and end within `grace`" in ended.err, ended


PROMISES = [by_hand, by_hand_on_two_machines, different_by_hand, other_path_by_hand, alone_by_hand, comm_alone_by_hand,
            elsewhere_by_hand, nameless_by_hand, killed_by_hand, killed_rank_0_by_hand, not_finite_by_hand,
            stopped_by_hand, stuck_by_hand, stopped_alike_by_hand, stopped_alone_by_hand, twice_by_hand,
            late_copy_by_hand, other_sizes_by_hand, another_program_by_hand, failed_rank_0_by_hand]  # fmt: skip
sys.exit(cluster.check(PROMISES))
