"""Commands of one machine share its devices."""

import json
import time

from machine import LONG, ROOT, Run, children, on_gpus, ranks, sets

SWEEP = ROOT / "experiments/digits_sweep.toml"


def training_now(pid):
    """The ranks that train for a command and for the trials that it has started."""
    return len(ranks(pid)) + sum(training_now(child) for child in children(pid))


def sweeps(machine, folder):
    """two sweeps at a time train no two trials on one GPU, and both end"""
    settings = sets(epochs=1, device_pool=1, **{"sweep__parameters__batch_size": "[64]"})
    jobs = ["--jobs", "1"] if machine.rehearsal else []  # CPUs are shared: one sweep, with one trial at a time
    commands = [
        machine.command("sweep", SWEEP, "--results", folder / f"results{number}", *settings, *jobs, folder=folder)
        for number in range(1 if machine.rehearsal else 2)
    ]
    devices = 1 if machine.rehearsal else machine.gpus
    most, deadline = 0, time.monotonic() + 2 * LONG
    while not all(command.ended() for command in commands):
        most = max(most, sum(training_now(command.pid) for command in commands))
        assert most <= devices, f"{most} trials train on {devices} device(s)"
        assert time.monotonic() < deadline, f"a sweep has not ended: {commands[0]} {commands[-1]}"
        time.sleep(0.005)
    for number, command in enumerate(commands):
        assert command.finish() == 0, command
        summary = json.loads(next((folder / f"results{number}").glob("digits_sweep/2*/summary.json")).read_text())
        assert summary["status"] == "completed", summary
    assert most, "no trial was seen"
    return [f"{len(commands)} sweep(s), at most {most} trial(s) at a time on {devices} device(s)"]


@on_gpus
def run_beside_run(machine, folder):
    """a run on a GPU that another run uses warns of it, and both have the bits of a run alone"""
    alone, first, second = (Run(machine, folder, name, steps=400) for name in ("alone", "first", "second"))
    alone.complete()
    command, _ = first.trains()
    said = second.complete()
    assert command.finish(LONG) == 0, command
    assert "another ddp-exp command uses cuda:0" in said, said
    for run in (first, second):
        assert run.left()["model"] == alone.left()["model"], f"{run.name}: other bits"


CHECKS = [sweeps, run_beside_run]
