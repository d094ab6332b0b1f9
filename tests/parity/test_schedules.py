"""A whole run has the lr of torch.optim.lr_scheduler in each step, within 1e-12 of lr, also after a resume."""

import os
import pathlib
import runpy
import sys
import tempfile

import torch
from program import run_program
from torch.optim import lr_scheduler

KEPT = runpy.run_path(str(pathlib.Path(os.environ["DDP_SOURCE"]) / "tests/schedule/values/compute.py"))
LR = KEPT["LR"]
EPOCHS = 5
PER_EPOCH = KEPT["PER_EPOCH"]  # 64 pairs for two ranks, in batches of 4
STEPS = EPOCHS * PER_EPOCH

EXPERIMENT = {
    "model": {"name": "mlp", "in_features": 6, "hidden": [8], "out_features": 2},
    "dataset": {"name": "random_pairs", "size": 64, "features": 6, "targets": 2},
    "optimizer": {"name": "sgd", "lr": LR},
    "batch_size": 4,
    "epochs": EPOCHS,
}
CLOSED_FORMS = [
    {"name": "multistep", "milestones": ["1 epoch", "75%"], "gamma": 0.3, "warmup": 3},
    {"name": "exponential", "gamma": 0.95, "warmup": "10%"},
    {"name": "cosine", "min_lr": 1e-5, "warmup": "5%"},
    {"name": "cosine_restarts", "period": "1 epoch", "mult": 2},
    {"name": "polynomial", "power": 2.0, "warmup": "1 epoch"},
    {"name": "onecycle", "max_lr": 0.05},
    {"name": "wsd", "decay": "2 epochs", "warmup_steps": 4},
]
PLATEAUS = [
    {"factor": 0.5, "patience": 0, "threshold": 0.2},
    {"factor": 0.1, "patience": 1, "threshold": 0.5, "cooldown": 1},
]


def run(experiment, first=None):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-schedules-") as folder:
        return run_program(experiment, 2, folder, "shm", first)


def by_torch(options):
    return [float.fromhex(rate) for rate in KEPT["rates"](options, STEPS).split()]


def by_plateau(options, losses):
    """The lr of each step, with a schedule that follows the loss of each epoch."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=LR)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, "min", **options)
    rates = []
    for epoch in range(EPOCHS):
        rates += [optimizer.param_groups[0]["lr"]] * PER_EPOCH
        scheduler.step(losses[epoch])
    return rates


def check(title, rates, expected):
    worst = max(abs(a - b) for a, b in zip(rates, expected, strict=True)) / LR
    print(f"{'same' if worst <= 1e-12 else 'DIFFERS':8}{title}: {worst:.1e} of lr at most")
    return worst <= 1e-12


good = True
for options in CLOSED_FORMS:
    good &= check(str(options), run(EXPERIMENT | {"scheduler": options}).rates, by_torch(options))
shorter = {"steps": 13}
options = {"name": "step", "step_size": "1 epoch", "warmup": 5}
resumed = {key: value for key, value in EXPERIMENT.items() if key != "epochs"} | {"steps": STEPS}
good &= check("resumed inside an epoch", run(resumed | {"scheduler": options}, shorter).rates, by_torch(options))
for options in PLATEAUS:
    of_train = run(EXPERIMENT | {"scheduler": {"name": "plateau"} | options})
    good &= check(f"train_loss {options}", of_train.rates, by_plateau(options, of_train.train_losses))
    assert of_train.rates[-1] < LR, of_train.rates
    validated = {"validation": {"dataset": {"size": 32}}, "scheduler": {"name": "plateau"} | options}
    of_validation = run(EXPERIMENT | validated)
    good &= check(f"val_loss {options}", of_validation.rates, by_plateau(options, of_validation.validation_losses))
sys.exit(0 if good else 1)
