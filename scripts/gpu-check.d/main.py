"""The checks of scripts/gpu-check. A check is a function of a Machine and of a fresh folder; its docstring describes
it, and it gives lines to print. The decorator `on_gpus` marks a check that a CPU cannot rehearse."""

import argparse
import math
import pathlib
import sys
import tempfile
import time
import traceback

import faults
import features
import numbers_of_python
import sharing
import trainings
from machine import LeftOut, Machine

CHECKS = [*features.CHECKS, *trainings.CHECKS, *sharing.CHECKS, *numbers_of_python.CHECKS, *faults.CHECKS]


def description(check):
    return " ".join(check.__doc__.split())


def tell(line):
    print(f"          {line}", flush=True)


def verdict_of(check, machine, no_time):
    """Runs the check and prints its lines, as they come, and its verdict."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ddp-exp-gpu-") as folder:
        try:
            if machine.rehearsal and getattr(check, "needs_gpu", False):
                raise LeftOut("needs a GPU")
            if no_time:
                raise LeftOut("no time left")
            for line in check(machine, pathlib.Path(folder)) or []:
                tell(line)
            verdict = "kept"
        except LeftOut as why:
            verdict = "left out"
            tell(why)
        except Exception:  # the other checks run too
            verdict = "BROKEN"
            for line in traceback.format_exc().splitlines():
                tell(line)
    print(f"{verdict:10}{description(check)} ({time.monotonic() - begun:.1f} s)", flush=True)
    return verdict


def main():
    parser = argparse.ArgumentParser(prog="scripts/gpu-check")
    parser.add_argument("--rehearse", action="store_true", help="on the CPU")
    parser.add_argument("--only", action="append", metavar="WORD", help="checks whose description contains it; repeatable")
    parser.add_argument("--within", type=float, default=math.inf, metavar="SECONDS", help="after which no other check begins")
    parser.add_argument("--list", action="store_true", help="print the descriptions")
    asked = parser.parse_args()
    chosen = [check for check in CHECKS if any(word in description(check) for word in asked.only or [""])]
    if asked.list:
        print("\n".join(description(check) for check in chosen))
        return 0
    machine = Machine(asked.rehearse)
    end = time.monotonic() + asked.within
    verdicts = [verdict_of(check, machine, time.monotonic() > end) for check in chosen]
    kept, broken = verdicts.count("kept"), verdicts.count("BROKEN")
    where = "rehearsed on the CPU" if asked.rehearse else f"on {machine.gpus} GPU(s)"
    print(f"gpu-check, {where}: {kept} kept, {broken} broken, {verdicts.count('left out')} left out")
    return 0 if kept and not broken else 1


sys.exit(main())
