"""Sweeps whose processes are killed at random moments, again and again."""

import collections
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import time

import isolation
from processes import Command, others
from programs import PROGRAM, children, events_in, until

isolation.enter()
parser = isolation.arguments(__doc__)
parser.add_argument("--kills", type=int, default=4)
asked = parser.parse_args()
dice = random.Random(asked.seed)

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])


class Sweep:
    """experiments/digits_sweep.toml: real digits, 12 trials of two ranks each."""

    def __init__(self, folder, name, *words):
        self.folder, self.path = folder, folder / "results/digits_sweep" / name
        file = SOURCE / "experiments/digits_sweep.toml"
        self._words = [PROGRAM, "sweep", file, "--run-id", name, "--set", "save_every=2", *words]

    def start(self):
        return Command(self._words, self.folder)

    def journal(self, event):
        return events_in(self.path / "journal.jsonl", event)

    def summary(self):
        return json.loads((self.path / "summary.json").read_text())

    def left(self):
        """All results that must be the same after any number of kills."""
        rows = [{key: row[key] for key in ("trial", "place", "status", "metric", "epochs", "parameters")}
                for row in self.summary()["ranking"]]  # fmt: skip
        bits = {str(file.relative_to(self.path)): file.read_bytes()
                for file in self.path.glob("trials/*/checkpoints/latest/*.safetensors")}  # fmt: skip
        return rows, bits


def one_of(command, whom):
    """A process of a sweep: its parent, the parent of a trial, or a rank of a trial."""
    trials = children(command.pid)
    ranks = [rank for trial in trials for rank in children(trial)]
    group = {"sweep": [command.pid], "trial": trials, "rank": ranks}[whom]
    return dice.choice(group) if group else None


def kill_at_random(sweep, whom):
    """Starts or resumes the sweep, and kills one of its processes a moment later. Returns whether the process was still
    alive."""
    before = len(sweep.journal("started")) + 1
    command = sweep.start()
    until(lambda: len(sweep.journal("started")) >= before or command.ended(), "a trial has started")
    end = time.monotonic() + dice.expovariate(2)
    victim = None
    while not command.ended() and (victim is None or time.monotonic() < end):
        victim = one_of(command, whom) or victim
        time.sleep(0.001)
    hit = False
    if victim and not command.ended():
        try:
            os.kill(victim, signal.SIGKILL)
            hit = True
        except ProcessLookupError:
            pass
    if whom == "sweep" or command.ended():
        command.finish()
    else:
        # The sweep sees it as a failure of the trial, and tries the trial again.
        command.kill(signal.SIGTERM)
        command.finish()
    until(lambda: not others(), "all processes have gone")
    command.close()
    return hit


def a_killed_sweep_ends_the_same(folder):
    """a sweep of real digits whose processes are killed at random moments resumes to the ranking and the bits of a
    sweep that was never killed, and no finished trial has run twice"""
    words = ["--set", "sweep.retries=1000"]
    never = Sweep(folder, "never", *words)
    command = never.start()
    assert command.finish(within=300) == 0, command
    expected = never.left()
    assert len(expected[0]) == 12 and len(expected[1]) == 24, expected[0]
    figures = collections.Counter()
    while sum(figures.values()) < asked.kills:
        sweep = Sweep(folder, f"killed{sum(figures.values())}", *words)
        for _ in range(20):
            whom = dice.choice(["sweep", "sweep", "trial", "rank"])
            figures[whom] += kill_at_random(sweep, whom)
            if sum(figures.values()) >= asked.kills:
                break
        command = sweep.start()
        assert command.finish(within=300) == 0, command
        assert not others(), others()
        assert sweep.left() == expected, (sweep.summary()["ranking"], never.summary()["ranking"])
        times = collections.Counter(event["trial"] for event in sweep.journal("finished"))
        assert times == {trial: 1 for trial in range(12)}, times
        shutil.rmtree(sweep.path)
    return ", ".join(f"{count} kills of a {whom}" for whom, count in sorted(figures.items())) + f"; seed {asked.seed}"


sys.exit(isolation.check([a_killed_sweep_ends_the_same], asked.only))
