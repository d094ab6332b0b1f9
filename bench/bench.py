"""ddp-exp beside its peers, in turn, on this machine: scripts/bench start step. Saves build/bench/<table>.json."""

import argparse
import os
import sys

import allreduce
import building
import listing
import loader
import machines
import save
import scale
import start
import step
import sweep
from sides import RANKS, ROOT

BENCHES = {
    "start": start,
    "step": step,
    "loader": loader,
    "allreduce": allreduce,
    "save": save,
    "scale": scale,
    "machines": machines,
    "sweep": sweep,
    "list": listing,
    "build": building,
}


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description="ddp-exp side by side with torchrun + DDP")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure (all): {', '.join(BENCHES)}")
    parser.add_argument("--repeat", type=int, default=5, help="rounds; the median counts (5)")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHES)
    if unknown or arguments.repeat < 1:
        parser.error(f"unknown: {', '.join(unknown)}" if unknown else "--repeat wants at least one round")

    print(f"{RANKS} CPU ranks with one thread each, the same LibTorch, the peer over Gloo; medians of", end=" ")
    print(f"{arguments.repeat} rounds in turn on {len(os.sched_getaffinity(0))} cores", flush=True)
    for name in arguments.names or BENCHES:
        for table in BENCHES[name].tables():
            table.measure(arguments.repeat)
            table.print()
            table.save(os.path.join(ROOT, "build", "bench"))
    return 0


sys.exit(main())
