"""Starts both sides: two CPU ranks with one thread each, the same LibTorch. ddp-exp uses `backend = "auto"`, which is
shared memory here, unless a row says otherwise; the peer uses Gloo, the only backend that it has on CPUs."""

import contextlib
import json
import os
import socket
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
RANKS = 2


def unsteady(steps):
    """The number of steps that a rate leaves out at the start, while sockets, allocator and buckets still settle."""
    return min(20, steps // 4)


MLP = """
model = { name = "mlp", in_features = 784, hidden = [256, 256], out_features = 10 }
dataset = { name = "random_pairs", size = 8192, features = 784, targets = 10 }
batch_size = 64
"""
WIDE = """
model = { name = "mlp", in_features = 2048, hidden = [2048], out_features = 5 }
dataset = { name = "random_pairs", size = 2048, features = 2048, targets = 5 }
batch_size = 20
"""
SGD = 'optimizer = { name = "sgd", lr = 1e-3 }'
ADAMW = 'optimizer = { name = "adamw", lr = 1e-3 }'  # fused by default

# Each value is a part of an experiment file: the model, its data and its training. peer.py has the same in Python.
EXPERIMENTS = {
    "toy": SGD + """
model = "toy"
dataset = "random_batch"
batch_size = 20
""",
    "mlp": SGD + MLP,
    "mlp-adamw": ADAMW + MLP,
    "table": ADAMW + """
model = { name = "mlp", in_features = 30, hidden = [64, 64, 64], out_features = 1 }
dataset = { name = "random_batch", inputs = 30, targets = 1, keep = 256 }
batch_size = 256
""",
    "wide": SGD + WIDE,
    "wide-adamw": ADAMW + WIDE,
    "cnn": SGD + """
model = { name = "sequential", layers = [
  { type = "Unflatten", dim = 1, unflattened_size = [3, 32, 32] },
  { type = "Conv2d", in_channels = 3, out_channels = 32, kernel_size = 3, padding = 1 },
  { type = "ReLU" },
  { type = "Conv2d", in_channels = 32, out_channels = 64, kernel_size = 3, padding = 1 },
  { type = "ReLU" },
  { type = "MaxPool2d", kernel_size = 2 },
  { type = "Flatten" },
  { type = "Linear", in_features = 16384, out_features = 10 },
] }
dataset = { name = "random_pairs", size = 1024, features = 3072, targets = 10 }
batch_size = 64
""",
    "big": ADAMW + """
model = { name = "mlp", in_features = 5000, hidden = [5000, 5000, 5000], out_features = 5000 }
dataset = { name = "random_batch", inputs = 5000, targets = 5000 }
batch_size = 64
checkpoint = { save_every_steps = 8 }
""",
}

COMMON = """
loss = "mse"
threads = 1
"""


def write_experiment(folder, experiment, steps, ranks=RANKS, *sets):
    """Writes the experiment into the folder and returns the arguments that run it there."""
    file = os.path.join(folder, "bench.toml")
    with open(file, "w") as out:
        out.write(f"steps = {steps}\ndevice_pool = {['cpu'] * ranks}\n{COMMON}{EXPERIMENTS[experiment]}\n")
    return ["run", file, "--results", folder, "--run-id", "r", *(word for one in sets for word in ("--set", one))]


def output_of(command, environment=None):
    """Runs a command and returns its stdout. Raises an error with its stderr if it fails."""
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} exited with {done.returncode}:\n{done.stderr}")
    return done.stdout


def run_program(name, *arguments):
    """Runs a bench program of this folder and returns its output."""
    return output_of([os.path.join(os.path.dirname(os.environ["DDP_EXP"]), name), *map(str, arguments)])


def run_peer(script, *arguments):
    """Runs a script of this folder in the peer's Python and returns its output."""
    environment = dict(os.environ, PYTHONPATH=os.environ["DDP_PYTHONPATH"])
    return output_of([os.environ["DDP_PYTHON"], os.path.join(HERE, script), *map(str, arguments)], environment)


def run_ddp_exp(program, experiment, steps, ranks=RANKS, *sets, nodes=1):
    """Trains and returns the lines of metrics.jsonl. With several `nodes`, this machine plays all of them."""
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as folder:
        command = [program, *write_experiment(folder, experiment, steps, ranks, *sets)]
        if nodes > 1:
            command += ["--nnodes", str(nodes), "--nproc-per-node", str(ranks)]
            command += ["--master-addr", "127.0.0.1", "--master-port", str(free_port())]
        others = [subprocess.Popen([*command, "--node-rank", str(n)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                  for n in range(1, nodes)]  # fmt: skip
        try:
            output_of(command + ["--node-rank", "0"] if others else command)
        finally:
            for other in others:  # they end when node 0 ends
                other.wait()
        with open(os.path.join(folder, "bench", "r", "metrics.jsonl")) as metrics:
            return [json.loads(line) for line in metrics]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def start_ddp_exp(program, experiment, steps, ranks=RANKS):
    """Starts `program run` and yields its stderr as a stream. The end of the block waits for the end of the program."""
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as folder:
        command = [program, *write_experiment(folder, experiment, steps, ranks)]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
        yield process.stderr
        rest = process.stderr.read()
        process.stderr.close()
        if process.wait() != 0:
            raise RuntimeError(f"{' '.join(command)} exited with {process.returncode}:\n{rest}")


def torchrun(ranks, script, *arguments):
    """The command that runs a script of this folder on `ranks` ranks."""
    return [
        os.environ["DDP_PYTHON"], "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks),
        os.path.join(HERE, script), *map(str, arguments)]  # fmt: skip


def torchrun_environment(scratch):
    """The environment of torchrun, which leaves a folder behind: here in `scratch`."""
    environment = dict(os.environ, TMPDIR=scratch)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment | {
        "PYTHONPATH": os.environ["DDP_PYTHONPATH"],
        # Compiled modules are kept between runs, as in an installed PyTorch, but outside the shared cache.
        "PYTHONPYCACHEPREFIX": os.path.join(ROOT, "build", "bench", "pycache"),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }


class Peer:
    """peer.py under torchrun. The block reads its stdout as a stream; the end of the block waits for its end."""

    def __init__(self, experiment, data, steps, *save, ranks=RANKS):
        self.scratch = tempfile.TemporaryDirectory(prefix="ddp-exp-bench-")
        command = torchrun(ranks, "peer.py", experiment, data, steps, unsteady(steps), *save)
        environment = torchrun_environment(self.scratch.name)
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )

    def __enter__(self):
        return self.process.stdout

    def __exit__(self, *_):
        self.process.stdout.read()
        self.process.stdout.close()
        if self.process.wait() != 0:
            self.errors.seek(0)
            raise RuntimeError(f"torchrun exited with {self.process.returncode}:\n{self.errors.read()}")
        self.errors.close()
        self.scratch.cleanup()
