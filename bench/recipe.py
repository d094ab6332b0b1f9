"""The time that parts of a recipe add to a step or a validation, on two ranks with one thread each, beside PyTorch's
Python and scikit-learn. Also 100 trials that tpe chooses, beside Optuna."""

import tempfile

import recipe_trials
from sides import RANKS, output_of, run_program, torchrun, torchrun_environment
from table import Table

PARTS = {
    "clip": ("microseconds to clip 200 small gradients by their norm", "clip_grad_norm_", 1e6, 2000),
    "ema": ("milliseconds to average the weights of a model of 400 MB, a step", "AveragedModel on each rank", 1e3, 20),
    "metrics": ("milliseconds for accuracy, F1 and AUROC of a million samples", "scikit-learn after gathering", 1e3, 3),
}


def peer(part, count):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as scratch:
        return float(output_of(torchrun(RANKS, "recipe_peer.py", part, count), torchrun_environment(scratch)))


def tables(small=False):
    for part, (title, words, scale, count) in PARTS.items():
        count = 1 if small else count
        rows = {
            "ddp-exp": lambda p=part, s=scale, n=count: s * float(run_program("bench_recipe", p, n)),
            words: lambda p=part, s=scale, n=count: s * peer(p, n),
        }
        yield Table(f"recipe-{part}", title, "less", rows)
    if not small:
        yield from recipe_trials.tables()
