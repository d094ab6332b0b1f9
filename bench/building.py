"""The cost of a cold build of the program: everything that `scripts/ddp-exp run experiments/basic.toml` compiles,
uncached.

Seconds of one machine mean little on another, so the first row matters most: the cost of the whole build divided by the
cost of one small file (five headers of the standard library).
"""

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

from sides import ROOT
from table import Table

sys.path.append(str(pathlib.Path(ROOT) / "scripts" / "setup"))
from progress import SMALL_SOURCE  # noqa: E402

FOLDER = pathlib.Path(ROOT) / "build" / "bench-build"


def processor_seconds(command, **options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def small_file():
    source = FOLDER / "small.cpp"
    source.write_text(SMALL_SOURCE)
    return processor_seconds(["c++", "-std=c++20", "-O1", "-c", source, "-o", FOLDER / "small.o"])


class Build:
    """One cold build, which provides the values of all rows."""

    def __init__(self):
        self.measured = None

    def build(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        libtorch = next(
            line.split("=", 1)[1]
            for line in (pathlib.Path(ROOT) / "build/release/CMakeCache.txt").read_text().splitlines()
            if line.startswith("DDP_LIBTORCH:")
        )
        environment = {**os.environ, "CCACHE_DISABLE": "1"}
        begun = time.monotonic()
        cost = processor_seconds(
            ["cmake", "--preset", "release", "-B", FOLDER, f"-DDDP_LIBTORCH={libtorch}", "-DDDP_NCCL=OFF"],
            cwd=ROOT,
            env=environment,
        )
        cost += processor_seconds(["ninja", "all"], cwd=FOLDER, env=environment)
        self.measured = {"cost": cost, "wall": time.monotonic() - begun, "small": small_file()}
        shutil.rmtree(FOLDER)

    def take(self, row):
        """Returns the value of a row. The rows are measured in order; the first one builds."""
        if row == "relative":
            self.build()
            return self.measured["cost"] / self.measured["small"]
        return self.measured[row]


def tables():
    build = Build()
    rows = {
        "a cold build, in small files": lambda: build.take("relative"),
        "a cold build, CPU seconds": lambda: build.take("cost"),
        "a cold build, seconds of waiting": lambda: build.take("wall"),
        "a small file, CPU seconds": lambda: build.take("small"),
    }
    return [Table("build", "cost of a cold build of the program", "less", rows, peers=False, once=True)]
