"""ddp-exp on the hosts of a cluster: an experiment, the nodes that run it, and the files of a run."""

import json
import pathlib

from commands import Command, running
from programs import PROGRAM, children, events_in, until

PORT = 29500

# Three steps an epoch with four ranks.
EXPERIMENT = """
model       = { name = "mlp", in_features = 20, hidden = [16], out_features = 4 }
dataset     = { name = "random_pairs", size = 96, features = 20, targets = 4 }
loss        = "mse"
optimizer   = { name = "adam", lr = 0.01 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
epochs      = 4
threads     = 1
distributed = { backend = "gloo" }
checkpoint  = { save_every_steps = 5 }
"""


def write_experiment(folder, text=EXPERIMENT):
    """Replaces the file as a whole, since a rank that started before may read it at this moment."""
    new = folder / "small.toml.new"
    new.write_text(text)
    new.replace(folder / "small.toml")
    return "small.toml"


def start_node(cluster, number, *words, host=None, nnodes=2, ranks=2, program=(PROGRAM,), master=None, **environment):
    """Starts node `number` on `host`, by default on the host of that number. `words`: the command and its arguments;
    for `run` the experiment is inserted before them, and each host has its own copy of it. Node 0 writes its results to
    results/ of its host's folder; the other nodes would write theirs to nothing-here/."""
    host = host or cluster.hosts[number]
    verb, *arguments = words
    if verb == "run":
        arguments.insert(0, write_experiment(host.folder))
    if number > 0:
        arguments += ["--results", "nothing-here"]
    launch = ["--nnodes", nnodes, "--node-rank", number, "--nproc-per-node", ranks]
    if master is None:
        master = ["--master-addr", cluster.hosts[0].address, "--master-port", PORT]
    return host.start(*program, verb, *arguments, *launch, *master, **environment)


def start_nodes(cluster, *words, **options):
    return [start_node(cluster, number, *words, **options) for number in (0, 1)]


def without(folder):
    """The program on a host that does not see the files in `folder`."""
    return ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {folder} && exec \"$0\" \"$@\"", PROGRAM]


def finish(nodes, code=0):
    """Waits for all nodes to end with this exit code, and returns how they ended."""
    ended = [node.finish() for node in nodes]
    assert [e.code for e in ended] == [code] * len(ended), "".join(f"\nnode {n}: {e}" for n, e in enumerate(ended))
    assert not running("ddp-exp"), f"left running: {running('ddp-exp')}"
    return ended


def on_one_machine(folder, *words, ranks=4):
    """Runs the experiment with one command that starts all ranks, and returns its Run."""
    folder.mkdir(exist_ok=True)
    pool = f"device_pool={json.dumps(['cpu'] * ranks)}"
    arguments = ["run", write_experiment(folder), "--set", pool, *words]
    ended = Command([PROGRAM, *arguments], folder, {}).finish()
    assert ended.code == 0, ended
    return Run(ended.out.strip(), folder)


class Run:
    """A run's directory."""

    def __init__(self, path, folder="."):
        self.path = pathlib.Path(folder) / path

    def summary(self):
        return json.loads((self.path / "summary.json").read_text())

    def events(self, kind):
        return events_in(self.path / "metrics.jsonl", kind)

    def last_step(self):
        steps = self.events("step")
        return steps[-1]["step"] if steps else 0

    def training(self):
        """The trained steps and epochs without timings."""
        return [{k: e[k] for k in ("epoch", "step", "loss", "lr", "samples")} for e in self.events("step")]

    def epochs(self):
        """The training losses of each epoch and its validation metrics."""
        keys = ("epoch", "train_loss", "val_loss", "val_accuracy")
        return [{key: event.get(key) for key in keys} for event in self.events("epoch")]

    def log(self, rank):
        return (self.path / f"logs/rank-{rank}.log").read_text()

    def saved(self):
        """The bytes of the model and the optimizer in the newest checkpoint."""
        latest = self.path / "checkpoints/latest"
        return [(latest / name).read_bytes() for name in ("model.safetensors", "optimizer.safetensors")]

    def saved_step(self):
        return json.loads((self.path / "checkpoints/latest/state.json").read_text())["step"]


def begun_run(folder, name="small", by=()):
    """Waits for the only run under results/ and returns it; `by`: the commands that start it."""
    def only():
        # A temporary link, later renamed to `latest`, appears and disappears.
        return [path for path in (folder / "results" / name).glob("*") if path.is_dir() and not path.is_symlink()]

    until(lambda: only() or any(command.ended() for command in by), f"a run is in {folder}/results")
    assert only(), "no run has begun:\n" + "".join(str(command.finish()) for command in by if command.ended())
    (path,) = only()
    return Run(path)


def same(run, other):
    """Returns true if both runs trained the same, bit for bit, each step once."""
    assert run.training() == other.training(), f"{run.training()[-3:]} is not {other.training()[-3:]}"
    steps = [event["step"] for event in run.events("step")]
    assert steps == list(range(1, len(steps) + 1)), steps
    assert run.saved() == other.saved(), "the saved bits differ"
    assert run.epochs() == other.epochs(), (run.epochs(), other.epochs())


class LongRun:
    """A run over two nodes that would take hours, for tests that interrupt it. On construction it has saved a few
    times."""

    def __init__(self, cluster, *words, **options):
        self.cluster = cluster
        self.nodes = start_nodes(cluster, "run", *words, "--set", "epochs=1000000", **options)
        self.run = begun_run(cluster.hosts[0].folder, by=self.nodes)
        self.until_step(12)

    def until_step(self, step):
        until(lambda: self.run.last_step() >= step or any(node.ended() for node in self.nodes), f"step {step}")
        assert self.run.last_step() >= step, "".join(str(node.finish()) for node in self.nodes if node.ended())

    def ranks(self):
        """The processes of ranks 0 to 3."""
        def four():
            found = [pid for node in self.nodes for pid in children(node.pid) if pid in running("ddp-exp")]
            return found if len(found) == 4 else None

        return until(four, "four ranks run")

    def check_resumes_to_the_same_bits(self, *words):
        """Resumes the run over two nodes to the end of a later epoch, and compares it with a run of the same length
        that was never stopped. No test depends on how fast a machine is."""
        epochs = f"epochs={self.run.saved_step() // 3 + 2}"
        finish(start_nodes(self.cluster, "resume", "small", "--set", epochs))
        summary = self.run.summary()
        assert (summary["status"], summary["error"]) == ("completed", None), summary
        same(self.run, on_one_machine(self.cluster.folder / "never", *words, "--set", epochs))
