"""Runs with a fault in one call on a file: the process is killed, or the call fails or is only partly done.

A Life is the sequence of calls on files of results/ that one process of one command makes from its start to its end:
rank 0 or the parent of a new run, which saves twice, or of a resumed run. The order of the calls is the same each time
but for the thread that writes metrics.jsonl: on a busy machine its calls can come earlier or later. So a strike reports
which call it struck.
"""

import os
import shutil
import signal

from processes import others
from programs import until
from training import Training, pool, same

# A sanitizer's library must come first, and it cannot open a log of its own through the counting library.
PRELOADED = " ".join(filter(None, [os.environ.get("DDP_PRELOAD_FIRST"), os.environ["DDP_NTH_CALL"]]))
ASAN_OPTIONS = ":".join(o for o in os.environ.get("ASAN_OPTIONS", "").split(":") if not o.startswith("log_path="))
STEPS = 4
# Two epochs of two steps. The validation after the first epoch saves as the best so far; the second one is better, so
# one checkpoint stays.
SETTINGS = {"device_pool": pool(2), "steps": STEPS, "dataset__size": 40, "validation__split": 0.2,
            "checkpoint__keep_last": 1, "checkpoint__keep_best": 1,
            # A separate thread writes events; its calls come at random moments between the others.
            "log__tensorboard": "false"}  # fmt: skip


class Life:
    def __init__(self, folder, role, resumed, calls):
        """`calls`: "change" for calls that can change a file, or "all"."""
        self.folder, self.role, self.resumed, self._calls = folder, role, resumed, calls
        self._struck = folder / "struck_calls"
        self._reference = Training(folder, "never", **SETTINGS)
        if not self._reference.begun():
            self._reference.complete()
        self.expected = self._reference.left()
        if resumed:
            self._half_done = half_done(folder)
        self.calls = self._trace()

    def __str__(self):
        return f"{self.role} of a {'resumed' if self.resumed else 'new'} run"

    def _run(self, name):
        run = self._run_named(name)
        if self.resumed:
            shutil.copytree(self._half_done.path.parent, run.path.parent, symlinks=True)
        return run

    def _run_named(self, name):
        return Training(self.folder, name, **SETTINGS)

    def _trace(self):
        log = self.folder / "calls"
        log.unlink(missing_ok=True)
        run = self._run("traced")
        run.complete(environment=_strike(run, self.role, self._calls, 0, log=log))
        same(run, self.expected)
        _remove(run)
        return _calls_in(log)

    def strike(self, number, do, times=1):
        """Runs the command with a fault in call `number`, counted from 0; returns the run, the command and its exit
        code. struck() has the calls that got the fault."""
        run = self._run("struck")
        self._struck.unlink(missing_ok=True)
        command = run.start("--verbose", environment=_strike(run, self.role, self._calls, number + 1, do, times, self._struck))
        code = command.finish()
        until(lambda: not others(), "all processes have gone")
        return run, command, code

    def struck(self):
        """The calls that got the fault of the last strike, each with its path: none if the process made fewer calls."""
        return _calls_in(self._struck) if self._struck.exists() else []

    def ends_like_one_that_was_not(self, run):
        """Resumes a run after its fault."""
        run.complete()
        self.has_ended_like_one_that_was_not(run)

    def has_ended_like_one_that_was_not(self, run, but=()):
        same(run, self.expected, but)
        _remove(run)

    def clear(self):
        """Removes the remains of a run whose check failed."""
        for pid in others():
            os.kill(pid, signal.SIGKILL)
        _remove(self._run_named("struck"))

    def describe(self, number):
        return f"call {number + 1} of {len(self.calls)} of {self}, {' '.join(self.calls[number])}"


def _calls_in(log):
    return [tuple(line.split(" ", 1)) for line in log.read_text().splitlines()]


def _strike(run, role, calls, at, do="", times=1, log=""):
    return {"LD_PRELOAD": PRELOADED, "ASAN_OPTIONS": ASAN_OPTIONS,
            "DDP_FAULT_ROOT": str(run.path.parent), "DDP_FAULT_ROLE": role, "DDP_FAULT_CALLS": calls,
            "DDP_FAULT_AT": str(at), "DDP_FAULT_TIMES": str(times), "DDP_FAULT_DO": str(do), "DDP_FAULT_LOG": str(log)}  # fmt: skip


def half_done(folder):
    """A run that was killed just before its second save."""
    run = Training(folder, "half", **SETTINGS)
    if not run.begun():
        traced = Life(folder, "rank-0", resumed=False, calls="change")
        second = next(n for n, (_, path) in enumerate(traced.calls) if f"{STEPS:08}" in path)
        run, command, code = traced.strike(second, "kill")
        assert code == 1 and run.saved_steps() == [2], command
        run.path.parent.rename(folder / "results" / "half")
        run = Training(folder, "half", **SETTINGS)
    return run


def _remove(run):
    shutil.rmtree(run.path.parent, ignore_errors=True)
