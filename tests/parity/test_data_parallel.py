"""One process that splits each batch over several devices like torch.nn.DataParallel."""

import sys

from parity import case, check, normed

MLP = {"name": "mlp", "in_features": 20, "hidden": [64, 32], "out_features": 4}
DROPOUT = MLP | {"dropout": 0.3}
NORMED = normed(20, 16, 4)
DIGITS = {
    "dataset": {"name": "digits"},
    "loss": "cross_entropy",
    "batch_size": 64,
    "epochs": 1,
    "model": {
        "name": "sequential",
        "layers": [
            {"type": "Unflatten", "dim": 1, "unflattened_size": [1, 8, 8]},
            {"type": "Conv2d", "in_channels": 1, "out_channels": 8, "kernel_size": 3, "padding": 1},
            {"type": "BatchNorm2d", "num_features": 8},
            {"type": "ReLU"},
            {"type": "BatchNorm2d", "num_features": 8, "affine": False},
            {"type": "BatchNorm2d", "num_features": 8, "track_running_stats": False},
            {"type": "GroupNorm", "num_groups": 2, "num_channels": 8},
            {"type": "AdaptiveAvgPool2d", "output_size": [2, 2]},
            {"type": "Flatten"},
            {"type": "LayerNorm", "normalized_shape": 32},
            {"type": "LeakyReLU", "negative_slope": 0.2},
            {"type": "Linear", "in_features": 32, "out_features": 10},
        ],
    },
}


def split(title, devices=2, **experiment):
    return case(title, world=1, parallel="data_parallel", devices_per_rank=devices, **experiment)


CASES = [
    *(split(f"{devices} devices", devices, model=MLP) for devices in (1, 2, 3, 4)),
    *(split(f"{devices} devices, a short last batch", devices, model=MLP, batch_size=10,
            dataset={"name": "random_pairs", "size": 93, "features": 20, "targets": 4})
      for devices in (2, 3, 4)),
    split("more devices than samples in a batch", 4, model=MLP, batch_size=3),
    split("toy", model={"name": "toy"}, dataset={"name": "random_batch"}, steps=20, batch_size=20),
    split("linear", model={"name": "linear"}, dataset={"name": "random_pairs"}, batch_size=32),
    split("dropout, draws over several epochs", 3, model=DROPOUT, epochs=3),
    split("batch norm: the first device's statistics stay", 2, model=NORMED, epochs=3),
    split("batch norm, accumulate", 3, model=NORMED, batch_size=9, accumulate=2, epochs=3),
    split("digits, many kinds of layer", 2, **DIGITS),
    split("digits, three devices and validation", 3, **DIGITS, validation={"split": 0.2}),
    split("adamw", model=DROPOUT, optimizer={"name": "adamw", "lr": 0.01}),
    split("resumed", model=NORMED, first={"epochs": 2}, epochs=4, optimizer={"name": "adam", "lr": 0.01}),
    split("resumed inside an epoch", 3, model=NORMED, batch_size=9, first={"steps": 5}, steps=17),
]  # fmt: skip

sys.exit(check(CASES))
