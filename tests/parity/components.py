"""The components that an experiment file can name, written as a PyTorch user writes them."""

import csv
import gzip
import importlib
import os

import numpy as np
import torch
from safetensors.numpy import load_file
from torch import nn
from torch.utils.data import Dataset

import exported_models
import images
from gpt import Gpt

ACTIVATIONS = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "sigmoid": nn.Sigmoid,
    "silu": nn.SiLU,
    "leaky_relu": nn.LeakyReLU,
}


class ToyModel(nn.Module):
    """The model of PyTorch's DDP tutorial."""

    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


class ToyMpModel(nn.Module):
    """The tutorial's model on two devices."""

    def __init__(self, dev0="cpu", dev1="cpu"):
        super().__init__()
        self.dev0 = dev0
        self.dev1 = dev1
        self.net1 = nn.Linear(10, 10).to(dev0)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5).to(dev1)

    def forward(self, x):
        x = x.to(self.dev0)
        x = self.relu(self.net1(x))
        x = x.to(self.dev1)
        return self.net2(x)


class HeadTail(nn.Module):
    """ToyModel of the tutorial on HPC, with its devices as arguments."""

    def __init__(self, first="cpu", last="cpu"):
        super().__init__()
        self.first, self.last = first, last
        self.head = nn.Linear(32, 32).to(first)
        self.tail = nn.Linear(32, 10).to(last)

    def forward(self, x):
        x = self.head(x).to(self.last)
        return self.tail(x).to(self.first)


def mlp(in_features, hidden, out_features, activation="relu", dropout=0):
    layers = []
    for width in hidden:
        layers += [nn.Linear(in_features, width), ACTIVATIONS[activation]()]
        if dropout > 0:
            layers.append(nn.Dropout(dropout))
        in_features = width
    return nn.Sequential(*layers, nn.Linear(in_features, out_features))


def sequential(layers):
    modules = []
    for layer in layers:
        arguments = {
            key: tuple(value) if isinstance(value, list) else value for key, value in layer.items() if key != "type"
        }
        modules.append(getattr(nn, layer["type"])(**arguments))
    return nn.Sequential(*modules)


def linear(in_features=20, out_features=1):
    return nn.Linear(in_features, out_features)


def exported(path, eval=None, predict=None, init="file"):
    torch.backends.mha.set_fastpath_enabled(False)  # evaluation calls the same operators as training
    if init == "seed":
        return exported_models.make(exported_models.name_of(path))
    return exported_models.load(path)


MODELS = {
    "toy": ToyModel,
    "toy_mp": ToyMpModel,
    "head_tail": HeadTail,
    "linear": linear,
    "mlp": mlp,
    "sequential": sequential,
    "gpt": Gpt,
    "exported": exported,
    **images.RESNETS,
    "vit": images.vit,
}


class RandomPairs(Dataset):
    """MyTrainDataset of PyTorch's DDP tutorial series, with its sizes as arguments."""

    def __init__(self, size=2048, features=20, targets=1):
        self.data = [(torch.rand(features), torch.rand(targets)) for _ in range(size)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]


class Counting(Dataset):
    """ToyData of the tutorial on HPC, with its sizes as arguments and with the `.float()` of its loop."""

    def __init__(self, size=1 << 20, features=32, classes=10):
        self.data = [[float(x)] * features for x in range(size)]
        self.y = [x % classes for x in range(size)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return torch.as_tensor(self.data[index], dtype=torch.float64).float(), self.y[index]


class Digits(Dataset):
    """scikit-learn's handwritten digits: 64 values 0..16 and a class per line."""

    def __init__(self):
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ["HOME"], ".cache")
        with gzip.open(os.path.join(cache, "ddp-exp", "data", "digits.csv.gz"), "rt") as file:
            rows = [[int(float(value)) for value in row] for row in csv.reader(file)]
        self.x = torch.tensor([row[:-1] for row in rows], dtype=torch.float32) / 16
        self.y = torch.tensor([row[-1] for row in rows])

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


class Arrays(Dataset):
    """Row i of each of NumPy's arrays, converted as usual; one target, and one input or a list of inputs."""

    def __init__(self, inputs, targets, scale=None):
        self.inputs = inputs if isinstance(inputs, list) else [inputs]
        self.y, self.scale = targets, scale
        assert all(len(x) == len(self.y) for x in self.inputs)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        inputs = [self.scaled(x[index]) for x in self.inputs]
        return inputs if len(inputs) > 1 else inputs[0], self.row(self.y[index])

    def scaled(self, x):
        return self.row(x) if self.scale is None else self.row(x).float() * self.scale

    @staticmethod
    def row(array):
        kind = np.float32 if np.issubdtype(array.dtype, np.floating) else np.int64
        return torch.as_tensor(np.array(array, dtype=kind))


def npy(inputs, targets, **options):
    return Arrays(np.load(inputs, mmap_mode="r"), np.load(targets, mmap_mode="r"), **options)


def npz(path, inputs, targets=(), weights=None, **options):
    with np.load(path) as file:
        if weights:
            targets = [targets, weights]
        chosen = [file[name] for name in inputs] if isinstance(inputs, list) else file[inputs]
        if isinstance(targets, str):
            return Arrays(chosen, file[targets], **options)
        return SeveralTargets(Arrays(chosen, file["x"], **options), [torch.from_numpy(file[name]) for name in targets])


def safetensors(path, inputs, targets, **options):
    tensors = load_file(path)
    return Arrays(tensors[inputs], tensors[targets], **options)


class SeveralTargets(Dataset):
    """The inputs of a dataset, and a list of targets."""

    def __init__(self, inputs, targets):
        self.inputs, self.targets = inputs, targets

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return self.inputs[index][0], [target[index] for target in self.targets]


class RandomBatch:
    """Not a Dataset: the tutorial's one step draws its inputs, then its labels, at their first use."""

    def __init__(self, inputs=10, targets=5):
        self.inputs, self.targets = inputs, targets

    def draw(self, batch_size):
        x = torch.randn(batch_size, self.inputs)
        return x, torch.randn(batch_size, self.targets)


def image_set(name):
    """A data set of images; its module takes seconds to import."""
    return lambda **options: getattr(importlib.import_module("image_sets"), name)(**options)


DATASETS = {
    "image_folder": image_set("image_folder"),
    "idx": image_set("idx"),
    "cifar10": image_set("cifar10"),
    "tar": image_set("tar"),
    "random_pairs": RandomPairs,
    "random_batch": RandomBatch,
    "counting": Counting,
    "digits": Digits,
    "npy": npy,
    "npz": npz,
    "safetensors": safetensors,
}


def named(table, section, **kinds):
    """The component of [section], built with the rest of the section as its arguments."""
    arguments = dict(section)
    return table[arguments.pop("name")](**kinds, **arguments)
