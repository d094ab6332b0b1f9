"""The time until a failure is detected, and until the failed command has ended."""

import os
import re
import select
import signal
import statistics
import sys
import time

import isolation
from processes import others, ranks
from programs import until
from training import Training, pool

isolation.enter()
parser = isolation.arguments(__doc__)
parser.add_argument("--repeat", type=int, default=5, help="times; the median counts")
asked = parser.parse_args()

ENDLESS = 1_000_000_000
SOON = 10  # seconds on a busy machine; docs/promises.md has the medians


class Running:
    """A training run of three ranks in which the test kills or stops a process."""

    def __init__(self, folder, number, *words, backend="shm", environment=(), **settings):
        self.run = Training(folder, f"run{number}", device_pool=pool(3), backend=f'"{backend}"', steps=ENDLESS,
                            checkpoint__save_every_steps=50, log__every=50, dataset__size=20001, **settings)  # fmt: skip
        self.command = self.run.start(*words, environment=environment)
        until(lambda: self.run.saved_steps() or self.command.ended(), "it has saved")
        until(lambda: len(ranks(self.command.pid)) == 3 or self.command.ended(), "its ranks run")
        assert not self.command.ended(), self.command
        self._ends = {"parent": os.pidfd_open(self.command.pid)}
        for rank, pid in ranks(self.command.pid).items():
            self._ends[rank] = os.pidfd_open(pid)

    def strike(self, who, number=signal.SIGKILL):
        self._struck = time.monotonic()
        signal.pidfd_send_signal(self._ends[who], number)

    def ended_after(self, who):
        """The seconds from the fault until the command has ended."""
        waiting = select.poll()
        waiting.register(self._ends[who], select.POLLIN)
        assert waiting.poll(60_000), f"{who} has not ended"
        return self.since_strike()

    def since_strike(self):
        return time.monotonic() - self._struck

    def close(self):
        for end in self._ends.values():
            os.close(end)
        until(lambda: not others(), "all processes have gone")
        self.command.close()


def figures(times):
    return ", ".join(
        f"{what}: {statistics.median(t) * 1000:.0f} ms (at most {max(t) * 1000:.0f} ms)" for what, t in times.items())


def dead_rank(folder):
    """a rank that is killed is detected, the others are ended, and so is the command, at once"""
    times = {}
    for number in range(asked.repeat):
        for backend in ("shm", "gloo"):
            running = Running(folder, f"{backend}{number}", backend=backend)
            running.strike(1 + number % 2)
            times.setdefault(f"{backend}: seen, and the others ended", []).append(running.ended_after(0))
            times.setdefault(f"{backend}: command ended", []).append(running.ended_after("parent"))
            assert running.command.finish() == 1, running.command
            running.close()
    assert all(max(t) < SOON for t in times.values()), figures(times)
    return figures(times)


def dead_parent(folder):
    """the ranks of a parent that is killed are gone at once"""
    times = []
    for number in range(asked.repeat):
        running = Running(folder, number)
        running.strike("parent")
        times.append(max(running.ended_after(rank) for rank in range(3)))
        running.command.finish()
        running.close()
    assert max(times) < SOON, times
    return figures({"its last rank gone": times})


def stopped_rank(folder):
    """a rank that is stopped is found after the timeout, and the run ends; if gdb is installed, after it has said where
    the rank is"""
    timeout, gdb_patience, times = 5, 30, {}
    for what, environment in {"without gdb": {"PATH": str(folder)}, "with gdb": {}}.items():
        for backend in ("shm", "gloo"):
            running = Running(folder, f"{what.split()[0]}-{backend}", backend=backend, environment=environment,
                              distributed__timeout=timeout)  # fmt: skip
            running.strike(1, signal.SIGSTOP)
            times.setdefault(f"{what}, after a timeout of {timeout} s", []).append(running.ended_after("parent"))
            assert running.command.finish() == 1 and "rank 1" in running.command.said(), running.command
            running.close()
    # The others may have begun to wait for rank 1 a moment before it was stopped.
    early, late = timeout - 1, timeout + gdb_patience + SOON
    assert all(early <= min(t) and max(t) < late for t in times.values()), figures(times)
    return figures(times)


def restarted(folder):
    """with --max-restarts a run whose rank was killed trains again at once"""
    times = []
    for number in range(asked.repeat):
        running = Running(folder, number, "--max-restarts", 1)
        running.strike(1)
        told = until(lambda: re.search(r"all ranks start again after step (\d+)", running.command.said()), "a restart")
        latest = running.run.path / "checkpoints/latest"
        until(lambda: int(os.readlink(latest)[5:]) > int(told[1]), "it trains and saves")
        times.append(running.since_strike())
        running.command.kill(signal.SIGTERM)
        assert running.command.finish() == 143, running.command
        running.close()
    assert max(times) < SOON, times
    return figures({"50 more steps done and saved after": times})


sys.exit(isolation.check([dead_rank, dead_parent, stopped_rank, restarted], asked.only))
