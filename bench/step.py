"""Steps a second, without the first steps, in which sockets, allocator and buckets still settle.

Meanwhile ddp-exp writes an event with the loss for every step; the peer reads no loss and writes nothing. Each model is
measured twice: with each side's own data path, and with one batch kept in memory, which measures the engine alone.
"""

import functools
import os

from sides import HERE, RANKS, Peer, output_of, run_ddp_exp, run_program, unsteady
from table import Table

KEPT_MLP = "{ name = 'random_batch', inputs = 784, targets = 10, keep = 64 }"
KEPT_WIDE = "{ name = 'random_batch', inputs = 2048, targets = 5, keep = 20 }"
KEPT = {
    "toy": "{ name = 'random_batch', keep = 20 }",
    "mlp": KEPT_MLP,
    "mlp-adamw": KEPT_MLP,
    "wide": KEPT_WIDE,
    "wide-adamw": KEPT_WIDE,
    "cnn": "{ name = 'random_batch', inputs = 3072, targets = 10, keep = 64 }",
}


def ddp_exp(experiment, steps, *sets, ranks=RANKS, nodes=1):
    lines = run_ddp_exp(os.environ["DDP_EXP"], experiment, steps, ranks, *sets, nodes=nodes)
    seconds = {line["step"]: line["seconds"] for line in lines if line["event"] == "step"}
    first = unsteady(steps)
    return (steps - first) / (seconds[steps] - seconds[first])


def torchrun(experiment, data, steps, ranks=RANKS):
    with Peer(experiment, data, steps, ranks=ranks) as lines:
        *_, seconds = lines
    return (steps - unsteady(steps)) / float(seconds)


def tables_of(experiment, what, steps, quick_steps, **more_peers):
    """The tables of one experiment. ddp-exp over shared memory takes `quick_steps` steps, because it is much faster.
    `more_peers` maps a model's name in peer.py to its description."""
    peers = {experiment: "torchrun + DDP"} | {model: f"torchrun + DDP, {words}" for model, words in more_peers.items()}

    def table(name, words, ours, data):
        rows = {"ddp-exp": functools.partial(ddp_exp, experiment, quick_steps, *ours)}
        rows |= {title: functools.partial(torchrun, model, data, steps) for model, title in peers.items()}
        return Table(f"{name}-{experiment}", f"steps a second, {what}, {words}", "more", rows)

    drawn = table("step", "each side's own data path", [], "drawn")
    drawn.rows["ddp-exp over Gloo"] = functools.partial(ddp_exp, experiment, steps, "backend='gloo'")
    return [drawn, table("engine", "one batch kept in memory", ["dataset=" + KEPT[experiment]], "kept")]


def alone(model, how, steps):
    """Steps a second of a peer in one process on one core, without DDP."""
    paths = [os.environ[name] for name in ("DDP_PEERS", "DDP_PYTHONPATH")]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths), OMP_NUM_THREADS="1")
    command = [os.environ["DDP_PYTHON"], os.path.join(HERE, "alone_peer.py"), model, how, steps, steps // 2]
    # XLA takes all cores that it may use.
    done = output_of(["taskset", "-c", str(min(os.sched_getaffinity(0))), *map(str, command)], environment)
    return (steps - steps // 2) / float(done)


def in_one_process(model, what, steps):
    kept = [f"dataset={KEPT[model]}"] if model in KEPT else []
    rows = {
        "ddp-exp": lambda: ddp_exp(model, 5 * steps, *kept, ranks=1),
        "ddp-exp, replay = 'off'": lambda: ddp_exp(model, steps, "replay='off'", *kept, ranks=1),
        "Python, eager, fused optimizer": lambda: alone(model, "eager", steps),
        "Python, torch.compile": lambda: alone(model, "compiled", steps),
        "JAX, 200 steps in one jit": lambda: alone(model, "jax", 5 * steps),
    }
    return Table(f"alone-{model}", f"steps a second of one rank, {what}, one batch kept in memory", "more", rows)


def scaling():
    """The CNN is compute-bound: two ranks on two cores do twice the work of one rank."""
    rows = {
        "ddp-exp, two ranks": lambda: 2 * ddp_exp("cnn", 80),
        "ddp-exp, one rank": lambda: ddp_exp("cnn", 80, ranks=1),
        "torchrun + DDP, two ranks": lambda: 2 * torchrun("cnn", "drawn", 60),
        "torchrun + DDP, one rank": lambda: torchrun("cnn", "drawn", 60, ranks=1),
    }
    return Table("step-scaling", "batches of 64 a second of all ranks, CNN", "more", rows)


def bookkeeping():
    """The cost of a run's work besides training: metrics and events of every step, progress, signals, supervision. The
    cost is smaller than the noise between runs, so the table compares the best of several runs."""
    rows = {
        "ddp-exp": lambda: ddp_exp("toy", 6000),
        "LibTorch's parts alone (bench/engine.cpp)": lambda: float(run_program("bench_engine", RANKS, 6000)),
    }
    title = "steps a second, toy model, drawn batches: what watching a run costs"
    return Table("step-bookkeeping", title, "more", rows, best_of=8)


def tables():
    return [
        *tables_of("toy", "toy model, batches of 20", 2000, 20000),
        *tables_of("mlp", "MLP 784-256-256-10, SGD, batches of 64", 800, 2000),
        # As many steps on both sides: after about 600 steps, AdamW's averages of dead units become denormal numbers,
        # which are slow.
        *tables_of("mlp-adamw", "MLP 784-256-256-10, AdamW, batches of 64", 600, 600, **{"mlp-fused": "fused AdamW"}),
        *tables_of("wide", "MLP 2048-2048-5 (16 MB of gradients), SGD, batches of 20", 200, 300),
        *tables_of("wide-adamw", "MLP 2048-2048-5, AdamW, batches of 20", 150, 150, **{"wide-fused": "fused AdamW"}),
        *tables_of("cnn", "CNN on 3x32x32, batches of 64", 60, 80),
        in_one_process("toy", "toy model, batches of 20", 4000),
        in_one_process("table", "MLP 30-64-64-64-1, AdamW, batches of 256", 2000),
        scaling(),
        bookkeeping(),
    ]
