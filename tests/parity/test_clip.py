"""Clipped gradients: the bits of clip_grad_norm_ and clip_grad_value_, and the norm in each step's event."""

import sys

from parity import case, check

ADAM = {"name": "adamw", "lr": 0.01}
ODD = {"name": "mlp", "in_features": 20, "hidden": [13, 37], "out_features": 4, "dropout": 0.1}  # tails of all lengths
WIDE = {"name": "mlp", "in_features": 20, "hidden": [500, 520], "out_features": 4}  # several buckets

CASES = [
    case("a norm that clips every step, one rank", world=1, clip={"norm": 0.05}),
    case("a norm that clips every step, two ranks", clip={"norm": 0.05}),
    case("a norm that clips some steps, odd sizes", model=ODD, optimizer=ADAM, clip={"norm": 0.4}, epochs=4),
    case("a norm that is never reached", clip={"norm": 1000}),
    case("a norm, accumulated", clip={"norm": 0.1}, accumulate=3),
    case("a norm, several buckets", model=WIDE, clip={"norm": 0.1}),
    case("a norm, a frozen layer", model=ODD, freeze=["0.*"], clip={"norm": 0.1}),
    case("a norm, three ranks, resumed", world=3, clip={"norm": 0.1}, first={"epochs": 1}),
    case("a norm, a process alone", world=1, parallel="single", clip={"norm": 0.1}),
    case("values, one rank", world=1, clip={"value": 0.01}),
    case("values, two ranks", model=ODD, clip={"value": 0.01}, optimizer=ADAM),
]

sys.exit(check(CASES))
