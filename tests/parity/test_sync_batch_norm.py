"""`[model] sync_batch_norm`: a step of several ranks is the step of one rank with the whole batch, for eight models."""

import os
import subprocess
import sys
import tempfile

from parity import normed  # before numpy: it keeps numpy from starting threads

import numpy as np

from device import ON_GPUS
from program import run_program

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 16  # of a step
SHAPES = {"rows": (20,), "pictures": (3, 32, 32), "series": (6, 10), "volumes": (2, 4, 4, 4)}
EXPORTED = {"residual": "pictures", "mobile": "pictures", "mixed": "pictures", "series": "series", "volume": "volumes"}
# Ranks, backend, and logical ranks.
WORLDS = [(2, "shm", None), (4, "gloo", None), (1, "shm", 4), (2, "gloo", 4)]


def cases(folder):
    """The model, its inputs, and how far results may lie apart."""
    rows = normed(20, 24, 4)
    rows["layers"] = [layer for layer in rows["layers"] if layer["type"] != "Dropout"]
    pictures = [
        {"type": "Conv2d", "in_channels": 3, "out_channels": 6, "kernel_size": 3, "stride": 2},
        {"type": "BatchNorm2d", "num_features": 6, "affine": False},
        {"type": "ReLU"},
        {"type": "AdaptiveAvgPool2d", "output_size": 2},
        {"type": "Flatten"},
        {"type": "Linear", "in_features": 24, "out_features": 4},
    ]

    def exported(name):
        return {"name": "exported", "path": os.path.join(folder, f"{name}.pt2")}

    return [
        ("rows", rows, "rows", 1e-6),
        ("pictures", {"name": "sequential", "layers": pictures}, "pictures", 1e-6),
        ("resnet18", {"name": "resnet18"}, "pictures", 1e-6),
        *((name, exported(name), inputs, 1e-12) for name, inputs in EXPORTED.items()),
    ]


def trained(folder, model, inputs, world, backend, logical=None, synced=True):
    parts = logical or world
    experiment = {
        "model": model | ({"sync_batch_norm": True} if synced else {}),
        "dataset": {"name": "npz", "path": os.path.join(folder, "data.npz"), "inputs": inputs, "targets": "kinds"},
        "loss": "cross_entropy", "batch_size": SAMPLES // parts, "steps": 1, "optimizer": {"name": "sgd", "lr": 0.02},
        "loader": {"shuffle": False},
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="ddp-exp-synced-") as scratch:
        return run_program(experiment | ({"logical_ranks": logical} if logical else {}), world, scratch, backend)


def apart(a, b):
    """The largest difference of the losses, the weights and the running statistics, of numbers above 1 relative to them."""
    pairs = [(a.losses[0], b.losses[0]), *((a.tensors[name], b.tensors[name]) for name in a.tensors)]
    return max(np.max(np.abs(x - y) / np.maximum(1, np.abs(y))) for x, y in pairs)


def main():
    if ON_GPUS:
        return 0
    with tempfile.TemporaryDirectory(prefix="ddp-exp-synced-") as folder:
        exports = [sys.executable, os.path.join(HERE, "exported_models.py"), folder, *EXPORTED]
        if subprocess.run(exports, stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit("a model cannot be exported")
        draw = np.random.default_rng(1)
        data = {name: draw.standard_normal((SAMPLES, *shape), dtype=np.float32) + 1 for name, shape in SHAPES.items()}
        np.savez(os.path.join(folder, "data.npz"), kinds=draw.integers(0, 4, SAMPLES), **data)
        failed = 0
        for name, model, inputs, most in cases(folder):
            one = trained(folder, model, inputs, 1, "shm")
            found = [apart(trained(folder, model, inputs, *world), one) for world in WORLDS]
            unsynced = apart(trained(folder, model, inputs, 2, "shm", synced=False), one)
            failed += max(found) > most or unsynced < 100 * most
            text = ", ".join(f"{one:.1e}" for one in found)
            print(f"{name}: {text} apart, of {most:.0e}; not synchronised {unsynced:.1e}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
