"""100 trials of 20 steps of the toy model, chosen by the tree-structured Parzen estimator: `ddp-exp sweep`, which
writes all its files, beside Optuna in one process with its default sampler, which is the same. ddp-exp also runs two
trials at a time."""

import sweep
from table import Table


def tables():
    tpe = ["--set", "sweep.method=tpe"]
    rows = {
        "ddp-exp sweep, two side by side": lambda: sweep.ddp_exp("--jobs", "2", *tpe),
        "ddp-exp sweep, one at a time": lambda: sweep.ddp_exp("--jobs", "1", *tpe),
        "Optuna, all in one process": lambda: sweep.peer("optuna"),
    }
    return [Table("recipe-trials", f"seconds for {sweep.TRIALS} trials of 20 steps, toy model, tpe", "less", rows)]
