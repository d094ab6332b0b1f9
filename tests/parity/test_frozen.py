"""Frozen parameters: the same bits as Python's DDP and optimizer over the remaining parameters."""

import sys

from parity import case, check

DIGITS = {"name": "digits"}
IMAGE = {"type": "Unflatten", "dim": 1, "unflattened_size": [1, 8, 8]}
LAYERS = [
    IMAGE,
    {"type": "Conv2d", "in_channels": 1, "out_channels": 8, "kernel_size": 3, "padding": 1},
    {"type": "BatchNorm2d", "num_features": 8},
    {"type": "ReLU"},
    {"type": "Flatten"},
    {"type": "Linear", "in_features": 512, "out_features": 10},
]
MLP = {"name": "mlp", "in_features": 20, "hidden": [32, 24], "out_features": 4, "dropout": 0.2}
MOMENTUM = {"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}
ADAM = {"name": "adam", "lr": 0.01}
WIDE = {"name": "mlp", "in_features": 20, "hidden": [500, 520], "out_features": 4}  # several buckets


def on_digits(title, freeze, **experiment):
    options = {"dataset": DIGITS, "loss": "cross_entropy", "batch_size": 64, "epochs": 1, "validation": {"split": 0.2}}
    return case(title, model={"name": "sequential", "layers": LAYERS}, freeze=freeze, **(options | experiment))


CASES = [
    case("the first layer, one rank", world=1, model=MLP, freeze=["0.*"], optimizer=MOMENTUM),
    case("the first layer, two ranks", model=MLP, freeze=["0.*"], optimizer=MOMENTUM),
    case("the first layer, three ranks", world=3, model=MLP, freeze=["0.*"], optimizer=ADAM),
    case("the layer in the middle, with gradients through it", model=MLP, freeze=["3.*"], optimizer=ADAM),
    case("all but the last layer, resumed", model=MLP, freeze=["[03].*"], optimizer=ADAM, first={"epochs": 1}),
    case("every bias, accumulated", model=MLP, freeze=["*.bias"], accumulate=3),
    case("a layer of several buckets", model=WIDE, freeze=["2.*"]),
    on_digits("a convolution and its batch norm, whose statistics move, one rank", ["1.*", "2.*"], world=1),
    on_digits("a convolution and its batch norm, whose statistics move, two ranks", ["1.*", "2.*"], optimizer=MOMENTUM),
]

sys.exit(check(CASES))
