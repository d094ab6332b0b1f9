"""Memory that the data take in eight ranks that train on one array for an epoch.

The result is the peak of the summed PSS of all processes that the command starts (a page that several processes map
counts once), minus the peak of the same command with an array of a few rows. Mapped pages of the file count: at least 1
GB.
"""

import os
import subprocess
import tempfile
import time

from data_sets import data_file
from sides import torchrun, torchrun_environment
from table import Table

RANKS = 8
FEW = 2  # ranks of a small run
TINY_EPOCHS = 2000  # long enough to sample the memory while all ranks train

EXPERIMENT = """
epochs      = {epochs}
device_pool = {pool}
threads     = 1
batch_size  = {batch}
loss        = "mse"
optimizer   = {{ name = "sgd", lr = 1e-3 }}
model       = {{ name = "mlp", hidden = [16] }}
dataset     = {{ name = "npy", inputs = "{inputs}", targets = "{targets}" }}
"""


def children_of(process):
    found = []
    for thread in list_of(f"/proc/{process}/task"):
        for child in read(f"/proc/{process}/task/{thread}/children").split():
            found += [child, *children_of(child)]
    return found


def list_of(folder):
    try:
        return os.listdir(folder)
    except OSError:  # the process has ended
        return []


def read(file):
    try:
        with open(file) as opened:
            return opened.read()
    except OSError:
        return ""


def proportional_set_size(process):
    lines = [line.split() for line in read(f"/proc/{process}/smaps_rollup").splitlines()]
    return sum(int(words[1]) for words in lines if words[0] == "Pss:") * 1024


def most_memory(command, environment=None):
    """The largest sum, in bytes, over the processes that the command starts."""
    most = 0
    with tempfile.TemporaryFile("w+") as output:
        options = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output, "text": True}
        with subprocess.Popen(command, env=environment, **options) as process:
            while process.poll() is None:
                most = max(most, sum(map(proportional_set_size, children_of(process.pid))))
                time.sleep(0.05)
        if process.returncode != 0:
            output.seek(0)
            raise RuntimeError(f"{command} exited with {process.returncode}:\n{output.read()[-3000:]}")
    return most


def ddp_exp(ranks, inputs, batch, epochs=1):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as results:
        file = os.path.join(results, "memory.toml")
        targets = inputs.replace(".npy", ".targets.npy")
        with open(file, "w") as out:
            out.write(EXPERIMENT.format(pool=["cpu"] * ranks, batch=batch, inputs=inputs, targets=targets, epochs=epochs))
        return most_memory([os.environ["DDP_EXP"], "run", file, "--results", results])


def peer(how, ranks, inputs, batch):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as scratch:
        command = torchrun(ranks, "data_memory_peer.py", how, inputs, batch)
        return most_memory(command, torchrun_environment(scratch))


def tables(small=False):
    size, batch, ranks = (1 << 24, 64, FEW) if small else (1 << 30, 1024, RANKS)
    array, tiny = data_file("array", size, "array.npy"), data_file("array", 1 << 17, "tiny.npy")

    def ours():
        return ddp_exp(ranks, array, batch) - ddp_exp(ranks, tiny, 8, TINY_EPOCHS)

    def peers(how):
        return peer(how, ranks, array, batch) - peer(how, ranks, tiny, 8)

    rows = {
        "ddp-exp": lambda: ours() / 1e9,
        "DataLoader, numpy.load in each rank": lambda: peers("load") / 1e9,
        "DataLoader, numpy.load(mmap_mode='r')": lambda: peers("map") / 1e9,
        "the limit: the file": lambda: os.path.getsize(array) / 1e9,
    }
    yield Table("data-memory", f"GB of memory for the data of {ranks} ranks, an array of {size / 1e9:.2g} GB", "less", rows, once=True)
