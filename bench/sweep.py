"""A sweep of 100 trials of 20 steps of the toy model, one rank each, two at a time, with all files written. The peers
do the same work: Ray Tune, a shell loop of Python processes, and Optuna in one process, which has neither ranks nor
isolation. Measured once: the peers take minutes."""

import os
import subprocess
import tempfile
import time

from sides import HERE, ROOT
from table import Table

TRIALS = 100

SWEEP = f"""
model = "toy"
dataset = "random_batch"
loss = "mse"
batch_size = 20
steps = 20
threads = 1
device_pool = 1
[sweep]
method = "random"
trials = {TRIALS}
[sweep.parameters]
"optimizer.lr" = {{ min = 1e-4, max = 0.1, scale = "log" }}
"""


def timed(command, **more):
    start = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{command} exited with {done.returncode}:\n{done.stderr[-3000:]}")
    return time.perf_counter() - start


def ddp_exp(*more):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as folder:
        file = os.path.join(folder, "bench.toml")
        with open(file, "w") as out:
            out.write(SWEEP)
        return timed([os.environ["DDP_EXP"], "sweep", file, "--results", folder, *(more or ["--jobs", "2"])])


def environment(scratch):
    paths = os.pathsep.join([os.environ["DDP_PEERS"], os.environ["DDP_PYTHONPATH"]])
    return dict(os.environ) | {
        "PYTHONPATH": paths,
        "PYTHONPYCACHEPREFIX": os.path.join(ROOT, "build", "bench", "pycache"),
        "PYTHONDONTWRITEBYTECODE": "",
        "OMP_NUM_THREADS": "1",
        "TMPDIR": scratch,
        "RAY_TMPDIR": scratch,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AIR_NEW_OUTPUT": "0",
        "HOME": scratch,
    }


def peer(what):
    # A short name: the paths of Ray's sockets begin with it, and their length is limited.
    with tempfile.TemporaryDirectory(prefix="ddp-") as folder:
        command = [os.environ["DDP_PYTHON"], os.path.join(HERE, "sweep_peer.py")]
        if what == "loop":
            trial = " ".join([*command, "trial", "0.01", f"{folder}/trials/{{}}"])
            return timed(["sh", "-c", f"seq {TRIALS} | xargs -P 2 -I {{}} {trial}"], env=environment(folder))
        return timed([*command, what, str(TRIALS), os.path.join(folder, "trials")], env=environment(folder))


def tables():
    rows = {
        "ddp-exp sweep": ddp_exp,
        "Optuna, all in one process": lambda: peer("optuna"),
        "a shell loop of Python processes": lambda: peer("loop"),
        "Ray Tune": lambda: peer("ray"),
    }
    return [Table("sweep", f"seconds for {TRIALS} trials of 20 steps, toy model", "less", rows, once=True)]
