"""Data sets of images as usual in Python: torchvision's ImageFolder and v2 transforms on uint8 tensors."""

import gzip
import io
import os
import struct
import tarfile

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2


def compose(transforms):
    """A list of an experiment file as v2's Compose, with ToDtype where floats begin."""
    steps = []
    to_float = v2.ToDtype(torch.float32, scale=True)
    for options in transforms:
        arguments = dict(options)
        name = arguments.pop("type")
        if name in ("Normalize", "RandomErasing") and to_float not in steps:
            steps.append(to_float)
        steps.append(getattr(v2, name)(**arguments))
    return v2.Compose(steps if to_float in steps else [*steps, to_float])


class Pixels(Dataset):
    """Images as uint8 [n, c, h, w], and a class for each."""

    def __init__(self, pixels, classes, transforms):
        self.pixels, self.classes = torch.as_tensor(pixels), torch.as_tensor(classes, dtype=torch.int64)
        self.transform = compose(transforms)

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, index):
        return self.transform(self.pixels[index]), self.classes[index]


def image_folder(path, transforms=()):
    return ImageFolder(path, v2.Compose([v2.PILToTensor(), compose(transforms)]))


def read_idx(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    shape = struct.unpack(f">{data[3]}I", data[4 : 4 + 4 * data[3]])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape).copy()


def idx(images, labels, transforms=()):
    return Pixels(read_idx(images)[:, None], read_idx(labels), transforms)


def cifar10(path, transforms=(), train=True):
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] if train else ["test_batch.bin"]
    rows = np.concatenate([np.fromfile(os.path.join(path, name), np.uint8).reshape(-1, 3073) for name in names])
    return Pixels(rows[:, 1:].reshape(-1, 3, 32, 32).copy(), rows[:, 0].copy(), transforms)


def tar(path, transforms=()):
    """The samples of a WebDataset: NAME.jpg or NAME.png, and NAME.cls."""
    images, classes = {}, {}
    with tarfile.open(path) as archive:
        for member in archive:
            name, ending = member.name.split(".", 1)
            data = archive.extractfile(member).read()
            if ending == "cls":
                classes[name] = int(data)
            else:
                images[name] = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).transpose(2, 0, 1).copy()
    return Files([torch.from_numpy(image) for image in images.values()], [classes[name] for name in images], transforms)


class Files(Dataset):
    """Images of different sizes."""

    def __init__(self, images, classes, transforms):
        self.images, self.classes, self.transform = images, classes, compose(transforms)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.transform(self.images[index]), self.classes[index]
