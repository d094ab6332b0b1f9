"""Two nodes of two ranks: shared memory inside each node and Gloo between them, beside Gloo among all ranks.

Both nodes are this machine and share its cores, so the results contain no cost of a network.
"""

import functools

from sides import RANKS
from step import ddp_exp, torchrun
from table import Table

MACHINES = 2  # of RANKS each
STEPS = {"toy": 600, "mlp": 200, "wide": 60}


def tables():
    for experiment, steps in STEPS.items():
        over = functools.partial(ddp_exp, experiment, steps, ranks=RANKS, nodes=MACHINES)
        rows = {
            "ddp-exp, backend shm": functools.partial(over, "backend='shm'"),
            "ddp-exp, backend gloo": functools.partial(over, "backend='gloo'"),
            "torchrun + DDP": functools.partial(torchrun, experiment, "drawn", steps, ranks=MACHINES * RANKS),
        }
        title = f"steps a second, {MACHINES} nodes of {RANKS} ranks on one machine, {experiment}"
        yield Table(f"machines-{experiment}", title, "more", rows)
