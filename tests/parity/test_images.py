"""ResNets and the vision transformer: the same first weights, parameters, buffers and losses as torchvision's models
under Python's DDP."""

import os
import subprocess
import sys
import tempfile

from parity import case, check  # before numpy: it keeps numpy from starting threads

import numpy as np
import torchvision  # noqa: F401 (otherwise each forked rank would import it: 2 s)

ROWS = 20  # 4 of them are held out, and the last batch is short
CLASSES = 5


def write_images(folder):
    draw = np.random.default_rng(2)
    np.save(os.path.join(folder, "classes.npy"), draw.integers(0, CLASSES, ROWS) | (np.arange(ROWS) == 0) * (CLASSES - 1))
    for size in (16, 32, 40):
        np.save(os.path.join(folder, f"{size}.npy"), draw.standard_normal((ROWS, 3, size, size), dtype=np.float32))


def cases(folder):
    def images(title, name, size, *, model=None, **experiment):
        dataset = {
            "name": "npy",
            "inputs": os.path.join(folder, f"{size}.npy"),
            "targets": os.path.join(folder, "classes.npy"),
        }
        options = {"dataset": dataset, "loss": "cross_entropy", "batch_size": 3, "validation": {"split": 0.2}} | experiment
        return case(title, model={"name": name, "num_classes": CLASSES} | (model or {}), **options)

    def vit(title, *, size=32, model=None, **experiment):
        sizes = {"image_size": size, "patch_size": 8, "num_layers": 2, "num_heads": 4, "hidden_dim": 32, "mlp_dim": 48}
        options = {"optimizer": {"name": "adamw", "lr": 0.01}} | experiment
        return images(title, "vit", size, model=sizes | (model or {}), **options)

    other_classes = {
        "path": os.path.join(folder, "wrapped.safetensors"),
        "skip": ["fc.*"],
        "rename": {"module.": ""},
    }
    small = {"small_images": True}
    short = {"steps": 2, "validation": {}}
    momentum = {"name": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4}
    return [
        images("resnet18, one rank", "resnet18", 40, world=1, epochs=1, optimizer=momentum),
        images("resnet18, two ranks", "resnet18", 40, optimizer=momentum),
        images("resnet18 for small images, one rank", "resnet18", 16, world=1, epochs=1, model=small),
        images("resnet18 for small images, two ranks", "resnet18", 16, epochs=1, model=small),
        images("resnet18 for small images, resumed", "resnet18", 16, model=small, first={"epochs": 1}),
        images("resnet18 from the weights of other classes", "resnet18", 16, model=small, init_from=other_classes),
        images("resnet18 from such weights, frozen but its last stage", "resnet18", 16, model=small,
               init_from=other_classes, freeze=["conv1.*", "bn1.*", "layer[123].*"], optimizer=momentum),
        images("resnet34, two ranks", "resnet34", 32, **short),
        images("resnet50, one rank", "resnet50", 40, world=1, epochs=1, optimizer=momentum),
        images("resnet50, two ranks", "resnet50", 32, **short),
        images("resnet101, one rank", "resnet101", 32, world=1, **short),
        images("resnet152 for small images, one rank", "resnet152", 16, world=1, model=small, **short),
        vit("vit, one rank", world=1),
        vit("vit, two ranks"),
        vit("vit, an odd number of heads, not fused by Python in evaluation", model={"num_heads": 1}),
        vit("vit, dropout", model={"dropout": 0.2}),
        vit("vit, dropout, accumulated, resumed", model={"dropout": 0.2}, accumulate=2, first={"epochs": 1}),
        vit("vit, patches that leave no margin", size=16, model={"patch_size": 4, "hidden_dim": 24, "num_heads": 2}),
    ]  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ddp-exp-images-") as scratch:
        write_images(scratch)
        images = os.path.join(os.path.dirname(os.path.abspath(__file__)), "images.py")
        subprocess.run([sys.executable, images, scratch], check=True)
        sys.exit(check(cases(scratch)))
