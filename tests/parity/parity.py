"""ddp-exp against the same script in PyTorch's Python, bit for bit: the functions with which each test_*.py states its
cases.

    python test_models.py             every case of the file
    python test_models.py conv drop   only those whose title has one of these words

DDP_EXP names the binary; DDP_REPLAY and DDP_SHARD, if set, are the keys `replay` and `distributed.shard` of every case.
Every case prints one line; a case that differs prints the differences.
"""

import os
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, replace

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy starts no thread in the process that ranks.py forks

from device import ON_GPUS, gpus  # noqa: E402
from program import run_program  # noqa: E402
from ranks import run_reference  # noqa: E402
from result import differences  # noqa: E402

SAMPLE = None  # how many cases of a file to run; None: all


@dataclass
class Case:
    title: str
    world: int
    first: dict  # the settings of a shorter first run before `resume`; None for a single run
    experiment: dict  # the keys of an experiment file


def case(title, *, world=2, first=None, **experiment):
    """An experiment, by default with 96 random pairs in batches of 8 over two epochs."""
    defaults = {"loss": "mse", "batch_size": 8}
    if "dataset" not in experiment:
        defaults["dataset"] = {"name": "random_pairs", "size": 96, "features": 20, "targets": 4}
    if "model" not in experiment:
        defaults["model"] = {"name": "mlp", "in_features": 20, "hidden": [16], "out_features": 4}
    if "optimizer" not in experiment:
        defaults["optimizer"] = {"name": "sgd", "lr": 0.05}
    if "steps" not in experiment:
        defaults["epochs"] = 2
    return Case(title, world, first, defaults | experiment)


def normed(inputs, width, outputs):
    """A model with batch norm and dropout."""
    layers = [
        {"type": "Linear", "in_features": inputs, "out_features": width},
        {"type": "BatchNorm1d", "num_features": width},
        {"type": "ReLU"},
        {"type": "Dropout", "p": 0.3},
        {"type": "Linear", "in_features": width, "out_features": outputs},
    ]
    return {"name": "sequential", "layers": layers}


def on_digits(title, **experiment):
    """A convolution with batch norm that learns digits, validated on a fifth of them."""
    layers = [
        {"type": "Unflatten", "dim": 1, "unflattened_size": [1, 8, 8]},
        {"type": "Conv2d", "in_channels": 1, "out_channels": 8, "kernel_size": 3, "padding": 1},
        {"type": "BatchNorm2d", "num_features": 8},
        {"type": "ReLU"},
        {"type": "Flatten"},
        {"type": "Linear", "in_features": 512, "out_features": 10},
    ]
    options = {"dataset": {"name": "digits"}, "loss": "cross_entropy", "batch_size": 64, "validation": {"split": 0.2}}
    return case(title, model={"name": "sequential", "layers": layers}, **(options | experiment))


def selected(cases):
    """The cases that the command line selects. On GPUs a case has as many ranks as there are GPUs for them, at least one,
    and equal cases are one."""
    chosen = [c for c in cases if not sys.argv[1:] or any(word in c.title for word in sys.argv[1:])]
    if ON_GPUS:
        chosen = [replace(c, world=max(1, min(c.world, gpus() // c.experiment.get("devices_per_rank", 1)))) for c in chosen]
        chosen = list({repr(replace(c, title="")): c for c in reversed(chosen)}.values())[::-1]
    return chosen[:: max(1, len(chosen) // SAMPLE)][:SAMPLE] if SAMPLE else chosen


def check(cases):
    """Runs the selected cases, and returns the exit status of the process."""
    chosen = selected(cases)
    failed = 0
    for one in chosen:
        start = time.monotonic()
        found = run_case(one)
        failed += bool(found)
        print(f"{'DIFFERS' if found else 'same':8}{one.title} ({time.monotonic() - start:.1f} s)", flush=True)
        for line in found:
            print(f"        {line}", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} cases are the same bit for bit")
    return 1 if failed or not chosen else 0


def run_case(one):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-parity-") as folder:
        try:
            reference = run_reference(one.experiment, one.world, folder)
            return [
                f"{backend}: {line}"
                for backend in backends(one)
                for line in differences(run_program(one.experiment, one.world, folder, backend, one.first), reference)
            ]
        except Exception:  # the other cases are checked too
            return traceback.format_exc().splitlines()


def backends(one):
    """The reference uses Gloo. The shared-memory backend adds in rank order; Gloo does not, with three and more
    ranks; nor does NCCL."""
    direct = "nccl" if ON_GPUS else "shm"
    if one.experiment.get("parallel") == "single":
        return ["auto"]
    return ["gloo", direct] if one.world <= 2 else ["gloo"]
