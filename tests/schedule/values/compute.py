"""The lr of each step as torch.optim.lr_scheduler gives it. Run by tests/parity/test_kept_values.py, which says how."""

import torch
from kept_values import kept_number
from torch.optim import lr_scheduler

LR = 0.01
STEPS = 12

SCHEDULERS = [
    {"name": "constant"},
    {"name": "constant", "warmup_steps": 5},
    {"name": "step", "step_size": 4},
    {"name": "step", "step_size": 3, "gamma": 0.7, "warmup_steps": 2},
    {"name": "cosine"},
    {"name": "cosine", "min_lr": 0.001, "warmup_steps": 3},
    {"name": "linear"},
    {"name": "linear", "end_factor": 0.2, "warmup_steps": 4},
]


def after_warmup(options, optimizer, steps):
    if options["name"] == "step":
        return lr_scheduler.StepLR(optimizer, options["step_size"], options.get("gamma", 0.1))
    if options["name"] == "cosine":
        return lr_scheduler.CosineAnnealingLR(optimizer, steps, options.get("min_lr", 0))
    if options["name"] == "linear":
        return lr_scheduler.LinearLR(optimizer, 1, options.get("end_factor", 0), steps)
    return lr_scheduler.ConstantLR(optimizer, 1)


def rates(options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=LR)
    warmup = options.get("warmup_steps", 0)
    scheduler = after_warmup(options, optimizer, STEPS - warmup)
    if warmup:
        rise = lr_scheduler.LinearLR(optimizer, 1 / warmup, 1, warmup - 1)
        scheduler = lr_scheduler.SequentialLR(optimizer, [rise, scheduler], [warmup])
    found = []
    for _ in range(STEPS):
        found.append(kept_number(scheduler.get_last_lr()[0]))
        optimizer.step()
        scheduler.step()
    return " ".join(found)


def tables():
    cases = {}
    for options in SCHEDULERS:
        title = " ".join([options["name"], *(f"{k}={v}" for k, v in options.items() if k != "name")])
        cases[title] = {"options": options, "lr": LR, "steps": STEPS, "rates": rates(options)}
    return {"schedules.json": cases}
