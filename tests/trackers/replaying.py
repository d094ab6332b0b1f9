"""What both tests of this folder share: trainings, copies of runs in other states, and what a replay has to hold."""

import datetime
import importlib
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
PROGRAM = os.environ["DDP_EXP"]
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "tests")]

from programs import SWEPT, TRAINED  # noqa: E402

PLAIN = TRAINED + "test = { split = 0.1 }\n"
EXPERIMENT = PLAIN + 'init_from = { path = "first.safetensors", rename = { "old.*" = "*" } }\n'


def train(folder):
    """results/small/1, and the sweep results/sweep/1 with a trial that fails."""
    (folder / "small.toml").write_text(PLAIN)
    (folder / "sweep.toml").write_text(SWEPT)
    call(folder, "run", "small.toml", "--name", "first", "--run-id", "1")
    call(folder, "export", "first", "first.safetensors")
    (folder / "small.toml").write_text(EXPERIMENT)
    call(folder, "run", "small.toml", "--run-id", "1")
    call(folder, "sweep", "sweep.toml", "--run-id", "1")
    return folder / "results/small/1"


def call(folder, *words):
    done = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (words, done.returncode, done.stderr)


def run_script(name, *words):
    """Runs a script in this process: importing a client takes longer than a replay."""
    sys.argv = [name, *map(str, words)]
    importlib.import_module(name.removesuffix(".py")).main()


def refused(name, *words, client=True, **environment):
    """The one line that a script says when it refuses. `client`: whether its package is there."""
    apart = [] if client else ["-S", "-E"]  # no site-packages, no PYTHONPATH
    command = [sys.executable, "-B", *apart, str(SOURCE / "python" / name), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, (command, done.returncode, done.stderr)
    return done.stderr.strip()


def in_state(run, status, lines=None):
    """A copy of a run, as it was when it had this status and these lines of metrics.jsonl, the last one half written."""
    copy = run.parent / status
    shutil.copytree(run, copy, symlinks=True)
    summary = json.loads((run / "summary.json").read_text())
    written = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    if lines is not None:
        (copy / "metrics.jsonl").write_text("".join(written[:lines]) + written[lines][:20])
    ended = None if status == "running" else summary["ended"]
    (copy / "summary.json").write_text(json.dumps(summary | {"run_id": status, "status": status, "ended": ended}))
    return copy


def finish(copy, run):
    """Gives a copy what the finished run has."""
    shutil.copy(run / "metrics.jsonl", copy)
    summary = json.loads((run / "summary.json").read_text())
    (copy / "summary.json").write_text(json.dumps(summary | {"run_id": copy.name}))


def make_infinite(run, step):
    """The loss of a step was not finite."""
    lines = (run / "metrics.jsonl").read_text().splitlines()
    (at,) = (i for i, line in enumerate(lines) if '"event":"step"' in line and f'"step":{step},' in line)
    lines[at] = json.dumps(json.loads(lines[at]) | {"loss": None, "finite": False}, separators=(",", ":"))
    (run / "metrics.jsonl").write_text("\n".join(lines) + "\n")


def started(run):
    text = json.loads((run / "summary.json").read_text())["started"]
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").timestamp()


def expected(run):
    """{metric: [(step, seconds, value)]} of metrics.jsonl."""
    series, names = {}, ("loss", "lr", "train_loss")
    for line in (run / "metrics.jsonl").read_text().splitlines():
        event = json.loads(line)
        for key, value in event.items():
            name = key
            if key == "samples_per_second" and event["event"] == "epoch":
                name = "epoch_samples_per_second"
            elif key == "epoch" and event["event"] != "epoch":
                continue
            elif key not in (*names, "samples_per_second", "epoch") and not key.startswith(("val_", "test_", "seconds_")):
                continue
            point = (event["step"], event["seconds"], math.nan if value is None else float(value))
            series.setdefault(name, []).append(point)
    assert {"loss", "lr", "train_loss", "val_loss", "val_accuracy", "test_loss", "epoch"} <= series.keys(), series.keys()
    return series


def documented_commands(script):
    """The words of the commands of docs/results.md that run a script."""
    text = (SOURCE / "docs/results.md").read_text()
    commands = re.findall(rf"^\$ python3 python/{script} (.*)$", text, re.M)
    assert commands, script
    return [shlex.split(words) for words in commands]
