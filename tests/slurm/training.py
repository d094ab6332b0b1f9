"""The training of this folder's tests, and the checks of its results."""

import json
import time

from slurm import PROGRAM, Slurm
from programs import events_in

# Small, but with all state that a resume must carry: dropout draws from each rank's generator, momentum is optimizer
# state, an epoch ends with a short batch. 2 ranks per node.
EXPERIMENT = """
dataset     = { name = "random_pairs", size = 101, features = 6, targets = 2 }
optimizer   = { name = "sgd", lr = 0.01, momentum = 0.9 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
epochs      = 3
threads     = 1
backend     = "gloo"
[model]
name = "mlp"
in_features = 6
hidden = [8]
out_features = 2
dropout = 0.25
[checkpoint]
save_every_steps = 5
"""


def steps_in(run):
    """The steps in metrics.jsonl of a run so far."""
    return [event["step"] for event in events_in(run / "metrics.jsonl", "step")]


def summary_of(run):
    return json.loads((run / "summary.json").read_text())


def check_same_bits(slurm, run, name, *arguments, ranks=4):
    """Requires that a completed run of 4 ranks over two nodes, or of fewer at its end, has the bits of an uninterrupted
    run of 4 ranks on one machine."""
    summary = summary_of(run)
    assert (summary["status"], summary["world_size"], summary["error"]) == ("completed", ranks, None), summary
    steps = steps_in(run)
    assert steps == list(range(1, summary["steps"] + 1)), steps
    whole = slurm.folder / "results" / name / "whole"
    asked = ["--name", name, "--run-id", "whole", "--set", 'device_pool=["cpu","cpu","cpu","cpu"]', *arguments]
    slurm.run([PROGRAM, "run", "small.toml", *asked])
    assert steps_in(whole) == steps
    for file in ("model.safetensors", "optimizer.safetensors"):
        one, other = ((folder / "checkpoints/latest" / file).read_bytes() for folder in (run, whole))
        assert one == other, f"{file} differs"


def check_all(*checks):
    """Makes these checks on one Slurm, in a folder with the experiment as small.toml."""
    with Slurm() as slurm:
        (slurm.folder / "small.toml").write_text(EXPERIMENT)
        for check in checks:
            start = time.monotonic()
            check(slurm)
            print(f"works: {check.__name__.replace('_', ' ')} ({time.monotonic() - start:.1f} s)", flush=True)
