"""Steps a second, without the first ones, which still settle sockets, allocator and buckets.

ddp-exp writes a line of metrics with the loss for every step meanwhile; the peer reads no loss and writes nothing.
"""

import functools
import os

from sides import STEADY, Peer, run_ddp_exp
from table import Table


def ddp_exp(experiment, steps, backend):
    seconds = {line["step"]: line["seconds"] for line in run_ddp_exp(os.environ["DDP_EXP"], experiment, steps, backend)
               if line["event"] == "step"}  # fmt: skip
    return (steps - STEADY) / (seconds[steps] - seconds[STEADY])


def torchrun(experiment, data, steps):
    with Peer(experiment, data, steps) as lines:
        *_, seconds = lines
    return (steps - STEADY) / float(seconds)


def table(experiment, what, steps, quick_steps):
    rows = {
        # Shared memory makes many more steps in the same time.
        "ddp-exp": functools.partial(ddp_exp, experiment, quick_steps, "auto"),
        "ddp-exp over Gloo": functools.partial(ddp_exp, experiment, steps, "gloo"),
        "torchrun + DDP": functools.partial(torchrun, experiment, "drawn", steps),
        "torchrun + DDP, one batch kept in memory": functools.partial(torchrun, experiment, "kept", steps),
    }
    return Table(f"step-{experiment}", f"steps a second, {what}", "more", rows)


def tables():
    return [
        table("toy", "toy model, batches of 20 drawn from randn", 2000, 20000),
        table("mlp", "MLP 784-256-256-10, batches of 64 out of 8192 samples", 800, 2000),
        table("wide", "MLP 2048-2048-5 (16 MB of gradients), batches of 20", 200, 300),
    ]
