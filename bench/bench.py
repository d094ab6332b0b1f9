"""Measures ddp-exp and its peers in turn on this machine: scripts/bench start step. Writes build/bench/<table>.json."""

import argparse
import functools
import os
import sys

import allreduce
import building
import data_gpt
import data_memory
import data_predict
import data_tables
import data_tokens
import exported
import images
import listing
import loader
import machines
import models
import race
import recipe
import restore
import save
import scale
import start
import step
import streams
import sweep
from sides import RANKS, ROOT

MODULES = {
    "start": start,
    "step": step,
    "loader": loader,
    "allreduce": allreduce,
    "save": save,
    "scale": scale,
    "machines": machines,
    "sweep": sweep,
    "race": race,
    "list": listing,
    "build": building,
}
BENCHES = {name: module.tables for name, module in MODULES.items()}
# These benches can also run with tiny files, for a test.
DATA = {
    "data-csv": data_tables.csv_tables,
    "data-parquet": data_tables.parquet_tables,
    "data-tokens": data_tokens.tables,
    "data-memory": data_memory.tables,
    "data-predict": data_predict.tables,
    "data-gpt": data_gpt.tables,
}
STREAMS = {f"streams-{kind}": functools.partial(streams.tables, kind) for kind in streams.COUNTS}
SMALL = DATA | STREAMS | {"exported": exported.tables, "models": models.tables, "images": images.tables, "recipe": recipe.tables, "restore": restore.tables}
GROUPS = {"data": DATA, "streams": STREAMS}


def names_of(words):
    """The benches that these words name; the name of a group stands for all its benches."""
    return [name for word in words or [*BENCHES, *SMALL] for name in GROUPS.get(word, [word])]


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description="ddp-exp side by side with torchrun + DDP")
    words = f"what to measure (all): {', '.join([*BENCHES, *GROUPS, *SMALL])}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=words)
    parser.add_argument("--repeat", type=int, default=5, help="rounds; the result is their median (5)")
    parser.add_argument("--small", action="store_true", help="tiny versions of data, exported, models, images, recipe, restore and streams, to check that they run")
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "bench"), help="folder of the results (build/bench)")
    arguments = parser.parse_args()
    names = names_of(arguments.names)
    unknown = set(names) - set(BENCHES) - set(SMALL)
    if unknown or arguments.repeat < 1:
        parser.error(f"unknown: {', '.join(unknown)}" if unknown else "--repeat needs at least one round")
    if arguments.small and not set(names) <= set(SMALL):
        parser.error("--small works only with data, exported, models, images, recipe, restore and streams")

    print(f"{RANKS} CPU ranks with one thread each, the same LibTorch, the peer over Gloo; medians of", end=" ")
    print(f"{arguments.repeat} rounds in turn on {len(os.sched_getaffinity(0))} cores", flush=True)
    for name in names:
        for table in SMALL[name](arguments.small) if name in SMALL else BENCHES[name]():
            table.measure(arguments.repeat, warm_up=not arguments.small)
            table.print()
            table.save(arguments.output)
    return 0


sys.exit(main())
