"""From one rank to far more ranks than cores: start time should grow with the ranks, step time with the work."""

import functools
import os

from start import first_step
from step import ddp_exp
from table import Table

RANKS = (1, 2, 4, 8, 16, 64)


def tables():
    names = {f"{ranks} rank{'s' if ranks > 1 else ''}": ranks for ranks in RANKS}
    starts = {name: functools.partial(first_step, os.environ["DDP_EXP"], ranks) for name, ranks in names.items()}
    # The total number of steps over all ranks is the same for every number of ranks.
    steps = {name: lambda ranks=ranks: ranks * ddp_exp("toy", 16000 // ranks, ranks=ranks) for name, ranks in names.items()}
    return [
        Table("scale-start", "seconds from the command to the first step, toy model", "less", starts, peers=False),
        Table("scale-step", "steps a second of all ranks together, toy model", "more", steps, peers=False),
    ]
