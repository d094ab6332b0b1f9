"""One all-reduce between two ranks, over shared memory and over Gloo, measured by the same program.

Shared memory is measured twice: with tensors in the memory of DDP's buckets, and with tensors elsewhere. For
comparison, both ranks copy as many bytes at the same time from one buffer to another: each reads n bytes and writes n
bytes, the least that an all-reduce needs.
"""

import functools

from sides import RANKS, run_program
from table import Table

SIZES = {"1 KiB": (1 << 10, 5000, 500), "1 MiB": (1 << 20, 300, 100), "25 MiB": (25 << 20, 15, 5), "100 MiB": (100 << 20, 5, 3)}  # fmt: skip


def microseconds(what, size, calls):
    return float(run_program("bench_collectives", what, RANKS, size, calls)) * 1e6


def tables():
    for name, (size, calls, calls_of_gloo) in SIZES.items():
        rows = {
            "shared memory": functools.partial(microseconds, "shm", size, calls),
            "shared memory, tensors elsewhere": functools.partial(microseconds, "elsewhere", size, calls),
            "Gloo": functools.partial(microseconds, "gloo", size, calls_of_gloo),
            "both ranks copying": functools.partial(microseconds, "copy", size, calls),
        }
        yield Table(f"allreduce-{size}", f"microseconds of an all-reduce of {name}", "less", rows)
