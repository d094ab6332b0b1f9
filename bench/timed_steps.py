"""The training loop of the peers under torchrun."""

import itertools
import os
import time

import torch.distributed as dist
from torch.nn import functional as F


def of_classes(model, x, y):
    """The loss of outputs [..., classes] and classes [...]."""
    return F.cross_entropy(model(x).flatten(0, -2), y.flatten())


def time_steps(model, optimizer, batches, steps, steady, loss=of_classes):
    """Trains on pairs of inputs and targets, then ends the process. Rank 0 prints the seconds after the first `steady`
    steps."""
    ends = []
    for x, y in itertools.islice(batches, steps):
        loss(model, x, y).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        ends.append(time.perf_counter())
    if dist.get_rank() == 0:
        print(ends[-1] - ends[steady - 1], flush=True)
    dist.barrier()
    # The destructor of DDP's Reducer can wait forever for a Gloo thread that wants the interpreter's lock.
    os._exit(0)
