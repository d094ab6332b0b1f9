"""torchrun launches the same program: one rank per process, the same bits, and a restarted group resumes its run."""

import os
import signal
import sys

import cluster
from commands import running
from programs import PROGRAM, sets, skip, until
from runs import Run, begun_run, finish, on_one_machine, same, write_experiment
from sources import SETS, keep_compiled_in, write_sources

PYTHON = os.environ.get("DDP_PYTHON")
if not PYTHON:
    skip("run it through scripts/test, which sets DDP_PYTHON")
cluster.isolate()


def start(c, number, *words, host=None):
    """torchrun on a host. `words`: torchrun's flags, then "run" and the arguments of `run`."""
    host = host or c.hosts[number]
    split = words.index("run")
    flags, arguments = words[:split], words[split + 1 :]
    results = "results" if number == 0 else "nothing-here"
    return start_ranks(host, flags, "run", write_experiment(host.folder), "--results", results, *arguments)


def start_ranks(host, flags, *words):
    """Runs torchrun with these flags and two ranks, which are the program with these words."""
    torchrun = [PYTHON, "-m", "torch.distributed.run", "--no-python", "--nproc-per-node", 2, *flags]
    return host.start(*torchrun, PROGRAM, *words, PYTHONPATH=os.environ["DDP_PYTHONPATH"],
                      PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")  # fmt: skip


def only_node_0_writes(c):
    assert [file.name for file in c.hosts[1].folder.iterdir()] == ["small.toml"]


def one_node(c):
    """torchrun's two ranks on one machine train the same as ddp-exp's own two ranks"""
    (ended,) = finish([start(c, 0, "run")])
    run = begun_run(c.hosts[0].folder)
    assert ended.out.splitlines().count(str(run.path.relative_to(c.hosts[0].folder))) == 1, ended
    assert run.summary()["status"] == "completed", run.summary()
    same(run, on_one_machine(c.folder / "alone", ranks=2))


def two_nodes(c):
    """torchrun on two machines, static: the same bits as four ranks on one"""
    static = ["--nnodes", 2, "--master-addr", c.hosts[0].address, "--master-port", 29500]
    finish([start(c, number, *static, "--node-rank", number, "run") for number in (0, 1)])
    same(begun_run(c.hosts[0].folder), on_one_machine(c.folder / "alone"))
    only_node_0_writes(c)


def two_nodes_by_c10d(c):
    """torchrun on two machines, --rdzv-backend c10d: the same bits as four ranks on one"""
    meeting = ["--nnodes", 2, "--rdzv-backend", "c10d", "--rdzv-id", "7", "--rdzv-endpoint", "host1:29400"]
    finish([start(c, number, *meeting, "run") for number in (0, 1)])
    # torchrun chooses the machine of rank 0.
    found = [path for host in c.hosts for path in host.folder.glob("*/small/*") if not path.is_symlink()]
    assert len(found) == 1, found
    same(Run(found[0]), on_one_machine(c.folder / "alone"))


def restart(c):
    """a group that torchrun restarts after a rank was killed resumes its run, to the same bits"""
    torchrun = start(c, 0, "--max-restarts", 1, "run", "--set", "epochs=1000000")
    run = begun_run(c.hosts[0].folder)

    def reach(step):
        until(lambda: run.last_step() >= step or torchrun.ended(), f"step {step}")
        assert not torchrun.ended(), torchrun.finish()

    reach(12)
    before = running("ddp-exp")
    assert len(before) == 2, before
    os.kill(before[1], signal.SIGKILL)
    until(lambda: run.events("resume") or torchrun.ended(), "the group continues")
    reach(run.last_step() + 12)
    assert not set(before) & set(running("ddp-exp"))
    torchrun.kill(signal.SIGTERM)
    ended = torchrun.finish()
    assert ended.out.splitlines().count(str(run.path.relative_to(c.hosts[0].folder))) == 1, ended
    until(lambda: not running("ddp-exp"), "the ranks have ended")
    assert begun_run(c.hosts[0].folder).path == run.path
    assert run.summary()["status"] == "interrupted" and run.saved_step() == run.last_step(), run.summary()
    epochs = f"epochs={run.saved_step() // 6 + 2}"
    finish([c.hosts[0].start(PROGRAM, "resume", "small", "--set", epochs)])
    same(run, on_one_machine(c.folder / "never", "--set", epochs, ranks=2))


def timed_saves_and_fork(c):
    """torchrun's ranks save when rank 0's clock says so, and fork a run, to the same bits"""
    host = c.hosts[0]
    finish([start(c, 0, "run", *sets(epochs=20, checkpoint__save_every_minutes=0.00001))])
    origin = begun_run(host.folder)
    assert "time" in {event.get("reason") for event in origin.events("checkpoint")}, origin.events("checkpoint")
    finish([start_ranks(host, [], "fork", "small", "--name", "forked", *sets(epochs=24))])
    fork = begun_run(host.folder, "forked")
    alone = on_one_machine(c.folder / "alone", *sets(epochs=24, checkpoint__save_every_minutes=0), ranks=2)
    assert origin.training() + fork.training() == alone.training(), fork.training()
    assert fork.saved() == alone.saved(), "the saved bits differ"


def own_sources(c):
    """torchrun's ranks train sources that lie in a different folder on each machine, and end with the file's name if a
    text differs"""
    keep_compiled_in(c.folder)
    for folder in (*(host.folder for host in c.hosts), c.folder / "alone"):
        write_sources(folder)
    alone = on_one_machine(c.folder / "alone", *SETS)
    static = ["--nnodes", 2, "--master-addr", c.hosts[0].address, "--master-port", 29500]
    finish([start(c, number, *static, "--node-rank", number, "run", *SETS) for number in (0, 1)])
    same(begun_run(c.hosts[0].folder), alone)
    (c.hosts[1].folder / "own.h").write_text("// of host 2\n")
    ended = finish([start(c, number, *static, "--node-rank", number, "run", *SETS) for number in (0, 1)], code=1)
    assert "rank 2's experiment is not rank 0's: source_texts.own.h is" in ended[1].err, ended[1]


sys.exit(cluster.check([one_node, two_nodes, two_nodes_by_c10d, restart, timed_saves_and_fork, own_sources]))
