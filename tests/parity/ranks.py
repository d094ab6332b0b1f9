"""Forks the ranks of a reference run from one process that has imported torch, and merges their answers.

The parent never runs a tensor operation and never has a second thread: therefore forking it is safe. A case costs some
milliseconds instead of the seconds of `import torch`.
"""

import functools
import json
import multiprocessing
import operator
import os
import signal
import sys
import traceback
from multiprocessing.connection import wait

import torch._dynamo  # noqa: F401 (the first optimizer of each forked rank would import it: 0.8 s)
from safetensors.numpy import load_file

import reference
from result import Result


def run_reference(experiment, world, folder):
    """Trains `experiment` on `world` forked ranks, whose files go to `folder`, and returns their Result."""
    assert len(os.listdir("/proc/self/task")) == 1, "forking a process with threads"
    fork = multiprocessing.get_context("fork")
    ranks = [fork.Process(target=run_rank, args=(experiment, rank, world, folder)) for rank in range(world)]
    for process in ranks:
        process.start()
    alive = {process.sentinel: process for process in ranks}
    while alive:
        for sentinel in wait(list(alive)):
            alive.pop(sentinel).join()
        if any(process.exitcode for process in ranks):
            for process in alive.values():  # they wait for a rank that has gone
                os.kill(process.pid, signal.SIGKILL)
    for rank, process in enumerate(ranks):
        if process.exitcode not in (0, -signal.SIGKILL):
            with open(os.path.join(folder, f"rank-{rank}.log")) as log:
                raise RuntimeError(f"the reference's rank {rank} failed:\n{log.read()}")
    return gather(world, folder)


def run_rank(experiment, rank, world, folder):
    log = os.open(os.path.join(folder, f"rank-{rank}.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    try:
        reference.train(experiment, rank, world, folder)
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def gather(world, folder):
    answers = []
    for rank in range(world):
        with open(os.path.join(folder, f"rank-{rank}.json")) as file:
            answers.append(json.load(file))
    result = Result(tensors=load_file(os.path.join(folder, "model.safetensors")))
    result.norms, result.skipped = answers[0]["norms"], answers[0]["skipped"]
    if os.path.exists(os.path.join(folder, "ema.safetensors")):
        result.averages = load_file(os.path.join(folder, "ema.safetensors"))
    epochs, whole = {}, answers[0]["whole_epochs"]
    for ranks in zip(*(answer["steps"] for answer in answers)):
        epoch, lr = ranks[0][0], ranks[0][3]
        summed, samples = in_order(rank[1] for rank in ranks), sum(rank[2] for rank in ranks)
        weight = in_order(rank[4] for rank in ranks)
        result.losses.append(summed / weight if weight else None)
        result.samples.append(samples)
        result.rates.append(lr)
        of_epoch = epochs.setdefault(epoch, [0.0, 0])
        of_epoch[0] += summed
        of_epoch[1] += weight
    result.train_losses = {epoch: summed / samples for epoch, (summed, samples) in epochs.items() if epoch < whole}
    for ranks in zip(*(answer["evaluations"] for answer in answers)):
        epoch = ranks[0][0]
        measured = metrics_of(rank[1] for rank in ranks)
        result.validation_losses[epoch] = measured["loss"]
        if "accuracy" in measured:
            result.accuracies[epoch] = measured["accuracy"]
    if answers[0]["tested"] is not None:
        result.tested = {
            f"test_{name}": value for name, value in metrics_of(answer["tested"] for answer in answers).items()
        }
    return result


def metrics_of(ranks):
    """The metrics over the batches of all ranks; see Trainer.measure."""
    batches = sorted(batch for rank in ranks for batch in rank)
    weight = in_order(batch[4] for batch in batches)
    measured = {"loss": in_order(batch[1] for batch in batches) / weight}
    if batches[0][2] is not None:
        measured["accuracy"] = sum(batch[2] for batch in batches) / sum(batch[3] for batch in batches)
    return measured


def in_order(losses):
    """Plain addition: from Python 3.12 on, sum() compensates its rounding."""
    return functools.reduce(operator.add, losses)
