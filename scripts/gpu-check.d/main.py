"""The checks of scripts/gpu-check. A check is a function of a Machine and of a fresh folder; its docstring describes
it, and it gives lines to print. The decorator `on_gpus` marks a check that a CPU cannot rehearse."""

import argparse
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

CHECKS = [*trainings.CHECKS, *sharing.CHECKS, *faults.CHECKS, *features.CHECKS, *numbers_of_python.CHECKS]


def description(check):
    return " ".join(check.__doc__.split())


def verdict_of(check, machine):
    """Runs the check and prints its verdict and its lines."""
    begun = time.monotonic()
    told = []
    with tempfile.TemporaryDirectory(prefix="ddp-exp-gpu-") as folder:
        try:
            if machine.rehearsal and getattr(check, "needs_gpu", False):
                raise LeftOut("needs a GPU")
            for line in check(machine, pathlib.Path(folder)) or []:
                told.append(line)
            verdict = "kept"
        except LeftOut as why:
            verdict, told = "left out", [*told, str(why)]
        except Exception:  # the other checks run too
            verdict, told = "BROKEN", [*told, *traceback.format_exc().splitlines()]
    print(f"{verdict:10}{description(check)} ({time.monotonic() - begun:.1f} s)", flush=True)
    for line in told:
        print(f"          {line}", flush=True)
    return verdict


def main():
    parser = argparse.ArgumentParser(prog="scripts/gpu-check")
    parser.add_argument("--rehearse", action="store_true", help="on the CPU")
    parser.add_argument("--only", default="", metavar="WORD", help="checks whose description contains it")
    parser.add_argument("--list", action="store_true", help="print the descriptions")
    asked = parser.parse_args()
    chosen = [check for check in CHECKS if asked.only in description(check)]
    if asked.list:
        print("\n".join(description(check) for check in chosen))
        return 0
    machine = Machine(asked.rehearse)
    verdicts = [verdict_of(check, machine) for check in chosen]
    kept, broken = verdicts.count("kept"), verdicts.count("BROKEN")
    where = "rehearsed on the CPU" if asked.rehearse else f"on {machine.gpus} GPU(s)"
    print(f"gpu-check, {where}: {kept} kept, {broken} broken, {verdicts.count('left out')} left out")
    return 0 if kept and not broken else 1


sys.exit(main())
