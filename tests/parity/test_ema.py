"""The average of the weights has AveragedModel's bits in the checkpoint and in the metrics of validation and test."""

import sys

from parity import case, check

ADAM = {"name": "adamw", "lr": 0.01}
ODD = {"name": "mlp", "in_features": 20, "hidden": [13, 37], "out_features": 4, "dropout": 0.1}
IMAGE = {"type": "Unflatten", "dim": 1, "unflattened_size": [1, 8, 8]}
LAYERS = [
    IMAGE,
    {"type": "Conv2d", "in_channels": 1, "out_channels": 8, "kernel_size": 3, "padding": 1},
    {"type": "BatchNorm2d", "num_features": 8},
    {"type": "ReLU"},
    {"type": "Flatten"},
    {"type": "Linear", "in_features": 512, "out_features": 10},
]
HELD_OUT = {"split": 0.2}


def on_digits(title, **experiment):
    options = {"dataset": {"name": "digits"}, "loss": "cross_entropy", "batch_size": 64, "validation": HELD_OUT}
    return case(title, model={"name": "sequential", "layers": LAYERS}, **(options | experiment))


CASES = [
    case("one rank", world=1, model=ODD, ema={"decay": 0.9}, validation=HELD_OUT),
    case("two ranks", model=ODD, ema={"decay": 0.9}, validation=HELD_OUT),
    case("three ranks, whose shares are of other lengths", world=3, model=ODD, ema={"decay": 0.9}, validation=HELD_OUT),
    case("the defaults", model=ODD, ema={}, validation=HELD_OUT),
    case("a decay below a half", model=ODD, ema={"decay": 0.3}, optimizer=ADAM),
    case("every third step, resumed", model=ODD, ema={"decay": 0.9, "every": 3}, validation=HELD_OUT, first={"epochs": 1}),
    case("a frozen layer is averaged too", model=ODD, freeze=["0.*"], ema={"decay": 0.9}),
    case("clipped and accumulated", model=ODD, ema={"decay": 0.9}, clip={"norm": 0.1}, accumulate=2),
    on_digits("batch norm, one rank", world=1, ema={"decay": 0.9}),
    on_digits("batch norm, two ranks", ema={"decay": 0.9}),
    on_digits("batch norm, two ranks, every fourth step", ema={"decay": 0.9, "every": 4}),
]  # fmt: skip

sys.exit(check(CASES))
