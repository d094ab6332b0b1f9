"""The input files of bench/data_*.py: written on first use, removed when the bench ends."""

import functools
import json
import os
import tempfile

from sides import run_peer, run_program


class Seconds(float):
    """Wall-clock seconds; `cpu`: CPU seconds of all cores, user and system."""

    def __new__(cls, seconds, cpu):
        self = super().__new__(cls, seconds)
        self.cpu = cpu
        return self


@functools.cache
def folder():
    return tempfile.TemporaryDirectory(prefix="ddp-exp-bench-")  # until the program ends


@functools.cache
def data_file(kind, size, name):
    """Path of a file that data_files.py writes; the same call returns the same file."""
    path = os.path.join(folder().name, name)
    run_peer("data_files.py", kind, path, size)
    return path


def reply_of_program(*arguments):
    return json.loads(run_program("bench_data", *arguments))


def reply_of_peer(script, *arguments):
    return json.loads(run_peer(script, *arguments))
