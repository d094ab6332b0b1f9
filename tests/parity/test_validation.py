"""Held-out samples: their choice, that each counts once, and that measuring does not change training."""

import sys

from parity import case, check, normed

DIGITS = {
    "dataset": {"name": "digits"},
    "loss": "cross_entropy",
    "batch_size": 64,
    "model": {"name": "mlp", "in_features": 64, "hidden": [32], "out_features": 10, "dropout": 0.2},
    "optimizer": {"name": "adam", "lr": 0.01},
}
NORMED = normed(64, 32, 10)
SMALL = {"name": "random_pairs", "size": 53, "features": 20, "targets": 4}

CASES = [
    *(case(f"digits, {world} ranks", world=world, **DIGITS, validation={"split": 0.2}) for world in (1, 2, 3, 4)),
    case("another seed and a split that does not divide", **DIGITS, validation={"split": 0.137, "seed": 9}),
    case("every second epoch", **DIGITS | {"epochs": 4}, validation={"split": 0.3, "every": 2}),
    case("mse has a loss and no accuracy", dataset=SMALL, validation={"split": 0.25}),
    case("fewer held-out samples than ranks", world=4, dataset=SMALL, validation={"split": 0.04}),
    case("batch norm", world=2, **DIGITS | {"model": NORMED}, validation={"split": 0.2}),
    case("batch norm, three ranks, accumulate", world=3, accumulate=2, **DIGITS | {"model": NORMED},
         validation={"split": 0.2}),
    case("batch norm, ranks with buffers of their own", world=2, **DIGITS | {"model": NORMED}, validation={"split": 0.2},
         distributed={"broadcast_buffers": False}),
    case("without DDP", world=1, parallel="single", **DIGITS | {"model": NORMED}, validation={"split": 0.2}),
]  # fmt: skip

sys.exit(check(CASES))
