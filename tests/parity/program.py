"""The side under test: runs the same experiment as a file with the ddp-exp binary, and reads its results."""

import json
import os
import subprocess

from safetensors.numpy import load_file

from device import ON_GPUS, pool
from result import Result


def run_program(experiment, world, folder, backend, first=None):
    """Runs `experiment` over the backend and returns its Result. `first` has the keys of a shorter first run, in place
    of the experiment's: that run ends there, and `resume --set` with the experiment's own values continues it."""
    results = os.path.join(folder, "results")
    file = os.path.join(folder, "case.toml")
    with open(file, "w") as out:
        out.write(to_toml(complete(experiment | (first or {}), world, backend)))
    call("run", file, "--results", results, "--run-id", backend)
    if first:
        sets = [f"{key}={toml_value(experiment[key])}" for key in first]
        call("resume", f"case/{backend}", "--results", results, *(word for text in sets for word in ("--set", text)))
    return read_run(os.path.join(results, "case", backend))


def complete(experiment, world, backend):
    replay = {"replay": os.environ["DDP_REPLAY"]} if "DDP_REPLAY" in os.environ else {}
    shard = {"shard": os.environ["DDP_SHARD"]} if "DDP_SHARD" in os.environ else {}
    return experiment | replay | {
        "threads": 1,
        "device_pool": pool(world * experiment.get("devices_per_rank", 1)),
        "deterministic": ON_GPUS,  # of no effect on the CPU
        "distributed": {"backend": backend} | shard | experiment.get("distributed", {}),
    }


def call(*arguments):
    """Returns the program's stdout. Fails if the exit code is not 0."""
    done = subprocess.run([os.environ["DDP_EXP"], *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ddp-exp {' '.join(arguments)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def read_run(run):
    latest = os.path.join(run, "checkpoints", "latest")
    result = Result(tensors=load_file(os.path.join(latest, "model.safetensors")))
    if os.path.exists(os.path.join(latest, "ema.safetensors")):
        result.averages = load_file(os.path.join(latest, "ema.safetensors"))
    with open(os.path.join(run, "metrics.jsonl")) as file:
        events = [json.loads(line) for line in file]
    for event in events:
        if event["event"] == "step":
            result.losses.append(event["loss"])
            result.samples.append(event["samples"])
            result.rates.append(event["lr"])
            result.skipped.append(event.get("skipped", False))
            if "grad_norm" in event:
                result.norms.append(event["grad_norm"])
        elif event["event"] == "epoch":
            epoch = event["epoch"]
            result.train_losses[epoch] = event["train_loss"]
            if "val_loss" in event:
                result.validation_losses[epoch] = event["val_loss"]
            if "val_accuracy" in event:
                result.accuracies[epoch] = event["val_accuracy"]
        elif event["event"] == "test":
            result.tested = {key: value for key, value in event.items() if key.startswith("test_")}
    return result


def to_toml(experiment):
    return "".join(f"{key} = {toml_value(value)}\n" for key, value in experiment.items())


def toml_value(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value)  # text, numbers and booleans are written the same in TOML
