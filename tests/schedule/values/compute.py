"""The lr of each step from torch.optim.lr_scheduler. tests/parity/test_kept_values.py runs this file and says how."""

import math
import random
import warnings

import torch
from kept_values import kept_number
from torch.optim import lr_scheduler

LR = 0.01
STEPS = 40
PER_EPOCH = 8

# "steps" is the length of the run, if it is not STEPS.
SCHEDULERS = [
    {"name": "constant"},
    {"name": "constant", "warmup_steps": 5},
    {"name": "constant", "warmup": "5%"},
    {"name": "constant", "warmup": "1 step"},
    {"name": "constant", "warmup": "0.5 epochs"},
    {"name": "step", "step_size": 4},
    {"name": "step", "step_size": 3, "gamma": 0.7, "warmup_steps": 2},
    {"name": "step", "step_size": "1 epoch", "gamma": 0.5},
    {"name": "step", "step_size": "12.5%", "gamma": 0.9, "warmup": "1 epoch"},
    {"name": "step", "step_size": 7, "gamma": 1.1},
    {"name": "step", "step_size": 1, "gamma": 0.99, "warmup": 4, "steps": 200},
    {"name": "multistep", "milestones": [10, 30]},
    {"name": "multistep", "milestones": [10, 10, 20], "gamma": 0.5},
    {"name": "multistep", "milestones": ["1 epoch", "3 epochs"], "gamma": 0.3},
    {"name": "multistep", "milestones": ["50%", "75%", 36], "gamma": 0.2, "warmup_steps": 6},
    {"name": "multistep", "milestones": [2, 20], "gamma": 0.5, "warmup": 5},
    {"name": "multistep", "milestones": [50], "gamma": 0.5},
    {"name": "exponential", "gamma": 0.9},
    {"name": "exponential", "gamma": 0.995, "steps": 400},
    {"name": "exponential", "gamma": 0.9, "warmup": "10%"},
    {"name": "exponential", "gamma": 1.01, "warmup": 3},
    {"name": "exponential", "gamma": 1.0},
    {"name": "cosine"},
    {"name": "cosine", "min_lr": 0.001, "warmup_steps": 3},
    {"name": "cosine", "min_lr": 0.002},
    {"name": "cosine", "warmup": "5%", "steps": 300},
    {"name": "cosine", "min_lr": 1e-6, "warmup": "2 epochs", "steps": 300},
    {"name": "cosine", "warmup_steps": 39},
    {"name": "cosine", "min_lr": 0.02},
    {"name": "cosine_restarts", "period": 10},
    {"name": "cosine_restarts", "period": 5, "mult": 2},
    {"name": "cosine_restarts", "period": "1 epoch", "mult": 2, "min_lr": 0.001},
    {"name": "cosine_restarts", "period": "25%", "min_lr": 0.0005, "warmup": 4},
    {"name": "cosine_restarts", "period": 3, "mult": 3, "warmup": "1 epoch", "steps": 300},
    {"name": "cosine_restarts", "period": 1},
    {"name": "cosine_restarts", "period": 100},
    {"name": "linear"},
    {"name": "linear", "end_factor": 0.2, "warmup_steps": 4},
    {"name": "linear", "end_factor": 0.5, "steps": 300},
    {"name": "linear", "end_factor": 0.0, "warmup": "10%"},
    {"name": "linear", "end_factor": 1.0, "warmup": 3},
    {"name": "polynomial"},
    {"name": "polynomial", "power": 2.0},
    {"name": "polynomial", "power": 0.5, "warmup": "10%"},
    {"name": "polynomial", "power": 3.0, "warmup_steps": 7, "steps": 300},
    {"name": "polynomial", "power": 2.0, "min_lr": 0.001},
    {"name": "polynomial", "power": 0.9, "min_lr": 1e-5, "warmup": "1 epoch"},
    {"name": "onecycle"},
    {"name": "onecycle", "max_lr": 0.1},
    {"name": "onecycle", "max_lr": 0.1, "anneal_strategy": "linear"},
    {"name": "onecycle", "max_lr": 0.1, "three_phase": True},
    {"name": "onecycle", "max_lr": 0.1, "three_phase": True, "anneal_strategy": "linear", "pct_start": 0.4},
    {"name": "onecycle", "max_lr": 0.5, "pct_start": 0.25, "div_factor": 10.0, "final_div_factor": 100.0},
    {"name": "onecycle", "max_lr": 0.05, "pct_start": 0.0},
    {"name": "onecycle", "max_lr": 0.05, "pct_start": 1.0},
    {"name": "onecycle", "max_lr": 0.05, "pct_start": 0.33, "steps": 300},
    {"name": "onecycle", "max_lr": 0.05, "pct_start": 0.01},
    {"name": "onecycle", "max_lr": 0.05, "steps": 1},
    {"name": "onecycle", "max_lr": 0.05, "steps": 7, "three_phase": True},
    {"name": "wsd"},
    {"name": "wsd", "decay": 10},
    {"name": "wsd", "decay": "2 epochs", "warmup": 5},
    {"name": "wsd", "decay": "50%", "warmup_steps": 4},
    {"name": "wsd", "decay": "100%"},
    {"name": "wsd", "decay": 1},
    {"name": "wsd", "decay": "20%", "warmup": "10%", "steps": 300},
    {"name": "plateau", "warmup": 6},
]


