"""A save of a 400 MB model and its AdamW state (1.2 GB in all), while two ranks train.

Blocked: how long training waits at the save. Lost: how much longer the steps after it take than those before, the wait
included, until it is on disk; torch.save returns before that, its pages still in memory.
"""

import os
import tempfile

from sides import Peer, run_ddp_exp
from table import Table

SAVED = 6  # the step that is saved; the steps before are the measure of those after
STEPS = 2 * SAVED


def ddp_exp():
    """Seconds blocked and lost."""
    lines = run_ddp_exp(os.environ["DDP_EXP"], "big", STEPS)
    seconds = {line["step"]: line["seconds"] for line in lines if line["event"] == "step"}
    saved = next(line for line in lines if line["event"] == "checkpoint" and line["step"] == SAVED)
    if saved["seconds"] > seconds[STEPS]:
        raise RuntimeError("the save took longer than the steps that were to hide it")
    before = (seconds[SAVED] - seconds[1]) / (SAVED - 1)
    return saved["stall"], seconds[STEPS] - seconds[SAVED] - (STEPS - SAVED) * before


def torch_save():
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as folder:
        with Peer("big", "kept", STEPS, os.path.join(folder, "state.pt"), SAVED) as lines:
            blocked, lost = (float(word) for word in list(lines)[-1].split())
    return blocked, lost


def tables():
    sides = {"ddp-exp": ddp_exp, "torch.save": torch_save}
    what = {"blocked": 0, "lost": 1}
    measured = {side: [] for side in sides}

    def value(side, name):
        # One run gives both figures: the second table takes what the first one measured.
        if name == "blocked":
            measured[side].append(sides[side]())
            return measured[side][-1][0]
        return measured[side].pop(0)[1]

    return [
        Table(f"save-{name}", f"seconds of training {name} by a save of 1.2 GB", "less",
              {side: (lambda side=side, name=name: value(side, name)) for side in sides})
        for name in what
    ]  # fmt: skip
