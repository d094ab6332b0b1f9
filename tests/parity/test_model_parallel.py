"""Models that are distributed over the devices of their rank, and the data of the tutorial on HPC."""

import sys

from parity import case, check

MP = {"model": {"name": "toy_mp"}, "dataset": {"name": "random_batch"}, "batch_size": 20}
HPC = {
    "model": {"name": "head_tail"},
    "dataset": {"name": "counting", "size": 5000},
    "loss": "cross_entropy",
    "optimizer": {"name": "adam", "lr": 1e-4},
    "batch_size": 256,
    "epochs": 2,
}
CLASSES = {"name": "mlp", "in_features": 7, "hidden": [16], "out_features": 3, "dropout": 0.1}

CASES = [
    case("toy_mp, one step as in the tutorial", **MP, devices_per_rank=2, steps=1,
         optimizer={"name": "sgd", "lr": 0.001}),
    *(case(f"toy_mp, {world} ranks of two devices", world=world, **MP, devices_per_rank=2, steps=25)
      for world in (1, 2, 3, 4)),
    case("toy_mp, ranks of one device", **MP, steps=25),
    case("toy_mp, accumulate", world=3, **MP, devices_per_rank=2, steps=9, accumulate=3),
    case("toy_mp, resumed", world=3, **MP, devices_per_rank=2, first={"steps": 5}, steps=12),
    case("toy_mp, without DDP", world=1, **MP, devices_per_rank=2, steps=25, parallel="single"),
    *(case(f"head_tail on counting, {world} ranks of two devices", world=world, **HPC, devices_per_rank=2)
      for world in (1, 2, 3, 4)),
    case("head_tail on counting, ranks of one device", **HPC),
    case("head_tail on counting, validation", **HPC, devices_per_rank=2, validation={"split": 0.1}),
    case("head_tail, resumed with adamw", **HPC | {"optimizer": {"name": "adamw", "lr": 0.01}}, devices_per_rank=2,
         first={"epochs": 1}),
    case("counting, all of it", **HPC | {"dataset": {"name": "counting"}, "batch_size": 1024, "epochs": 1},
         devices_per_rank=2),
    *(case(f"counting, {workers} loader workers", world=2, **HPC, devices_per_rank=2, loader={"workers": workers})
      for workers in (0, 1, 5)),
    case("counting, with sizes", model=CLASSES, loss="cross_entropy", batch_size=9,
         dataset={"name": "counting", "size": 100, "features": 7, "classes": 3}),
    case("counting, one feature", model={"name": "linear", "in_features": 1, "out_features": 4}, loss="cross_entropy",
         dataset={"name": "counting", "size": 33, "features": 1, "classes": 4}, optimizer={"name": "sgd", "lr": 1e-4}),
]  # fmt: skip

sys.exit(check(CASES))
