"""Writes images for the benches, cut from the two photographs in scikit-learn's wheel.

image_files.py photos FOLDER COUNT   JPEG files of 500x400, quality 85, in one folder per class
image_files.py icons FOLDER COUNT    PNG files of 32x32, in one folder per class
image_files.py cifar FOLDER COUNT    the binary version of CIFAR-10: data_batch_1.bin … data_batch_5.bin, COUNT images in all
"""

import pathlib
import random
import sys

import sklearn.datasets
from PIL import Image

CLASSES = 10


def parts(size, count):
    """Random parts of the photographs, resized to (width, height)."""
    photos = [Image.fromarray(pixels) for pixels in sklearn.datasets.load_sample_images().images]
    draws = random.Random(0)
    for _ in range(count):
        photo = draws.choice(photos)
        width = draws.uniform(0.3, 1) * photo.width
        height = min(width * size[1] / size[0], photo.height)
        left, top = draws.uniform(0, photo.width - width), draws.uniform(0, photo.height - height)
        yield photo.resize(size, Image.Resampling.BICUBIC, (left, top, left + width, top + height))


def write_folder(folder, kind, size, count, **how):
    for label in range(CLASSES):
        (folder / f"class_{label}").mkdir(parents=True)
    for number, image in enumerate(parts(size, count)):
        image.save(folder / f"class_{number % CLASSES}" / f"{number:06}.{kind}", **how)


def write_cifar(folder, count):
    folder.mkdir(parents=True)
    # The same thousand images repeat: only the number of images matters.
    rows = [bytes([number % CLASSES]) + b"".join(plane.tobytes() for plane in image.split())
            for number, image in enumerate(parts((32, 32), min(count, 1000)))]  # fmt: skip
    for batch in range(5):
        (folder / f"data_batch_{batch + 1}.bin").write_bytes(b"".join(rows[i % len(rows)] for i in range(count // 5)))
    (folder / "batches.meta.txt").write_text("".join(f"class_{label}\n" for label in range(CLASSES)))


def main(kind, folder, count):
    folder, count = pathlib.Path(folder), int(count)
    if kind == "photos":
        write_folder(folder, "jpg", (500, 400), count, quality=85)
    elif kind == "icons":
        write_folder(folder, "png", (32, 32), count)
    else:
        write_cifar(folder, count)


if __name__ == "__main__":
    main(*sys.argv[1:])
