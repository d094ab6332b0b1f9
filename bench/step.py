"""Steps a second, without the first ones, which still settle sockets, allocator and buckets.

ddp-exp writes a line of metrics with the loss for every step meanwhile; the peer reads no loss and writes nothing.
Each model once with each side's own data path, and once with one batch kept in memory: the engine alone.
"""

import functools
import os

from sides import STEADY, Peer, run_ddp_exp, run_program
from table import Table

KEPT = {
    "toy": "{ name = 'random_batch', keep = 20 }",
    "mlp": "{ name = 'random_batch', inputs = 784, targets = 10, keep = 64 }",
    "mlp-adamw": "{ name = 'random_batch', inputs = 784, targets = 10, keep = 64 }",
    "wide": "{ name = 'random_batch', inputs = 2048, targets = 5, keep = 20 }",
    "cnn": "{ name = 'random_batch', inputs = 3072, targets = 10, keep = 64 }",
}


def ddp_exp(experiment, steps, *sets, ranks=2):
    seconds = {line["step"]: line["seconds"] for line in run_ddp_exp(os.environ["DDP_EXP"], experiment, steps, ranks, *sets)
               if line["event"] == "step"}  # fmt: skip
    steady = min(STEADY, steps // 4)
    return (steps - steady) / (seconds[steps] - seconds[steady])


def kept(experiment, steps):
    return ddp_exp(experiment, steps, "dataset=" + KEPT[experiment])


def torchrun(experiment, data, steps, ranks=2):
    with Peer(experiment, data, steps, ranks=ranks) as lines:
        *_, seconds = lines
    return (steps - min(STEADY, steps // 4)) / float(seconds)


def table(experiment, what, steps, quick_steps):
    rows = {
        # Shared memory makes many more steps in the same time.
        "ddp-exp": functools.partial(ddp_exp, experiment, quick_steps),
        "torchrun + DDP": functools.partial(torchrun, experiment, "drawn", steps),
    }
    if experiment == "mlp-adamw":
        rows["torchrun + DDP, fused AdamW"] = functools.partial(torchrun, "mlp-fused", "drawn", steps)
    rows["ddp-exp over Gloo"] = functools.partial(ddp_exp, experiment, steps, "backend='gloo'")
    alone = {
        "ddp-exp": functools.partial(kept, experiment, quick_steps),
        "torchrun + DDP": functools.partial(torchrun, experiment, "kept", steps),
    }
    if experiment == "mlp-adamw":
        alone["torchrun + DDP, fused AdamW"] = functools.partial(torchrun, "mlp-fused", "kept", steps)
    title = f"steps a second, {what}"
    return [
        Table(f"step-{experiment}", f"{title}, each side's own data path", "more", rows),
        Table(f"engine-{experiment}", f"{title}, one batch kept in memory", "more", alone),
    ]


def scaling():
    """The CNN is bound by its arithmetic: two ranks on two cores do twice the work of one."""
    rows = {
        "ddp-exp, two ranks": lambda: 2 * ddp_exp("cnn", 80),
        "ddp-exp, one rank": lambda: ddp_exp("cnn", 80, ranks=1),
        "torchrun + DDP, two ranks": lambda: 2 * torchrun("cnn", "drawn", 60),
        "torchrun + DDP, one rank": lambda: torchrun("cnn", "drawn", 60, ranks=1),
    }
    return Table("step-scaling", "batches of 64 a second of all ranks, CNN", "more", rows)


def bookkeeping():
    """What a run does beside training: metrics and events of every step, progress, signals, who watches it."""
    rows = {
        "ddp-exp": lambda: ddp_exp("toy", 20000),
        "LibTorch's parts alone (bench/engine.cpp)": lambda: float(run_program("bench_engine", 2, 20000)),
    }
    return Table("step-bookkeeping", "steps a second, toy model, drawn batches: what watching a run costs", "more", rows)


def tables():
    return [
        *table("toy", "toy model, batches of 20", 2000, 20000),
        *table("mlp", "MLP 784-256-256-10, SGD, batches of 64", 800, 2000),
        *table("mlp-adamw", "MLP 784-256-256-10, AdamW, batches of 64", 600, 1500),
        *table("wide", "MLP 2048-2048-5 (16 MB of gradients), batches of 20", 200, 300),
        *table("cnn", "CNN on 3x32x32, batches of 64", 60, 80),
        scaling(),
        bookkeeping(),
    ]
