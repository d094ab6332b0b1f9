"""Arrays in files: the same parameters as PyTorch's Python with numpy.load, and the same results for each kind of
file."""

import os
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy starts no thread in the process that ranks.py forks

import numpy as np  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

from parity import case, check  # noqa: E402

ROWS, FEATURES, CLASSES = 333, 20, 4
IMAGES = {
    "name": "sequential",
    "layers": [
        {"type": "Conv2d", "in_channels": 3, "out_channels": 4, "kernel_size": 3},
        {"type": "ReLU"},
        {"type": "Flatten"},
        {"type": "Linear", "in_features": 144, "out_features": CLASSES},
    ],
}


def write_arrays(folder):
    """Returns a function that makes a file's name its path in `folder`, which has the arrays now."""
    draw = np.random.default_rng(1)
    x = draw.standard_normal((ROWS, FEATURES))
    y = draw.integers(0, CLASSES, ROWS)
    images = draw.integers(0, 256, (ROWS, 3, 8, 8), dtype=np.uint8)
    arrays = {
        "x": x.astype(np.float32), "y": y, "double": x, "half": x.astype(np.float16), "images": images,
        "fortran": np.asfortranarray(x), "big": x.astype(">f4"), "y_big": y.astype(">u2"), "y_small": y.astype(np.int8),
        "numbers": np.sin(x[:, :CLASSES]), "fortran_images": np.asfortranarray(images),
    }  # fmt: skip

    def path(name):
        return os.path.join(folder, name)

    for name, array in arrays.items():
        np.save(path(f"{name}.npy"), array)
    np.savez(path("stored.npz"), **arrays)
    np.savez_compressed(path("packed.npz"), **arrays)
    save_file({"x": arrays["x"], "y": y, "images": images}, path("x.safetensors"))
    return path


def cases(path):
    def files(title, x="x", y="y", loss="cross_entropy", options=None, **experiment):
        dataset = {"name": "npy", "inputs": path(f"{x}.npy"), "targets": path(f"{y}.npy")} | (options or {})
        return case(title, dataset=dataset, loss=loss, **experiment)

    def named(title, kind, file, x="x", y="y", options=None, **experiment):
        dataset = {"name": kind, "path": path(file), "inputs": x, "targets": y} | (options or {})
        return case(title, dataset=dataset, loss="cross_entropy", **experiment)

    scale = {"scale": 1 / 255}
    return [
        files("npy"),
        files("npy, validation, three ranks", world=3, validation={"split": 0.2}),
        files("npy, doubles", x="double"),
        files("npy, halves", x="half"),
        files("npy, Fortran order", x="fortran", y="y_small"),
        files("npy, big-endian", x="big", y="y_big"),
        files("npy, numbers as targets", y="numbers", loss="mse"),
        files("npy, scaled images", x="images", model=IMAGES, options=scale),
        files("npy, scaled images in Fortran order", x="fortran_images", model=IMAGES, options=scale),
        named("npz, stored", "npz", "stored.npz"),
        named("npz, packed", "npz", "packed.npz"),
        named("npz, packed, big-endian and Fortran order", "npz", "packed.npz", x="fortran", y="y_big"),
        named("npz, packed, scaled images", "npz", "packed.npz", x="images", model=IMAGES, options=scale),
        named("safetensors", "safetensors", "x.safetensors"),
        named("safetensors, scaled images", "safetensors", "x.safetensors", x="images", model=IMAGES, options=scale),
    ]


with tempfile.TemporaryDirectory(prefix="ddp-exp-arrays-") as scratch:
    status = check(cases(write_arrays(scratch)))
sys.exit(status)
