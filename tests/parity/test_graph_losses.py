"""Losses that Python computes: of the model itself, or exported beside it. Equal to Python's DDP bit for bit."""

import os
import subprocess
import sys
import tempfile

from parity import case, check  # before numpy: it keeps numpy from starting threads

import numpy as np

from device import ON_GPUS
from loss_models import EXPORTS
from program import run_program

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = 90  # the last batch of an epoch is short
WORLDS = ((1, "one rank"), (2, "two ranks"), (3, "three ranks"))


def write_data(folder):
    draw = np.random.default_rng(1)
    np.savez(
        os.path.join(folder, "data.npz"),
        x=draw.standard_normal((ROWS, 20), dtype=np.float32),
        y=draw.standard_normal((ROWS, 12), dtype=np.float32),
        kinds=draw.integers(0, 4, ROWS),
        amounts=draw.standard_normal(ROWS, dtype=np.float32),
    )


def cases(folder):
    def path(name):
        return os.path.join(folder, name)

    def with_loss(title, name, inputs="x", targets=None, **experiment):
        model = {"name": "exported", "path": path(f"{name}.pt2")}
        second = path(f"{name}.eval.pt2")
        if os.path.exists(second):
            model["eval"] = second
        loss = {"name": "exported", "path": path(f"{name}.loss.pt2")} if "--loss" in EXPORTS[name] else "model"
        if os.path.exists(path(f"{name}.loss.eval.pt2")):
            loss["eval"] = path(f"{name}.loss.eval.pt2")
        dataset = {"name": "npz", "path": path("data.npz"), "inputs": inputs} | ({"targets": targets} if targets else {})
        options = {"model": model, "dataset": dataset, "loss": loss, "validation": {"split": 0.2}}
        return case(title, **options | {"optimizer": {"name": "adamw", "lr": 0.01}} | experiment)

    return [
        *(with_loss(f"a VAE, {ranks}", "Vae", world=world) for world, ranks in WORLDS),
        *(with_loss(f"a classifier with a penalty, {ranks}", "Judge", targets="kinds", world=world) for world, ranks in WORLDS),
        *(with_loss(f"a tuple of loss and output, {ranks}", "Tuple", targets="amounts", world=world) for world, ranks in WORLDS),
        *(with_loss(f"two heads with two targets, {ranks}", "Heads", targets=["kinds", "amounts"], world=world) for world, ranks in WORLDS),
        *(with_loss(f"two towers, {ranks}", "Towers", inputs=["x", "y"], world=world) for world, ranks in WORLDS),
        *(with_loss(f"fewer outputs in evaluation, {ranks}", "Aided", targets="kinds", world=world) for world, ranks in WORLDS),
        *(with_loss(f"draws in evaluation, {ranks}", "Masked", world=world) for world, ranks in WORLDS),
        with_loss("a VAE, accumulated", "Vae", accumulate=2),
        with_loss("a VAE, resumed", "Vae", first={"epochs": 1}),
        with_loss("two heads with two targets, resumed", "Heads", targets=["kinds", "amounts"], first={"epochs": 1}),
        with_loss("a classifier with a penalty, clipped and averaged", "Judge", targets="kinds", clip={"norm": 0.1}, ema={"decay": 0.9}),
        with_loss("two towers, bf16", "Towers", inputs=["x", "y"], precision="bf16"),
    ]  # fmt: skip


def check_gathered(folder):
    """Two ranks whose loss compares the samples of both train as one rank with twice the batch."""
    if ON_GPUS:
        return 0
    weights = {}
    for world, batch_size, gather in ((1, 16, False), (2, 8, True), (2, 8, False)):
        loss = {"name": "exported", "path": os.path.join(folder, "Towers.loss.pt2"), "gather": gather}
        experiment = {
            "model": {"name": "exported", "path": os.path.join(folder, "Towers.pt2")},
            "dataset": {"name": "npz", "path": os.path.join(folder, "data.npz"), "inputs": ["x", "y"]},
            "loss": loss, "batch_size": batch_size, "epochs": 2, "optimizer": {"name": "sgd", "lr": 0.1},
            "loader": {"shuffle": False},
        }  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="ddp-exp-gather-") as scratch:
            weights[world, gather] = run_program(experiment, world, scratch, "gloo").tensors
    one, gathered, apart = weights[1, False], weights[2, True], weights[2, False]
    close = all(np.allclose(one[name], gathered[name], rtol=0, atol=1e-6) for name in one)
    differs = any(not np.allclose(one[name], apart[name], rtol=0, atol=1e-4) for name in one)
    print(f"gathered over two ranks: {'as one rank' if close and differs else 'NOT as one rank'}")
    return 0 if close and differs else 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ddp-exp-losses-") as scratch:
        # In a process of its own: this one stays without threads, because ranks.py forks it.
        exports = [sys.executable, os.path.join(HERE, "exported_models.py"), scratch, *EXPORTS]
        if subprocess.run(exports, stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit("a model cannot be exported")
        write_data(scratch)
        status = check(cases(scratch))
        sys.exit(status or check_gathered(scratch))
