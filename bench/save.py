"""A save of a 400 MB model and its AdamW state (1.2 GB in all), while two ranks train.

Blocked: the time that training waits at the save. Lost: the time that the steps from one save to the next take beyond
as many median steps, the wait included; torch.save returns before its pages are on disk. ddp-exp prepares its memory
during the first steps of the run, which are slow on both sides and not counted.
"""

import json
import os
import statistics
import tempfile

from sides import Peer, run_ddp_exp
from table import Table

EVERY = 8  # steps from one save to the next
STEPS = 3 * EVERY


def lost(seconds):
    """Seconds lost by the first and the second save, from the time of each step."""
    step = statistics.median(seconds[s] - seconds[s - 1] for s in range(EVERY, STEPS + 1))
    return [seconds[save + EVERY] - seconds[save] - EVERY * step for save in (EVERY, 2 * EVERY)]


def ddp_exp():
    """Seconds blocked and seconds lost, each for the first and the second save."""
    lines = run_ddp_exp(os.environ["DDP_EXP"], "big", STEPS)
    seconds = {line["step"]: line["seconds"] for line in lines if line["event"] == "step"}
    blocked = [line["stall"] for line in lines if line["event"] == "checkpoint"]
    return blocked[:2], lost(seconds)


def torch_save():
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as folder:
        with Peer("big", "kept", STEPS, os.path.join(folder, "state.pt"), EVERY) as lines:
            *_, blocked, ends = (json.loads(line) for line in lines if line.startswith(("[", "{")))
    seconds = {step: end - ends[0] for step, end in enumerate(ends, 1)}
    return blocked[:2], lost(seconds)


class Save:
    """One run provides four figures; the first call for one of them starts the run."""

    def __init__(self, run):
        self.run = run
        self.figures = {}

    def figure(self, what, number):
        if (what, number) not in self.figures:
            blocked, lost = self.run()
            self.figures = {("blocked", n): blocked[n] for n in (0, 1)} | {("lost", n): lost[n] for n in (0, 1)}
        return self.figures.pop((what, number))


def tables():
    ours, theirs = Save(ddp_exp), Save(torch_save)
    rows = {
        f"{side} {which}": (save, number)
        for which, number in {"": 1, "(the first)": 0}.items()
        for side, save in {"ddp-exp": ours, "torch.save": theirs}.items()
    }
    return [
        Table(f"save-{what}", f"seconds of training {what} by a save of 1.2 GB, the second of a run", "less",
              {row.strip(): (lambda save=save, what=what, number=number: save.figure(what, number))
               for row, (save, number) in rows.items()})
        for what in ("blocked", "lost")
    ]  # fmt: skip
