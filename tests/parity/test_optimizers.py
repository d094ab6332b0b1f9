"""Every optimizer, fused and as a plain loop over the parameters, and every scheduler."""

import sys

from parity import case, check

OPTIMIZERS = [
    {"name": "sgd", "lr": 0.1},
    {"name": "sgd", "lr": 0.05, "momentum": 0.9},
    {"name": "sgd", "lr": 0.05, "momentum": 0.9, "nesterov": True},
    {"name": "sgd", "lr": 0.05, "momentum": 0.9, "dampening": 0.3},
    {"name": "sgd", "lr": 0.05, "weight_decay": 0.01},
    {"name": "sgd", "lr": 0.05, "momentum": 0.8, "weight_decay": 0.01, "nesterov": True},
    {"name": "adam", "lr": 0.01},
    {"name": "adam", "lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-6},
    {"name": "adam", "lr": 0.01, "weight_decay": 0.1},
    {"name": "adam", "lr": 0.01, "amsgrad": True},
    {"name": "adamw", "lr": 0.01},
    {"name": "adamw", "lr": 0.01, "weight_decay": 0.2, "betas": [0.85, 0.9]},
    {"name": "adamw", "lr": 0.01, "amsgrad": True},
    {"name": "adagrad", "lr": 0.05},
    {"name": "adagrad", "lr": 0.05, "lr_decay": 0.1, "weight_decay": 0.01},
    {"name": "adagrad", "lr": 0.05, "initial_accumulator_value": 0.2, "eps": 1e-6},
]

# Torch has no fused kernel for these.
LOOPS = [
    {"name": "rmsprop"},
    {"name": "rmsprop", "lr": 0.005, "alpha": 0.9, "eps": 1e-5},
    {"name": "rmsprop", "lr": 0.005, "momentum": 0.9},
    {"name": "rmsprop", "lr": 0.005, "centered": True, "weight_decay": 0.1},
    {"name": "rmsprop", "lr": 0.005, "centered": True, "momentum": 0.8},
    {"name": "lion"},
    {"name": "lion", "lr": 0.001, "betas": [0.8, 0.95], "weight_decay": 0.1},
    {"name": "adafactor"},
    {"name": "adafactor", "lr": 0.05, "beta2_decay": -0.5, "d": 1.5, "eps": [1e-5, 1e-2], "weight_decay": 0.1},
    {"name": "nadam"},
    {"name": "nadam", "lr": 0.01, "betas": [0.8, 0.95], "momentum_decay": 0.1, "weight_decay": 0.1},
    {"name": "nadam", "lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True},
    {"name": "radam"},
    {"name": "radam", "lr": 0.01, "betas": [0.8, 0.95], "weight_decay": 0.1},
    {"name": "radam", "lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True},
    {"name": "lamb"},
    {"name": "lamb", "lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-5, "weight_decay": 0.1},
    {"name": "lars"},
    {"name": "lars", "lr": 0.5, "momentum": 0.8, "weight_decay": 0.01, "trust_coefficient": 0.01},
]
MATRICES = {"name": "sequential", "layers": [{"type": "Linear", "in_features": 20, "out_features": 16, "bias": False},
                                             {"type": "ReLU"},
                                             {"type": "Linear", "in_features": 16, "out_features": 4, "bias": False}]}  # fmt: skip

SCHEDULERS = [
    {"name": "constant", "warmup_steps": 5},
    {"name": "step", "step_size": 4},
    {"name": "step", "step_size": 3, "gamma": 0.7, "warmup_steps": 2},
    {"name": "cosine"},
    {"name": "cosine", "min_lr": 0.001, "warmup_steps": 3},
    {"name": "linear"},
    {"name": "linear", "end_factor": 0.2, "warmup_steps": 4},
]


def described(section):
    options = (f"{key}={value}" for key, value in section.items() if key not in ("name", "lr"))
    return " ".join([section["name"], *options])


CASES = [
    *(case(f"{described(o)} {'fused' if fused else 'loop'}", optimizer=o | {"fused": fused}, epochs=4)
      for o in OPTIMIZERS for fused in (True, False)),
    *(case(f"{described(o)}", optimizer=o, epochs=4, first={"epochs": 2}) for o in LOOPS),
    *(case(f"adagrad resumed, fused = {fused}", optimizer={"name": "adagrad", "fused": fused}, first={"epochs": 1})
      for fused in (True, False)),
    *(case(f"{described(o)}", optimizer=o, epochs=4, model=MATRICES, first={"epochs": 2})
      for o in ({"name": "muon"}, {"name": "muon", "lr": 0.02, "nesterov": False, "weight_decay": 0.0, "ns_steps": 3},
                {"name": "muon", "adjust_lr_fn": "match_rms_adamw"})),
    case("muon for matrices, adamw for the others", optimizer={"name": "adamw", "lr": 0.01}, epochs=3,
         groups=[{"match": ["ndim==2"], "optimizer": "muon", "lr": 0.02}], scheduler={"name": "cosine"}),
    case("nadam, 400 steps", optimizer={"name": "nadam"}, steps=400),
    case("radam, 400 steps", optimizer={"name": "radam", "lr": 0.01}, steps=400),
    case("adagrad, the defaults", optimizer={"name": "adagrad"}),
    case("the defaults", optimizer={"name": "sgd"}),
    case("adam, 400 steps in a loop", optimizer={"name": "adam", "lr": 0.01, "fused": False}, steps=400),
    case("adamw, 400 steps fused", optimizer={"name": "adamw", "lr": 0.01}, steps=400),
    # The weights of pixels that are always dark halve in every step.
    *(case(f"numbers below 1e-38 {'are 0' if flush else 'stay'}", flush_denormal=flush, steps=135, batch_size=32,
           model={"name": "linear", "in_features": 64, "out_features": 10}, dataset={"name": "digits"},
           loss="cross_entropy", optimizer={"name": "sgd", "lr": 0.1, "weight_decay": 5.0}) for flush in (True, False)),
    *(case(f"scheduler {described(s)}", scheduler=s, epochs=3) for s in SCHEDULERS),
    case("scheduler cosine with adamw", scheduler={"name": "cosine", "warmup_steps": 2}, optimizer={"name": "adamw"}),
    case("scheduler linear over steps", scheduler={"name": "linear"}, steps=15),
    case("scheduler cosine, accumulate", scheduler={"name": "cosine"}, accumulate=4, epochs=3),
]  # fmt: skip

sys.exit(check(CASES))
