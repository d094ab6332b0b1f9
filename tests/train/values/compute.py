"""The results of PyTorch's optimizers and losses. tests/parity/test_kept_values.py runs this file and says how."""

import torch
from kept_values import kept, kept_all, ramp
from recipe import LOSSES, make_optimizer

# Each of them fused and as a loop over parameters.
OPTIMIZERS = {
    "sgd": {"name": "sgd", "lr": 0.1},
    "sgd momentum": {"name": "sgd", "lr": 0.05, "momentum": 0.9},
    "sgd nesterov": {"name": "sgd", "lr": 0.05, "momentum": 0.9, "nesterov": True},
    "sgd dampening": {"name": "sgd", "lr": 0.05, "momentum": 0.9, "dampening": 0.3},
    "sgd weight_decay": {"name": "sgd", "lr": 0.05, "weight_decay": 0.01},
    "sgd momentum nesterov weight_decay": {
        "name": "sgd", "lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.01
    },
    "adam": {"name": "adam", "lr": 0.01},
    "adam betas eps": {"name": "adam", "lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-6},
    "adam weight_decay": {"name": "adam", "lr": 0.01, "weight_decay": 0.1},
    "adam amsgrad": {"name": "adam", "lr": 0.01, "amsgrad": True},
    "adamw": {"name": "adamw", "lr": 0.01},
    "adamw betas weight_decay": {"name": "adamw", "lr": 0.01, "betas": [0.85, 0.9], "weight_decay": 0.2},
    "adamw amsgrad": {"name": "adamw", "lr": 0.01, "amsgrad": True},
    "adagrad": {"name": "adagrad", "lr": 0.05},
    "adagrad lr_decay": {"name": "adagrad", "lr": 0.05, "lr_decay": 0.1, "eps": 1e-6},
    "adagrad weight_decay first value": {
        "name": "adagrad", "lr": 0.05, "weight_decay": 0.1, "initial_accumulator_value": 0.3
    },
}  # fmt: skip

# Torch has no fused kernel for these.
LOOPS = {
    "rmsprop": {"name": "rmsprop", "lr": 0.01},
    "rmsprop alpha eps": {"name": "rmsprop", "lr": 0.01, "alpha": 0.9, "eps": 1e-4},
    "rmsprop momentum": {"name": "rmsprop", "lr": 0.01, "momentum": 0.9},
    "rmsprop centered weight_decay": {"name": "rmsprop", "lr": 0.01, "centered": True, "weight_decay": 0.1},
    "rmsprop centered momentum": {"name": "rmsprop", "lr": 0.01, "centered": True, "momentum": 0.5},
    "lion": {"name": "lion", "lr": 0.01},
    "adafactor": {"name": "adafactor", "lr": 0.01},
    "adafactor d weight_decay": {"name": "adafactor", "lr": 0.1, "d": 1.5, "beta2_decay": -0.5, "weight_decay": 0.1},
    "nadam": {"name": "nadam", "lr": 0.01},
    "nadam momentum_decay": {"name": "nadam", "lr": 0.01, "betas": [0.8, 0.95], "momentum_decay": 0.1, "weight_decay": 0.1},
    "radam": {"name": "radam", "lr": 0.01, "betas": [0.8, 0.9]},
    "radam decoupled": {"name": "radam", "lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True},
    "lion betas weight_decay": {"name": "lion", "lr": 0.01, "betas": [0.8, 0.95], "weight_decay": 0.1},
}

# 19: two vectors and a rest.
SHAPES = {"weight": (19,), "bias": (3,), "late": (2, 2)}
STEPS = 6


def optimizer_case(options):
    """Six steps with a falling lr; "late" has no gradient in the first two."""
    parameters = {name: torch.nn.Parameter(ramp(*shape, shift=2)) for name, shape in SHAPES.items()}
    # In separate groups: Python's fused SGD does not accept a parameter without momentum beside one that has it.
    optimizer = make_optimizer(options, [{"params": [parameter]} for parameter in parameters.values()])
    for step in range(STEPS):
        for name, parameter in parameters.items():
            parameter.grad = None if name == "late" and step < 2 else ramp(*SHAPES[name], shift=3 * step)
        for group in optimizer.param_groups:
            group["lr"] = options["lr"] / (step + 1)
        optimizer.step()
    state = {
        f"state.{name}.{what}": kept(tensor)
        for name, parameter in parameters.items()
        for what, tensor in sorted(optimizer.state[parameter].items())
        if tensor is not None
    }
    return {"options": options, "parameters": kept_all(parameters.items()), "state": state}


def loss_case(name, output, target, **options):
    output = output.requires_grad_()
    loss = LOSSES[name](output, target, **options)
    loss.backward()
    return {"name": name, "options": options, "value": kept(loss), "gradient": kept(output.grad)}


def tables():
    optimizers = {}
    for title, options in OPTIMIZERS.items():
        for fused in (True, False):
            optimizers[f"{title} {'fused' if fused else 'loop'}"] = optimizer_case(options | {"fused": fused})
    for title, options in LOOPS.items():
        optimizers[title] = optimizer_case(options)
    classes = torch.tensor([3, 0, 2, 2, 1])
    some = torch.tensor([3, -100, 2, 2, -100])
    losses = {
        "mse": loss_case("mse", ramp(5, 4), ramp(5, 4, shift=4)),
        "mse images": loss_case("mse", ramp(2, 3, 3), ramp(2, 3, 3, shift=4)),
        "cross_entropy classes": loss_case("cross_entropy", ramp(5, 4), classes),
        "cross_entropy smoothing": loss_case("cross_entropy", ramp(5, 4), classes, label_smoothing=0.1),
        "cross_entropy probabilities": loss_case("cross_entropy", ramp(5, 4), ramp(5, 4, shift=4)),
        "cross_entropy weight": loss_case("cross_entropy", ramp(5, 4), classes, weight=[0.5, 2.0, 1.0, 3.0]),
        "cross_entropy weight smoothing": loss_case(
            "cross_entropy", ramp(5, 4), classes, weight=[0.5, 2.0, 1.0, 3.0], label_smoothing=0.2),
        "cross_entropy some": loss_case("cross_entropy", ramp(5, 4), some),
        "nll classes": loss_case("nll", ramp(5, 4), classes),
        "nll some": loss_case("nll", ramp(5, 4), some),
        "l1": loss_case("l1", ramp(5, 4), ramp(5, 4, shift=4)),
        "smooth_l1": loss_case("smooth_l1", ramp(5, 4), ramp(5, 4, shift=4)),
        "smooth_l1 beta": loss_case("smooth_l1", ramp(5, 4), ramp(5, 4, shift=4), beta=0.3),
        "smooth_l1 no beta": loss_case("smooth_l1", ramp(5, 4), ramp(5, 4, shift=4), beta=0.0),
        "huber": loss_case("huber", ramp(5, 4), ramp(5, 4, shift=4)),
        "huber delta": loss_case("huber", ramp(5, 4), ramp(5, 4, shift=4), delta=0.3),
        "bce_with_logits": loss_case("bce_with_logits", ramp(5, 4), ramp(5, 4, shift=4).abs()),
        "bce_with_logits one weight": loss_case(
            "bce_with_logits", ramp(5, 4), ramp(5, 4, shift=4).abs(), pos_weight=3.0),
        "bce_with_logits weights": loss_case(
            "bce_with_logits", ramp(5, 4), ramp(5, 4, shift=4).abs(), pos_weight=[0.5, 2.0, 1.0, 3.0]),
    }
    return {"optimizers.json": optimizers, "losses.json": losses}
