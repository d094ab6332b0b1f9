"""Data sets of images give the bits of torchvision's on DataLoader. The same images from a folder, an archive, IDX and
CIFAR files give the same bits."""

import os
import struct
import sys
import tarfile
import tempfile
import traceback

from parity import case, check  # before numpy: it keeps numpy from starting threads
from program import run_program
from result import differences

import image_sets  # noqa: F401 (otherwise each forked rank would import it: 2 s)
import numpy as np
from PIL import Image

CLASSES = 4
IMAGES = 40
FLIPS = [{"type": "RandomCrop", "size": 32, "padding": 4}, {"type": "RandomHorizontalFlip"}]
NORMALIZE = {"type": "Normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


def write_idx(path, array):
    with open(path, "wb") as file:
        file.write(bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes())


def save_folder(folder, images, classes, ending):
    """Splits the images, which are sorted by class then, into files per class."""
    for number, (image, label) in enumerate(zip(images, classes)):
        os.makedirs(f"{folder}/{label}", exist_ok=True)
        Image.fromarray(image).save(f"{folder}/{label}/{number:04}.{ending}", **({"quality": 85} if ending == "jpg" else {}))


def save_tar(path, folder, classes):
    with tarfile.open(path, "w") as archive:
        for label in sorted(set(classes)):
            for name in sorted(os.listdir(f"{folder}/{label}")):
                archive.add(f"{folder}/{label}/{name}", f"shard/{name}")
                with open(f"{folder}/cls", "w") as file:
                    file.write(f"{label}\n")
                archive.add(f"{folder}/cls", f"shard/{name.split('.')[0]}.cls")
                os.remove(f"{folder}/cls")


def write_data(folder):
    draw = np.random.default_rng(5)
    classes = np.sort(draw.integers(0, CLASSES, IMAGES)).astype(np.uint8)
    classes[-1] = CLASSES - 1
    color = draw.integers(0, 256, (IMAGES, 32, 32, 3), dtype=np.uint8)
    gray = draw.integers(0, 256, (IMAGES, 28, 28), dtype=np.uint8)
    photos = [
        np.asarray(Image.fromarray(draw.integers(0, 256, (6, 8, 3), dtype=np.uint8)).resize((w, h), Image.Resampling.BICUBIC))
        for w, h in draw.integers(30, 90, (IMAGES, 2))
    ]
    save_folder(f"{folder}/png", color, classes, "png")
    save_folder(f"{folder}/jpg", photos, classes, "jpg")
    save_tar(f"{folder}/png.tar", f"{folder}/png", classes)
    save_tar(f"{folder}/jpg.tar", f"{folder}/jpg", classes)
    write_idx(f"{folder}/images.idx", gray)
    write_idx(f"{folder}/labels.idx", classes)
    os.makedirs(f"{folder}/cifar")
    rows = np.concatenate([classes[:, None], color.transpose(0, 3, 1, 2).reshape(IMAGES, -1)], axis=1)
    for number, part in enumerate(np.array_split(rows, 5), start=1):
        part.tofile(f"{folder}/cifar/data_batch_{number}.bin")


def linear(features, classes):
    return {"name": "sequential", "layers": [
        {"type": "Flatten"}, {"type": "Linear", "in_features": features, "out_features": classes}]}  # fmt: skip


def common(features, classes=CLASSES):
    return {"loss": "cross_entropy", "batch_size": 3, "validation": {"split": 0.2}, "model": linear(features, classes),
            "optimizer": {"name": "sgd", "lr": 0.01}}  # fmt: skip


def cases(folder):
    jpg = {"name": "image_folder", "path": f"{folder}/jpg"}
    squares = [{"type": "Resize", "size": 24}, {"type": "CenterCrop", "size": 20}, NORMALIZE]
    photos = common(3 * 20 * 20)
    return [
        case("a folder of JPEGs, resized and cropped, one rank", world=1, dataset=jpg | {"transforms": squares}, **photos),
        case("a folder of JPEGs, two ranks", dataset=jpg | {"transforms": squares}, **photos),
        case("a folder of JPEGs, three ranks, four workers", world=3, dataset=jpg | {"transforms": squares},
             loader={"workers": 4}, **photos),
        case("a folder of JPEGs, no workers, resumed", dataset=jpg | {"transforms": squares}, loader={"workers": 0},
             first={"epochs": 1}, **photos),
        case("an archive of JPEGs", dataset={"name": "tar", "path": f"{folder}/jpg.tar", "transforms": squares}, **photos),
        case("PNGs of one size without transforms", dataset={"name": "image_folder", "path": f"{folder}/png"},
             **common(3 * 32 * 32)),
        case("gray and padded", world=1, dataset={"name": "image_folder", "path": f"{folder}/png", "transforms": [
             {"type": "Pad", "padding": 2, "padding_mode": "reflect"}, {"type": "Grayscale"}]}, **common(36 * 36)),
        case("IDX files", dataset={"name": "idx", "images": f"{folder}/images.idx", "labels": f"{folder}/labels.idx",
             "transforms": [{"type": "Normalize", "mean": [0.1307], "std": [0.3081]}]}, **common(28 * 28)),
        case("CIFAR files", dataset={"name": "cifar10", "path": f"{folder}/cifar", "transforms": [NORMALIZE]},
             **common(3 * 32 * 32, 10)),
    ]  # fmt: skip


def check_formats(folder):
    """Trains on the same images, augmented, from each kind of file; returns the number of files that differ."""
    results = {}
    for name, dataset in {
        "folder": {"name": "image_folder", "path": f"{folder}/png"},
        "tar": {"name": "tar", "path": f"{folder}/png.tar"},
        "cifar10": {"name": "cifar10", "path": f"{folder}/cifar"},
    }.items():
        os.makedirs(f"{folder}/{name}-run")
        one = common(3 * 32 * 32, 10) | {"dataset": dataset | {"transforms": [*FLIPS, NORMALIZE]}, "epochs": 2}
        results[name] = run_program(one, 2, f"{folder}/{name}-run", "gloo")
    failed = 0
    for name in ("tar", "cifar10"):
        found = list(differences(results[name], results["folder"]))
        failed += bool(found)
        print(f"{'DIFFERS' if found else 'same':8}the images of a folder, from {name}", *found, sep="\n        ")
    return failed


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ddp-exp-image-sets-") as scratch:
        write_data(scratch)
        status = check(cases(scratch))
        try:
            failed = 0 if sys.argv[1:] else check_formats(scratch)
        except Exception:
            failed = 1
            traceback.print_exc()
        sys.exit(1 if status or failed else 0)
