"""A run that ends and is resumed with more epochs or steps has the bits of a run that was never stopped."""

import sys

from parity import case, check, normed

HALF = {"epochs": 2}
# Small buckets: with three and more ranks their order decides the sums.
MLP = {"name": "mlp", "in_features": 20, "hidden": [300, 310], "out_features": 4, "dropout": 0.1}
NORMED = normed(20, 16, 4)
ADAMW = {"name": "adamw", "lr": 0.01}

CASES = [
    *(case(f"{world} ranks, small buckets", world=world, first=HALF, epochs=4, model=MLP, optimizer=ADAMW,
           distributed={"bucket_cap_mb": 0.1})
      for world in (1, 2, 3, 4)),
    *(case(f"{world} ranks, default buckets", world=world, first=HALF, epochs=4, model=MLP) for world in (1, 2, 3, 4)),
    *(case(f"batch norm, broadcast_buffers {on}", world=3, first=HALF, epochs=4, model=NORMED, batch_size=6,
           distributed={"broadcast_buffers": on})
      for on in (True, False)),
    *(case(f"{described}", first=HALF, epochs=4, model=MLP, optimizer=optimizer)
      for described, optimizer in {
          "sgd with momentum": {"name": "sgd", "lr": 0.05, "momentum": 0.9},
          "sgd with momentum in a loop": {"name": "sgd", "lr": 0.05, "momentum": 0.9, "dampening": 0.1, "fused": False},
          "adam in a loop": {"name": "adam", "lr": 0.01, "fused": False},
          "adam, amsgrad": {"name": "adam", "lr": 0.01, "amsgrad": True},
      }.items()),
    case("accumulate with a left-over", first=HALF, epochs=4, model=MLP, accumulate=4, world=3),
    case("step scheduler with warm-up", first=HALF, epochs=4, model=MLP,
         scheduler={"name": "step", "step_size": 5, "warmup_steps": 9}),
    case("inside an epoch", first={"steps": 8}, steps=20, model=MLP),
    case("inside an epoch, three ranks, batch norm", world=3, first={"steps": 5}, steps=17, model=NORMED, batch_size=6),
    case("inside an epoch, accumulate", first={"steps": 3}, steps=9, accumulate=2, model=MLP),
    case("random_batch", first={"steps": 5}, steps=12, model={"name": "toy"}, dataset={"name": "random_batch"}),
    case("static_graph", world=3, first=HALF, epochs=4, model=MLP,
         distributed={"static_graph": True, "bucket_cap_mb": 0.1}),
    case("find_unused_parameters", world=3, first=HALF, epochs=4, model=MLP,
         distributed={"find_unused_parameters": True, "bucket_cap_mb": 0.1}),
    case("gradient_as_bucket_view", world=3, first=HALF, epochs=4, model=MLP,
         distributed={"gradient_as_bucket_view": True, "bucket_cap_mb": 0.1}),
    case("validation", first=HALF, epochs=4, model=MLP, validation={"split": 0.2}, accumulate=2),
    case("a single process without DDP", world=1, parallel="single", first=HALF, epochs=4, model=MLP),
]  # fmt: skip

sys.exit(check(CASES))
