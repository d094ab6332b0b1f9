"""predict on arrays and tables: the bits of PyTorch's forward with the same weights, in .npy, CSV and Parquet."""

import csv
import os
import sys
import tempfile

import numpy as np
import pyarrow.parquet
import torch
from safetensors.numpy import save_file
from safetensors.torch import load_file

from components import mlp, sequential
from program import call, complete, to_toml

ROWS, BATCH, CLASSES = 333, 8, 4
IMAGES = [
    {"type": "Conv2d", "in_channels": 3, "out_channels": 4, "kernel_size": 3},
    {"type": "ReLU"},
    {"type": "Flatten"},
    {"type": "Linear", "in_features": 144, "out_features": CLASSES},
]
MLP = {"in_features": 20, "hidden": [16], "out_features": CLASSES}


def write_arrays(folder):
    draw = np.random.default_rng(1)
    x = draw.standard_normal((ROWS, 20))
    arrays = {
        "x": x.astype(np.float32), "double": x, "y": draw.integers(0, CLASSES, ROWS),
        "images": draw.integers(0, 256, (ROWS, 3, 8, 8), dtype=np.uint8), "numbers": np.sin(x[:, :CLASSES]),
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(os.path.join(folder, f"{name}.npy"), array)
    np.savez_compressed(os.path.join(folder, "train.npz"), **arrays)
    np.savez_compressed(os.path.join(folder, "bare.npz"), images=arrays["images"])
    save_file({"x": arrays["x"]}, os.path.join(folder, "bare.safetensors"))
    return arrays


def train(folder, name, experiment):
    file = os.path.join(folder, f"{name}.toml")
    defaults = {"optimizer": {"name": "sgd", "lr": 0.05}, "batch_size": BATCH, "epochs": 1}
    with open(file, "w") as out:
        out.write(to_toml(complete(defaults | experiment, 2, "shm")))
    call("run", file, "--results", os.path.join(folder, "results"), "--run-id", "1")
    return load_file(os.path.join(folder, "results", name, "1", "checkpoints", "latest", "model.safetensors"))


def expected(model, weights, inputs, last):
    model.load_state_dict(weights)
    model.eval()
    with torch.no_grad():
        parts = [last(model(inputs[first : first + BATCH].clone())) for first in range(0, len(inputs), BATCH)]
    return torch.cat(parts).numpy()


def check(folder, name, files, values, names):
    """Compares predict's output for these files with `values`, on 1 and 3 ranks."""
    for ranks in (1, 3):
        pool = f"device_pool={['cpu'] * ranks}".replace("'", '"')
        for form in ("npy", "csv", "parquet"):
            call("predict", f"{name}/1", *files, "--results", os.path.join(folder, "results"), "--set", pool,
                 "-o", os.path.join(folder, f"out.{form}"))  # fmt: skip
        got = np.load(os.path.join(folder, "out.npy"))
        assert got.dtype == np.float32 and got.shape == values.shape, (name, got.dtype, got.shape)
        assert got.tobytes() == values.tobytes(), (name, ranks, np.abs(got - values).max())
        with open(os.path.join(folder, "out.csv"), newline="") as file:
            head, *rows = csv.reader(file)
        table = pyarrow.parquet.read_table(os.path.join(folder, "out.parquet"))
        assert head == table.column_names == names, (head, table.column_names)
        first = len(names) - values.shape[1]
        texts = np.array([row[first:] for row in rows], dtype=np.float32)
        assert texts.tobytes() == values.tobytes(), (name, ranks)
        columns = np.stack([table.column(i).to_numpy() for i in range(first, len(names))], axis=1)
        assert columns.dtype == np.float32 and columns.tobytes() == values.tobytes(), (name, columns.dtype)
        if first:
            best = values.argmax(axis=1)
            assert [int(row[0]) for row in rows] == best.tolist()
            assert table.column(0).to_numpy().dtype == np.int64 and table.column(0).to_pylist() == best.tolist()
    print(f"ok   predict, {name}")


def main(folder):
    arrays = write_arrays(folder)
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    classes = ["prediction", *(f"probability_{i}" for i in range(CLASSES))]
    softmax = lambda output: torch.softmax(output, 1)  # noqa: E731
    floats = torch.from_numpy(arrays["x"])

    npy = {"name": "npy", "inputs": path("double.npy"), "targets": path("y.npy")}
    weights = train(folder, "npy", {"model": {"name": "mlp"} | MLP, "dataset": npy, "loss": "cross_entropy"})
    values = expected(mlp(**MLP), weights, floats, softmax)
    check(folder, "npy", [path("x.npy")], values, classes)
    check(folder, "npy", [path("double.npy")], values, classes)

    named = {"name": "npz", "path": path("train.npz"), "inputs": "images", "targets": "y", "scale": 1 / 255}
    model = {"name": "sequential", "layers": IMAGES}
    weights = train(folder, "npz", {"model": model, "dataset": named, "loss": "cross_entropy"})
    images = torch.from_numpy(arrays["images"].astype(np.float32)) * (1 / 255)
    check(folder, "npz", [path("bare.npz")], expected(sequential(IMAGES), weights, images, softmax), classes)

    save_file({"x": arrays["x"], "numbers": arrays["numbers"]}, path("train.safetensors"))
    named = {"name": "safetensors", "path": path("train.safetensors"), "inputs": "x", "targets": "numbers"}
    weights = train(folder, "numbers", {"model": {"name": "mlp"} | MLP, "dataset": named, "loss": "mse"})
    values = expected(mlp(**MLP), weights, floats, lambda output: output)
    names = [f"prediction_numbers_{i}" for i in range(CLASSES)]
    check(folder, "numbers", [path("bare.safetensors")], values, names)


torch.set_num_threads(1)
with tempfile.TemporaryDirectory(prefix="ddp-exp-predict-") as scratch:
    main(scratch)
sys.exit(0)
