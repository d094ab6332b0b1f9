"""The experiments train on every backend, and their checkpoints move between devices."""

import json

from machine import LONG, ROOT, Run, same, sets

ADAM = '{ name = "adam", lr = 0.01, fused = %s }'
PLAIN = ["basic", "demo_basic", "demo_checkpoint", "digits", "multiprocessing_distributed"]
OF_GROUPS = ["demo_model_parallel", "hpc"]
ACCURACY = {"digits": 0.97}
SHORT = {"digits": {"epochs": 1}, "multiprocessing_distributed": {"epochs": 2}, "hpc": {"steps": 20}}  # for a rehearsal


def train(machine, folder, experiment, pool, **settings):
    """Trains, checks the summary, and returns a line about it."""
    if machine.rehearsal:
        settings = SHORT.get(experiment, {}) | {"threads": 1} | settings
    run = machine.call("run", ROOT / f"experiments/{experiment}.toml", "--results", folder / "results",
                       *sets(device_pool=pool, **settings), folder=folder).strip()  # fmt: skip
    summary = json.loads((folder / run / "summary.json").read_text())
    assert summary["status"] == "completed", summary
    assert settings.get("backend") in (None, summary["backend"]), summary["backend"]
    for rank, devices in enumerate(summary["devices"]):
        for device in devices.split(" + "):
            named = device == "cpu" if machine.rehearsal else device.startswith("cuda:") and "GPU-" in device
            assert named, f"rank {rank} is on {device}"
        assert devices in (folder / run / f"logs/rank-{rank}.log").read_text(), devices
    accuracy = summary["final"].get("val_accuracy")
    least = 0.5 if machine.rehearsal else ACCURACY.get(experiment, 0.95)
    assert accuracy is None or accuracy >= least, accuracy
    metrics = ", ".join(f"{name} {value:.6g}" for name, value in summary["final"].items())
    how = " ".join(f"{key}={value}" for key, value in settings.items())
    return (f"{experiment:27} {pool} {how}: {summary['steps']} steps, {summary['seconds']:.2f} s, "
            f"{summary['steps'] / summary['seconds']:.0f} steps/s, {metrics}")  # fmt: skip


def experiments(machine, folder):
    """the experiments (basic, digits, the checkpoint demo and others) train on one device, over each backend"""
    for backend in machine.backends:
        for experiment in PLAIN:
            yield train(machine, folder, experiment, machine.pool(), backend=backend)
    yield train(machine, folder, "basic", machine.pool(), deterministic="true")
    for experiment in ("single_gpu", "data_parallel"):
        yield train(machine, folder, experiment, machine.pool())


def groups(machine, folder):
    """models on groups of devices train, over each backend"""
    for backend in machine.backends:
        for experiment in OF_GROUPS:
            yield train(machine, folder, experiment, machine.pool(1, 1), devices_per_rank=1, backend=backend)
            for ranks in (1, 2):
                if machine.gpus >= 2 * ranks:
                    yield train(machine, folder, experiment, machine.pool(ranks, 2), backend=backend)
    yield train(machine, folder, "basic", machine.pool(1, 1))


def several(machine, folder):
    """all devices together train"""
    if machine.gpus >= 2:
        for experiment in ("basic", "data_parallel"):
            yield train(machine, folder, experiment, machine.all())


def resumes(machine, folder):
    """a run that ends early and resumes has the bits of an uninterrupted run, over each backend"""
    for backend in machine.backends:
        settings = {"backend": backend, "optimizer": ADAM % "true"}
        never = Run(machine, folder, f"never_{backend}", steps=40, **settings)
        never.complete()
        run = Run(machine, folder, f"resumed_{backend}", steps=17, **settings)  # inside an epoch
        run.complete()
        run.complete(steps=40)
        same(run, never.left(), but=("files",))


