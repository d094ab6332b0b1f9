"""From the command to the first step.

Of ddp-exp the whole command is timed, a run of one step that also saves its checkpoint and exits; of torchrun only the
time until rank 0 has printed that its first step is done. What this leaves unequal is in the peer's favour.
"""

import os
import time

from sides import ROOT, Peer, run_ddp_exp
from table import Table


def ddp_exp(program):
    start = time.perf_counter()
    run_ddp_exp(program, "toy", steps=1)
    return time.perf_counter() - start


def torchrun():
    start = time.perf_counter()
    with Peer("toy", "drawn", steps=1) as lines:
        for line in lines:
            if line == "first step\n":
                return time.perf_counter() - start
    raise RuntimeError("the peer made no step")


def tables():
    rows = {
        "scripts/ddp-exp run, all of it": lambda: ddp_exp(os.path.join(ROOT, "scripts", "ddp-exp")),
        "ddp-exp run, all of it": lambda: ddp_exp(os.environ["DDP_EXP"]),
        "torchrun + DDP, first step": torchrun,
    }
    return [Table("start", "seconds from the command to the first step, toy model", "less", rows)]
