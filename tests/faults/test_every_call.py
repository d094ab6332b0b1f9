"""A run loses nothing that it saved, for a fault in any call on a file."""

import collections
import errno
import os
import random
import re
import sys

import isolation
from striking import STEPS, Life

isolation.enter()
parser = isolation.arguments(__doc__)
parser.add_argument("--every", type=int, default=16, help="strike every 16th call; 1: all")
parser.add_argument("--role", choices=["rank-0", "parent"], help="whose calls (both)")
asked = parser.parse_args()

INTERRUPTIBLE = {"open", "openat", "open_to_read", "read", "pread", "pread64", "write", "pwrite", "pwrite64", "writev",
                 "fsync", "fdatasync", "ftruncate", "ftruncate64", "fallocate", "fallocate64"}  # fmt: skip
LOOKS = {"stat", "lstat", "fstat", "fstatat", "opendir", "readdir", "readlink", "open_to_read", "read", "pread",
         "pread64", "fopen", "fopen64"}  # fmt: skip


def lives(folder, calls):
    roles = [asked.role] if asked.role else ["rank-0", "parent"]
    return [Life(folder, role, resumed, calls) for resumed in (False, True) for role in roles]


def chosen(life, those=lambda call: True):
    """The numbers of the calls that get a fault: each call, or every nth from a random one on."""
    numbers = [number for number, (call, _) in enumerate(life.calls) if those(call)]
    return numbers[random.Random(asked.seed).randrange(asked.every) % max(1, len(numbers))::asked.every]


def announced(command):
    """The steps of the checkpoints that the command reported as saved."""
    return [int(step) for step in re.findall(r"checkpoint saved at .*/step-(\d+)", command.said())]


class Strikes:
    """Makes the faults, and continues after a failed check, so the other calls are checked too."""

    def __init__(self):
        self._count = collections.Counter()
        self._broken = []

    def make(self, strike, life, numbers):
        for number in numbers:
            self._count[str(life)] += 1
            try:
                strike(life, number)
            except Exception as error:
                self._broken.append(f"{life.describe(number)}: {error}")
                life.clear()

    def figures(self):
        told = "; ".join(f"{count} calls of {life}" for life, count in self._count.items())
        assert not self._broken, f"{len(self._broken)} of {told}, seed {asked.seed}:\n" + "\n".join(self._broken)
        return told


def killed(folder):
    """a run that is killed before any call on a file resumes from a complete checkpoint, never from one older than a
    checkpoint that it reported as saved, to the same bits and files"""

    def strike(life, number):
        run, command, code = life.strike(number, "kill")
        assert code == (1 if life.role == "rank-0" else -9), command
        saved = max([2] if life.resumed else [], default=0)
        saved = max([saved, *announced(command)])
        goes_on = run.start()
        assert goes_on.finish() == 0, goes_on
        from_step = re.search(r"resuming after step (\d+)|has done its (\d+) steps", goes_on.said())
        assert not saved or int(from_step[1] or from_step[2]) >= saved, goes_on
        life.has_ended_like_one_that_was_not(run)

    strikes = Strikes()
    for life in lives(folder, "change"):
        strikes.make(strike, life, chosen(life))
    return strikes.figures()


def fails(number_of_error, calls, those, folder):
    def strike(life, number):
        run, command, code = life.strike(number, number_of_error)
        said, (call, path) = command.said() + run.log(0), next(iter(life.struck()), life.calls[number])
        assert code in (0, 1, 2) and "terminate called" not in said, command
        if code != 0:
            assert os.strerror(number_of_error) in said or call in LOOKS and "error: " in said, command
            assert f"{STEPS - 2:08}" not in path or call in LOOKS, f"a later save was possible: {command}"
            assert call != "write" or not path.endswith("metrics.jsonl"), f"a second attempt was possible: {command}"
            life.ends_like_one_that_was_not(run)
        else:
            assert not life.resumed or "resuming after step 2" in said, f"it began anew: {command}"
            # A file that cannot be removed, or cannot be recognized as old, stays until the next save. A rank without a
            # log trains too.
            differs = call in LOOKS or re.search("cannot remove an old checkpoint|old checkpoints were not removed", said) or path.endswith(".log")
            life.has_ended_like_one_that_was_not(run, but=("files",) if differs else ())

    strikes = Strikes()
    for life in lives(folder, calls):
        last_lines = [n for n, (call, path) in enumerate(life.calls) if call == "write" and path.endswith("metrics.jsonl")][-1:]
        strikes.make(strike, life, sorted({*chosen(life, those), *last_lines}))
    return strikes.figures()


def full(folder):
    """if one call finds the disk full, the run continues to the same bits and files, or says why not and resumes to
    them later"""
    return fails(errno.ENOSPC, "change", lambda call: call != "close", folder)


def broken(folder):
    """if one call meets an I/O error, the run continues to the same bits and files, or says why not and resumes to them
    later"""
    return fails(errno.EIO, "all", lambda call: True, folder)


def interrupted(folder):
    """if one call is interrupted by a signal, the run ends with the same bits and files"""
    return fails(errno.EINTR, "all", INTERRUPTIBLE.__contains__, folder)


def short(folder):
    """if one write or every write is only partly done, the run ends with the same bits and files"""

    def strike(life, number, times=1):
        run, command, code = life.strike(number, "short", times)
        assert code == 0, command
        life.has_ended_like_one_that_was_not(run)

    strikes = Strikes()
    for life in lives(folder, "change"):
        writes = [call for call, _ in life.calls].count("write")
        strikes.make(strike, life, range(0, writes, asked.every))
        strikes.make(lambda life, number: strike(life, number, times=1 << 30), life, [0])
    return strikes.figures()


def full_for_good(folder):
    """if the disk is full from one call on, the command ends with 1 or 2 and says why; the run resumes later to the
    same bits and files"""

    def strike(life, number):
        run, command, code = life.strike(number, errno.ENOSPC, times=1 << 30)
        assert code in (0, 1, 2) and "terminate called" not in command.said(), command
        assert code == 0 or os.strerror(errno.ENOSPC) in command.said(), command
        life.ends_like_one_that_was_not(run)

    strikes = Strikes()
    for life in lives(folder, "change"):
        strikes.make(strike, life, chosen(life))
    return strikes.figures()


sys.exit(isolation.check([killed, full, full_for_good, broken, interrupted, short], asked.only))