def moves(machine, folder):
    """a checkpoint that a CPU saved resumes on a GPU, and the other way round"""
    gpu, cpu = machine.pool(), '["cpu"]'
    cases = [(cpu, gpu, "true", "ddp"), (gpu, cpu, "true", "ddp"), (gpu, cpu, "false", "ddp"),
             (cpu, gpu, "true", "single")]  # fmt: skip
    if machine.gpus >= 2 and not machine.rehearsal:
        cases.append((gpu, "[1]", "true", "ddp"))
    for number, (before, after, fused, parallel) in enumerate(cases):
        run = Run(machine, folder, f"moved{number}", epochs=2, device_pool=before, optimizer=ADAM % fused,
                  parallel=parallel)  # fmt: skip
        run.complete()
        run.complete(device_pool=after, backend="auto", epochs=4)
        assert run.summary()["epochs"] == 4, run.summary()
        yield f"{before} to {after}, fused {fused}, {parallel}"


def stops_early(machine, folder):
    """validation measures each epoch, and patience ends the run"""
    settings = sets(device_pool=machine.pool(), stop__patience=2, stop__min_delta=100, threads=1)
    digits = ROOT / "experiments/digits.toml"
    run = machine.call("run", digits, "--results", folder / "results", *settings, folder=folder).strip()
    summary = json.loads((folder / run / "summary.json").read_text())
    assert (summary["status"], summary["stopped_by"], summary["epochs"]) == ("completed", "patience", 3), summary
    return [f"ended after epoch {summary['epochs']} by {summary['stopped_by']}"]


def profiles(machine, folder):
    """a profiled run has the device's kernels in its trace"""
    run = machine.call("run", ROOT / "experiments/digits.toml", "--results", folder / "results", "--profile", 10,
                       *sets(device_pool=machine.pool(), epochs=2), folder=folder).strip()  # fmt: skip
    trace = json.loads((folder / run / "profile/rank-0.json").read_text())
    kinds = {event.get("cat") for event in trace["traceEvents"]}
    assert ("cpu_op" if machine.rehearsal else "kernel") in kinds, kinds
    return (folder / run / "profile/table.txt").read_text().splitlines()


def page_of_the_machine(machine, folder):
    """doctor finds nothing broken, and describes each GPU"""
    lines = machine.call("doctor", folder=folder).splitlines()
    assert machine.rehearsal or sum("NVIDIA" in line for line in lines) >= machine.gpus, lines
    return [line for line in lines if line]


def collectives(machine, folder):
    """the six collectives of comm have the right values, over each backend"""
    sizes = "4,64KiB,1MiB" if machine.rehearsal else "4,64KiB,64MiB"
    for backend in machine.backends:
        words = ["comm", "--devices", machine.gpus, "--backend", backend]
        yield from machine.call(*words, "--sizes", sizes, folder=folder).splitlines()
        machine.call(*words, "--sizes", "1KiB", "--dtype", "bfloat16", "--iterations", "1", folder=folder)


def refused(machine, folder):
    """devices that are not there, and two ranks on one GPU, are refused by name before anything starts"""
    here = 0 if machine.rehearsal else machine.gpus
    cases = {"[0,0]": "GPU 0 is named twice", "[[0],[0]]": "GPU 0 is named twice"}
    if machine.rehearsal:  # a number means CPU ranks
        cases["[0]"] = "needs 1 device, this machine has 0"
    else:
        cases[f"[{here}]"] = f"needs {here + 1} devices, this machine has {here}"
        cases[str(here + 3)] = f"needs {here + 3} devices, this machine has {here}"
    for pool, text in cases.items():
        command = machine.command("run", ROOT / "experiments/basic.toml", "--results", folder / "refused",
                                  *sets(device_pool=pool), folder=folder)  # fmt: skip
        assert command.finish(LONG) == 2 and text in command.said(), f"{pool} was not refused with {text}: {command}"
        assert not (folder / "refused").exists(), f"{pool} has left results"
        yield f"{pool}: {text}"


CHECKS = [experiments, profiles, page_of_the_machine, groups, several, resumes, moves, stops_early, collectives, refused]
