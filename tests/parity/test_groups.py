"""[[groups]] and layer_decay against torch.optim's param_groups, bit for bit."""

import sys

from parity import case, check

MLP = {"name": "mlp", "in_features": 20, "hidden": [32, 24], "out_features": 4, "dropout": 0.2}
NO_DECAY = {"match": "ndim<2", "weight_decay": 0.0}
SLOW = {"match": ["0.*"], "lr_scale": 0.1}


def groups(title, optimizer, *tables, **more):
    return case(title, model=MLP, optimizer=optimizer, groups=list(tables), **more)


def layers(title, name, *names, decay=0.65, tables=(), **more):
    optimizer = {"name": name, "lr": 0.01, "layer_decay": decay, "layers": list(names)}
    return groups(title, optimizer, *tables, **more)


CASES = [
    groups("adamw without decay of biases", {"name": "adamw", "lr": 0.01}, NO_DECAY),
    groups("adamw in a loop", {"name": "adamw", "lr": 0.01, "fused": False}, NO_DECAY, world=1),
    groups("a slow first layer, cosine", {"name": "sgd", "lr": 0.05, "momentum": 0.9}, SLOW,
           scheduler={"name": "cosine", "warmup_steps": 3}),
    groups("the first group that matches", {"name": "adam", "lr": 0.01}, {"match": "*.bias", "betas": [0.8, 0.9]},
           {"match": ["0.*", "ndim>=2"], "weight_decay": 0.1, "lr_scale": 2.0}),
    groups("momentum in one group alone", {"name": "sgd", "lr": 0.05}, {"match": "3.*", "momentum": 0.9}),
    groups("frozen parameters in a group", {"name": "adamw", "lr": 0.01}, NO_DECAY, SLOW, freeze=["0.weight"]),
    groups("one group fused, one not", {"name": "sgd", "lr": 0.05, "momentum": 0.9}, {"match": "*.bias", "fused": False}),
    groups("rmsprop", {"name": "rmsprop"}, {"match": "*.bias", "alpha": 0.9, "momentum": 0.5}),
    groups("adagrad", {"name": "adagrad"}, {"match": "*.bias", "lr_decay": 0.1, "weight_decay": 0.01}, SLOW),
    groups("lion", {"name": "lion"}, NO_DECAY, {"match": "6.*", "weight_decay": 0.3}),
    groups("accumulated", {"name": "adamw", "lr": 0.01}, NO_DECAY, SLOW, accumulate=3),
    groups("resumed", {"name": "adamw", "lr": 0.01}, NO_DECAY, SLOW, first={"epochs": 1}),
    layers("layers by numbers, cosine", "adamw", "*", scheduler={"name": "cosine", "warmup_steps": 3}),
    layers("layers in groups", "adamw", "*", tables=[NO_DECAY, SLOW], decay=0.75),
    layers("layers, one of them frozen, resumed", "adam", "6", "3|0.bias", "0", freeze=["0.bias"], first={"epochs": 1}),
    layers("layers, parameters that match none", "lion", "3", "6.bias", world=1),
    layers("layers of the same rate", "rmsprop", "*", decay=1.0),
]  # fmt: skip

sys.exit(check(CASES))
