"""Sweeps, cross-validations and races whose processes are killed at random moments, again and again."""

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


VERDICT = """
dataset = "digits"
model = { name = "mlp", hidden = [%d] }
loss = "cross_entropy"
optimizer = { name = "adam", lr = 3e-3 }
batch_size = 64
epochs = 3
threads = 1
device_pool = 1
"""
HELD_OUT = 'validation.split = 0.2\n'
VERDICTS = {
    "folds": (["cv", "folds.toml"], "[folds]\nk = 4\nrepeats = 2\nstratify = true\n", ["cv.json", "oof.csv"]),
    "seeds": (["cv", "seeds.toml"], HELD_OUT + "[repeat]\nseeds = 8\n", ["cv.json"]),
    "race": (["race", "race.toml", "other.toml", "--name", "race", "--max-seeds", "6", "--metric", "val_loss", "--alpha", "1e-6"],
             HELD_OUT, ["race.json"]),
}  # fmt: skip


class Verdict(Sweep):
    """A cross-validation or a race of small models of real digits."""

    def __init__(self, folder, kind, name):
        words, more, self._results = VERDICTS[kind]
        self.folder, self.path = folder, folder / "results" / kind / name
        for file, width in ((kind, 16), ("other", 32)):
            (folder / f"{file}.toml").write_text(VERDICT % width + (more if file == kind else HELD_OUT))
        self._words = [PROGRAM, *words, "--run-id", name]

    def left(self):
        bits = {str(file.relative_to(self.path)): file.read_bytes() for file in self.path.glob("runs/*/checkpoints/latest/*.safetensors")}
        return bits, [(self.path / file).read_bytes() for file in self._results]


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


def a_killed_verdict_ends_the_same(folder):
    """a cross-validation over folds, one over seeds, and a race, killed at random moments and begun again, leave the same
    cv.json, oof.csv and race.json, and the same weights"""
    expected = {}
    for kind in VERDICTS:
        command = Verdict(folder, kind, "never").start()
        assert command.finish(within=300) == 0, command
        expected[kind] = Verdict(folder, kind, "never").left()
        assert len(expected[kind][0]) > 6, expected[kind][0].keys()
    hits = collections.Counter()
    while hits.total() < asked.kills:
        kind = dice.choice([*VERDICTS])
        verdict = Verdict(folder, kind, f"killed{hits.total()}")
        for _ in range(dice.randint(1, 4)):
            hits[kind] += kill_at_random(verdict, "sweep")
        command = verdict.start()
        assert command.finish(within=300) == 0, command
        assert verdict.left() == expected[kind], kind
        shutil.rmtree(verdict.path)
    return ", ".join(f"{count} kills: {kind}" for kind, count in sorted(hits.items())) + f"; seed {asked.seed}"


sys.exit(isolation.check([a_killed_sweep_ends_the_same, a_killed_verdict_ends_the_same], asked.only))