def steps_of(part, steps):
    """Parses a number of steps, "N steps", "N epochs" or "N%"."""
    if isinstance(part, int):
        return part
    number, unit = (part[:-1], "%") if part.endswith("%") else part.split()
    whole = {"%": steps / 100, "step": 1, "steps": 1, "epoch": PER_EPOCH, "epochs": PER_EPOCH}[unit]
    return max(1, math.floor(float(number) * whole + 0.5))


def warmup_of(o, steps):
    return steps_of(o.get("warmup", o.get("warmup_steps", 0)), steps)


def polynomial(o, optimizer, left):
    power, least = o.get("power", 1.0), o.get("min_lr", 0)
    if not least:
        return lr_scheduler.PolynomialLR(optimizer, left, power)
    return lr_scheduler.LambdaLR(optimizer, lambda t: (least + (LR - least) * (1 - t / left) ** power) / LR)


def after_warmup(o, optimizer, steps):
    warmup = warmup_of(o, steps)
    left = steps - warmup
    if o["name"] == "step":
        return lr_scheduler.StepLR(optimizer, steps_of(o["step_size"], steps), o.get("gamma", 0.1))
    if o["name"] == "multistep":
        milestones = [steps_of(m, steps) - warmup for m in o["milestones"]]
        return lr_scheduler.MultiStepLR(optimizer, milestones, o.get("gamma", 0.1))
    if o["name"] == "exponential":
        return lr_scheduler.ExponentialLR(optimizer, o["gamma"])
    if o["name"] == "cosine":
        return lr_scheduler.CosineAnnealingLR(optimizer, left, o.get("min_lr", 0))
    if o["name"] == "cosine_restarts":
        period = steps_of(o["period"], steps)
        return lr_scheduler.CosineAnnealingWarmRestarts(optimizer, period, o.get("mult", 1), o.get("min_lr", 0))
    if o["name"] == "linear":
        return lr_scheduler.LinearLR(optimizer, 1, o.get("end_factor", 0), left)
    if o["name"] == "polynomial":
        return polynomial(o, optimizer, left)
    if o["name"] == "wsd":
        decay = steps_of(o.get("decay", "10%"), steps)
        return lr_scheduler.LambdaLR(optimizer, lambda t: min(1, (left - t) / decay))
    return lr_scheduler.ConstantLR(optimizer, 1)


def onecycle(o, optimizer, steps):
    chosen = {k: v for k, v in o.items() if k != "name"}
    return lr_scheduler.OneCycleLR(optimizer, **{"max_lr": LR, **chosen}, total_steps=steps, cycle_momentum=False)


def make_scheduler(o, optimizer, steps):
    """torch's scheduler for a scheduler of ddp-exp."""
    if o["name"] == "onecycle":
        return onecycle(o, optimizer, steps)
    scheduler = after_warmup(o, optimizer, steps)
    warmup = warmup_of(o, steps)
    if not warmup:
        return scheduler
    rise = lr_scheduler.LinearLR(optimizer, 1 / warmup, 1, max(1, warmup - 1))
    return lr_scheduler.SequentialLR(optimizer, [rise, scheduler], [warmup])


def rates(options, steps):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=LR)
    scheduler = make_scheduler(options, optimizer, steps)
    found = []
    for step in range(steps):
        found.append(kept_number(scheduler.get_last_lr()[0]))
        optimizer.step()
        if step + 1 < steps:
            scheduler.step()
    return " ".join(found)


PLATEAUS = [
    {},
    {"patience": 2},
    {"patience": 0, "factor": 0.5},
    {"patience": 1, "threshold": 0.05},
    {"patience": 1, "threshold": 0.02, "threshold_mode": "abs"},
    {"patience": 1, "cooldown": 3},
    {"patience": 0, "min_lr": 0.002},
    {"patience": 0, "factor": 0.5, "eps": 1e-3},
    {"patience": 3, "factor": 0.3, "cooldown": 2, "threshold": 0.0},
]


def falling(generator, nan):
    values = [math.exp(-0.1 * i) + generator.uniform(-0.05, 0.05) for i in range(40)]
    return [math.nan if nan and i % 11 == 5 else value for i, value in enumerate(values)]


def plateau(options, mode, values):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=LR)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, mode, **{"patience": 10, **options})
    found = []
    for value in values:
        scheduler.step(value)
        found.append(kept_number(optimizer.param_groups[0]["lr"]))
    return " ".join(found)


def plateaus():
    cases = {}
    generator = random.Random(1)
    for mode in ("min", "max"):
        for options in PLATEAUS:
            for nan in (False, True):
                values = falling(generator, nan)
                if mode == "max":
                    values = [1 - value for value in values]
                title = f"{mode} {options}" + (" with NaN" if nan else "")
                kept = " ".join("nan" if math.isnan(value) else kept_number(value) for value in values)
                cases[title] = {"mode": mode, "options": options, "lr": LR, "values": kept,
                                "rates": plateau(options, mode, values)}  # fmt: skip
    return cases


def tables():
    warnings.simplefilter("ignore")
    cases = {}
    for case in SCHEDULERS:
        options = dict(case)
        steps = options.pop("steps", STEPS)
        title = " ".join([case["name"], *(f"{k}={v}" for k, v in case.items() if k != "name")])
        cases[title] = {"options": options, "lr": LR, "steps": steps, "steps_per_epoch": PER_EPOCH,
                        "rates": rates(options, steps)}  # fmt: skip
    return {"schedules.json": cases, "plateau.json": plateaus()}
