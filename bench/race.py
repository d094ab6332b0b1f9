"""A race of two digits MLPs, five pairs, on two cores, beside the same ten trainings with torchrun and PyTorch's DDP, two
at a time, and the t-test of scipy. Measured once: the peer takes minutes."""

import json
import os
import subprocess
import tempfile
import time

from sides import output_of, torchrun, torchrun_environment
from table import Table

PAIRS, EPOCHS = 5, 10
HIDDEN = {"narrow": 16, "wide": 64}

DIGITS = f"""
dataset = "digits"
model.name = "mlp"
loss = "cross_entropy"
optimizer = {{ name = "adam", lr = 1e-3 }}
batch_size = 32
epochs = {EPOCHS}
threads = 1
device_pool = 1
validation.split = 0.2
"""


def ddp_exp():
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as folder:
        for name, width in HIDDEN.items():
            with open(os.path.join(folder, f"{name}.toml"), "w") as out:
                out.write(f"{DIGITS}model.hidden = [{width}]\n")
        files = [os.path.join(folder, f"{name}.toml") for name in HIDDEN]
        start = time.perf_counter()
        told = output_of([os.environ["DDP_EXP"], "race", *files, "--results", folder, "--metric", "val_loss", "--alpha", "1e-9",
                          "--max-seeds", str(PAIRS), "--jobs", "2", "--json"])  # fmt: skip
        seconds = time.perf_counter() - start
        assert len(json.loads(told)["pairs"]) == PAIRS, told
        return seconds


def peer():
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as folder:
        runs = [torchrun(1, "race_peer.py", width, seed, EPOCHS) for seed in range(PAIRS) for width in HIDDEN.values()]
        start = time.perf_counter()
        values = []
        for pair in range(PAIRS):
            both = [subprocess.Popen(command, env=torchrun_environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True) for command in runs[2 * pair : 2 * pair + 2]]  # fmt: skip
            told = [process.communicate() for process in both]
            if any(process.returncode for process in both):
                raise RuntimeError(f"a training failed:\n{told}")
            values.append([float(out.split()[-1]) for out, _ in told])
        test = "import json, scipy.stats, sys; print(scipy.stats.ttest_rel(*zip(*json.loads(sys.argv[1]))))"
        output_of([os.environ["DDP_PYTHON"], "-c", test, json.dumps(values)], dict(os.environ, PYTHONPATH=os.environ["DDP_PYTHONPATH"]))
        return time.perf_counter() - start


def tables():
    return [Table("race", f"seconds for a race of two digits MLPs, {PAIRS} pairs, {EPOCHS} epochs", "less",
                  {"ddp-exp race": ddp_exp, "torchrun, two at a time": peer}, once=True)]  # fmt: skip
