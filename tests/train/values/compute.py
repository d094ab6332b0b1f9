"""The results of PyTorch's optimizers and losses. Run by tests/parity/test_kept_values.py, which says how."""

import torch
from components import LOSSES, make_optimizer
from kept_values import kept, kept_all, ramp

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
}  # fmt: skip

# 19: two vectors and a rest.
SHAPES = {"weight": (19,), "bias": (3,), "late": (2, 2)}
STEPS = 6


def optimizer_case(options):
    """Six steps with a falling lr; "late" has no gradient in the first two."""
    parameters = {name: torch.nn.Parameter(ramp(*shape, shift=2)) for name, shape in SHAPES.items()}
    # In groups of their own: Python's fused SGD takes no parameter without a momentum beside one that has it.
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
    classes = torch.tensor([3, 0, 2, 2, 1])
    losses = {
        "mse": loss_case("mse", ramp(5, 4), ramp(5, 4, shift=4)),
        "mse images": loss_case("mse", ramp(2, 3, 3), ramp(2, 3, 3, shift=4)),
        "cross_entropy classes": loss_case("cross_entropy", ramp(5, 4), classes),
        "cross_entropy smoothing": loss_case("cross_entropy", ramp(5, 4), classes, label_smoothing=0.1),
        "cross_entropy probabilities": loss_case("cross_entropy", ramp(5, 4), ramp(5, 4, shift=4)),
    }
    return {"optimizers.json": optimizers, "losses.json": losses}
