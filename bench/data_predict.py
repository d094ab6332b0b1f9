"""Rows of a table through a trained model: the whole command `ddp-exp predict` on two ranks, beside a script of pandas
and PyTorch with as many threads, timed from its first read. Both use the same weights and write the same numbers."""

import os
import resource
import tempfile
import time

from data_sets import Seconds, data_file, folder, reply_of_peer
from sides import RANKS, output_of
from table import Table

BATCH = 1024

EXPERIMENT = """
steps       = 20
device_pool = {pool}
threads     = 1
batch_size  = {batch}
loss        = "cross_entropy"
optimizer   = {{ name = "adamw", lr = 1e-2 }}
model       = {{ name = "mlp", hidden = [64, 64] }}
dataset     = {{ name = "{format}", path = "{path}", target = "label", normalise = "standard" }}
"""


def train(name):
    """Trains on a small table of the named format and returns the folder of the run."""
    table = data_file("classes", 5000, f"train.{name}")
    file = os.path.join(folder().name, f"{name}.toml")
    with open(file, "w") as out:
        out.write(EXPERIMENT.format(pool=["cpu"] * RANKS, batch=BATCH, format=name, path=table))
    output_of([os.environ["DDP_EXP"], "run", file, "--results", folder().name, "--run-id", "r"])
    return os.path.join(folder().name, name, "r")


class Prediction:
    """Prediction from a table in a format (`name`) to a file with an ending, on each side."""

    def __init__(self, rows, name, ending):
        self.run, self.input = train(name), data_file("classes", rows, f"rows.{name}")
        self.name, self.ending, self.compared = name, ending, False

    def ddp_exp(self, output=None):
        with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as results:
            output = output or os.path.join(results, "ours" + self.ending)
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            output_of([os.environ["DDP_EXP"], "predict", self.run, self.input, "-o", output])
            seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        return Seconds(seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)

    def peer(self):
        with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as results:
            ours, theirs = (os.path.join(results, name + self.ending) for name in ("ours", "theirs"))
            reply = reply_of_peer("data_predict_peer.py", "predict", self.run, self.input, theirs, BATCH, RANKS)
            if not self.compared:
                self.ddp_exp(ours)
                reply_of_peer("data_predict_peer.py", "compare", ours, theirs)
                self.compared = True
        return Seconds(reply["seconds"], reply["cpu"])

    def reading(self):
        reply = reply_of_peer("data_peer.py", self.name, "parse", self.input, RANKS)
        return Seconds(reply["seconds"], reply["cpu"])


def tables(small=False):
    count = 5000 if small else 10_000_000
    for name, ending in {"csv": ".csv", "parquet": ".npy"}.items():
        prediction = Prediction(count, name, ending)
        rows = {
            "ddp-exp predict": prediction.ddp_exp,
            "pandas + a loop over batches": prediction.peer,
            f"the limit: pyarrow reads the {name} alone": prediction.reading,
        }
        title = f"seconds to predict {count:,} rows, .{name} to {ending}, an MLP 19-64-64-2"
        yield Table(f"data-predict-{name}", title, "less", rows)
