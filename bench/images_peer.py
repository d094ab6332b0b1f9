"""The peers of `bench_images loader`: torch's DataLoader with torchvision's v2 transforms. The output has the same
format.

images_peer.py pil|io|icons|cifar FOLDER BATCH WORKERS EPOCHS

pil: ImageFolder, decoded by Pillow; io: ImageFolder, decoded by torchvision.io.decode_jpeg
icons: ImageFolder of small images; cifar: images in memory, as in torchvision's CIFAR10
"""

import json
import pathlib
import sys
import time

import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import io
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TO_FLOAT = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
PHOTOS = [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()]
SMALL = [v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip()]


class Cifar(Dataset):
    """torchvision.datasets.CIFAR10, read from the binary files."""

    def __init__(self, folder, transform):
        rows = numpy.concatenate(
            [numpy.fromfile(file, numpy.uint8).reshape(-1, 1 + 3 * 32 * 32) for file in sorted(folder.glob("data_batch_*.bin"))]
        )
        self.classes = rows[:, 0].astype(numpy.int64).tolist()
        self.images = numpy.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.transform(Image.fromarray(self.images[i])), self.classes[i]


def decoded(file):
    return io.decode_jpeg(io.read_file(file), mode=io.ImageReadMode.RGB)


def dataset(kind, folder):
    if kind == "io":
        return ImageFolder(folder, v2.Compose(PHOTOS + TO_FLOAT), loader=decoded)
    if kind == "cifar":
        return Cifar(folder, v2.Compose(SMALL + [v2.ToImage()] + TO_FLOAT))
    return ImageFolder(folder, v2.Compose((PHOTOS if kind == "pil" else SMALL) + [v2.ToImage()] + TO_FLOAT))


def main(kind, folder, batch_size, workers, epochs):
    torch.set_num_threads(1)
    loader = DataLoader(dataset(kind, pathlib.Path(folder)), int(batch_size), shuffle=True, num_workers=int(workers),
                        persistent_workers=True)  # fmt: skip
    count, start = 0, 0.0
    for epoch in range(int(epochs) + 1):
        if epoch == 1:
            start = time.perf_counter()
        for images, _ in loader:
            count += len(images) if epoch > 0 else 0
    print(json.dumps({"rate": count / (time.perf_counter() - start), "shape": list(images.shape)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
