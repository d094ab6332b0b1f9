"""One all-reduce between two ranks, over shared memory and over Gloo, by one and the same program.

Beside it, both ranks copying as many bytes at the same time from one buffer to another: each reads n and writes n, as
an all-reduce at the least has to.
"""

import functools
import os
import subprocess

from sides import RANKS
from table import Table

SIZES = {"1 KiB": (1 << 10, 5000, 500), "1 MiB": (1 << 20, 300, 100), "25 MiB": (25 << 20, 15, 5), "100 MiB": (100 << 20, 5, 3)}  # fmt: skip


def microseconds(what, size, calls):
    program = os.path.join(os.path.dirname(os.environ["DDP_EXP"]), "bench_collectives")
    command = [program, what, str(RANKS), str(size), str(calls)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} exited with {done.returncode}:\n{done.stderr}")
    return float(done.stdout) * 1e6


def tables():
    for name, (size, calls, calls_of_gloo) in SIZES.items():
        rows = {
            "shared memory": functools.partial(microseconds, "shm", size, calls),
            "Gloo": functools.partial(microseconds, "gloo", size, calls_of_gloo),
            "both ranks copying": functools.partial(microseconds, "copy", size, calls),
        }
        yield Table(f"allreduce-{size}", f"microseconds of an all-reduce of {name}", "less", rows)
