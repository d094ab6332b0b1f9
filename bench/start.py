"""From the command to the first step.

ddp-exp: the time until it prints the line of its one-step epoch, which comes after the step and before the checkpoint.
torchrun: the time until rank 0 prints that its first step is done. The rows "all of it" measure the whole command of
ddp-exp, checkpoint and exit included.
"""

import os
import time

from sides import RANKS, ROOT, Peer, run_ddp_exp, start_ddp_exp
from table import Table


def whole(program):
    start = time.perf_counter()
    run_ddp_exp(program, "toy", steps=1)
    return time.perf_counter() - start


def first_step(program, ranks=RANKS):
    start = time.perf_counter()
    with start_ddp_exp(program, "toy", 1, ranks) as lines:
        for line in lines:
            if line.startswith("Epoch 0 done"):
                return time.perf_counter() - start
    raise RuntimeError("ddp-exp made no step")


def torchrun():
    start = time.perf_counter()
    with Peer("toy", "drawn", steps=1) as lines:
        for line in lines:
            if line == "first step\n":
                return time.perf_counter() - start
    raise RuntimeError("the peer made no step")


def tables():
    rows = {
        "ddp-exp run, first step": lambda: first_step(os.environ["DDP_EXP"]),
        "ddp-exp run, all of it": lambda: whole(os.environ["DDP_EXP"]),
        "scripts/ddp-exp run, all of it": lambda: whole(os.path.join(ROOT, "scripts", "ddp-exp")),
        "torchrun + DDP, first step": torchrun,
    }
    return [Table("start", "seconds from the command to the first step, toy model", "less", rows)]
