"""The components that an experiment file can name, written as a PyTorch user writes them."""

import csv
import fnmatch
import gzip
import importlib
import math
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


def exported(path, eval=None):
    torch.backends.mha.set_fastpath_enabled(False)  # evaluation calls the same operators as training
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


def npz(path, inputs, targets, **options):
    with np.load(path) as file:
        chosen = [file[name] for name in inputs] if isinstance(inputs, list) else file[inputs]
        return Arrays(chosen, file[targets], **options)


def safetensors(path, inputs, targets, **options):
    tensors = load_file(path)
    return Arrays(tensors[inputs], tensors[targets], **options)


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


def cross_entropy(output, target, **options):
    """Cross-entropy; for a text as in nanoGPT, over every position of every sample."""
    if output.dim() == 3:
        output, target = output.view(-1, output.size(-1)), target.view(-1)
    return nn.functional.cross_entropy(output, target, **options)


def weighted_cross_entropy(output, target, **options):
    if "weight" in options:
        options["weight"] = torch.tensor(options["weight"])
    return cross_entropy(output, target, **options)


def bce_with_logits(output, target, pos_weight=None):
    if pos_weight is not None:
        pos_weight = torch.tensor(pos_weight)
    return nn.functional.binary_cross_entropy_with_logits(output, target, pos_weight=pos_weight)


def nll(output, target):
    if output.dim() == 3:
        output, target = output.view(-1, output.size(-1)), target.view(-1)
    return nn.functional.nll_loss(output, target)


LOSSES = {
    "mse": nn.functional.mse_loss,
    "l1": nn.functional.l1_loss,
    "smooth_l1": nn.functional.smooth_l1_loss,
    "huber": nn.functional.huber_loss,
    "cross_entropy": weighted_cross_entropy,
    "bce_with_logits": bce_with_logits,
    "nll": nll,
}


class Loss:
    """The loss of an experiment file: a name, or a table with its options."""

    def __init__(self, section):
        self.options = {"name": section} if isinstance(section, str) else dict(section)
        self.function = LOSSES[self.options.pop("name")]
        self.of_labels = self.function is bce_with_logits
        self.ignored = self.options.get("ignore_index", -100)
        self.divides = "ignore_index" in self.options  # divides by the counted targets of the whole step

    def __call__(self, output, target, **more):
        return self.function(output, target, **self.options, **more)

    def counted(self, target):
        """The sum of the weights of a batch's targets."""
        if self.function is not weighted_cross_entropy and self.function is not nll or target.is_floating_point():
            return float(target.numel())
        counted = target[target != self.ignored]
        if "weight" in self.options:
            return torch.tensor(self.options["weight"])[counted].sum(dtype=torch.float64).item()
        return float(counted.numel())

    def measure(self, output, target):
        """(loss summed over a batch, its divisor)"""
        counted = self.counted(target)
        if self.divides:
            return self(output, target, reduction="sum").item(), counted
        weight = len(target) * (counted / target.numel())
        return self(output, target).item() * weight, weight


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Chen and others 2023, "Symbolic Discovery of Optimization Algorithms"."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, **_):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                average, (beta1, beta2) = state["exp_avg"], group["betas"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                update = average.mul(beta1).add_(p.grad, alpha=1 - beta1)
                p.add_(torch.sign(update), alpha=-group["lr"])
                average.mul_(beta2).add_(p.grad, alpha=1 - beta2)


OPTIMIZERS = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "lion": Lion,
}


def named(table, section, **kinds):
    """The component of [section], built with the rest of the section as its arguments."""
    arguments = dict(section)
    return table[arguments.pop("name")](**kinds, **arguments)


def make_optimizer(section, parameters):
    options = {"name": "sgd", "fused": True} | section
    if options["name"] in ("sgd", "adam", "adamw"):
        options.setdefault("lr", 1e-3)
    if "betas" in options:
        options["betas"] = tuple(options["betas"])
    if options["name"] == "rmsprop":
        options.update(fused=False)  # torch has no kernel for it
    if not options["fused"]:
        options["foreach"] = False  # the plain loop over parameters
    if options["name"] == "rmsprop":
        del options["fused"]
    return named(OPTIMIZERS, options, params=parameters)


def in_groups(groups, named_parameters):
    """torch.optim's param_groups: a parameter belongs to the first group that matches; the last group has the rest."""
    lists = [dict(group, params=[]) for group in groups] + [{"params": []}]
    for name, parameter in named_parameters:
        patterns = [[g["match"]] if isinstance(g["match"], str) else g["match"] for g in groups]
        takes = [any(group_matches(p, name, parameter) for p in of_group) for of_group in patterns]
        lists[takes.index(True) if True in takes else -1]["params"].append(parameter)
    for group in lists:
        group.pop("match", None)
        if "betas" in group:
            group["betas"] = tuple(group["betas"])
    return [group for group in lists if group["params"]]


def group_matches(pattern, name, parameter):
    if pattern.startswith("ndim"):
        return eval(pattern, {"ndim": parameter.dim()})
    return fnmatch.fnmatchcase(name, pattern)


def learning_rate(section, lr, step, total):
    """The learning rate of optimizer step `step` (from 0) of `total`."""
    options = {"name": "constant", "warmup_steps": 0} | section
    warmup = options.get("warmup", options["warmup_steps"])
    if step < warmup:
        return lr * (step + 1) / warmup
    p = (step - warmup) / max(1, total - warmup)
    if options["name"] == "step":
        return lr * options.get("gamma", 0.1) ** ((step - warmup) // options["step_size"])
    if options["name"] == "cosine":
        low = options.get("min_lr", 0)
        return low + (lr - low) * (1 + math.cos(math.pi * p)) / 2
    if options["name"] == "linear":
        return lr * (1 + (options.get("end_factor", 0) - 1) * p)
    return lr
