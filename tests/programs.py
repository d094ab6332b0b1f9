"""What Python's tests of several folders share: programs that they start, conditions that they wait for, namespaces."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(os.environ["DDP_EXP"])
# A small training with a validation, and a sweep of it whose second trial fails.
TRAINED = """
dataset     = { name = "counting", size = 101, features = 6, classes = 3 }
optimizer   = { name = "sgd", lr = 0.001, momentum = 0.9 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
epochs      = 4
threads     = 1
validation  = { split = 0.2 }
model       = { name = "mlp", in_features = 6, hidden = [8], out_features = 3 }
"""
SWEPT = """
extends = "small.toml"
sweep = { method = "grid", metric = "val_loss", parameters = { "optimizer.lr" = [0.01, 1e30] } }
"""
PATIENCE = 90  # seconds for a short operation on a busy machine
_OF_LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "TORCHELASTIC_", "SLURM_", "GROUP_", "ROLE_")


def until(fact, what, within=PATIENCE, pause=0.002):
    """Waits until `fact()` is true, and returns its value."""
    deadline = time.monotonic() + within
    while True:
        found = fact()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {within} s: {what}"
        time.sleep(pause)


def children(pid):
    """The children of a process in the order of their start; none if it has gone."""
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def sets(**settings):
    """Settings as arguments: optimizer__lr=0.1 is --set optimizer.lr=0.1. Values are TOML."""
    return [word for key, value in settings.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


def events_in(file, kind):
    """The events of a kind in a file of JSON lines; an incomplete last line is not an event."""
    try:
        lines = file.read_text().split("\n")[:-1]
    except FileNotFoundError:
        return []
    return [event for event in map(json.loads, lines) if event["event"] == kind]


class Command:
    """A program that runs in a folder."""

    def __init__(self, words, folder, environment=(), preexec=None):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(_OF_LAUNCHERS)}
        self._files = [tempfile.TemporaryFile("w+") for _ in range(2)]
        self.words = [str(word) for word in words]
        self.begun = time.monotonic()
        self._process = subprocess.Popen(
            self.words, cwd=folder, env=clean | dict(environment), stdin=subprocess.DEVNULL, stdout=self._files[0],
            stderr=self._files[1], start_new_session=True, preexec_fn=preexec)  # fmt: skip
        self.pid = self._process.pid

    def printed(self):
        """The text that the program has written to stdout so far."""
        # Opens the file again, since its own descriptor shares the file position with the program.
        return pathlib.Path(f"/proc/self/fd/{self._files[0].fileno()}").read_text(errors="replace")

    def said(self):
        """The text that the program has written to stderr so far."""
        return pathlib.Path(f"/proc/self/fd/{self._files[1].fileno()}").read_text(errors="replace")

    def ended(self):
        return self._process.poll() is not None

    def kill(self, number=signal.SIGKILL):
        self._process.send_signal(number)

    def wait(self, within):
        """Waits for its end and returns the exit code, or minus the signal that ended it."""
        try:
            code = self._process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self} has not ended within {within} s") from None
        self.seconds = time.monotonic() - self.begun
        return code

    def __str__(self):
        return f"{' '.join(self.words)}: {self._process.poll()}\n{self.printed()}{self.said()}"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def isolate(programs, namespaces, tried):
    """Moves the test into its own namespaces, besides those of its mounts, its network and its processes those of
    `namespaces`: nothing that it starts outlives it, even if it is killed, and two tests never interfere. If the machine
    has not all `programs`, or cannot run `tried` there, the test is skipped."""
    if os.environ.get("DDP_TEST_ISOLATED") == "yes":
        return
    if os.geteuid() != 0:
        skip("namespaces take root")
    for program in ("unshare", *programs):
        if shutil.which(program) is None:
            skip(f"this machine has no {program}")
    apart = ["unshare", "--mount", "--net", "--pid", *namespaces, "--fork", "--kill-child", "--mount-proc"]
    done = subprocess.run([*apart, *tried], capture_output=True, text=True)
    if done.returncode != 0:
        skip(f"this machine gives no namespaces: {done.stderr.strip()}")
    os.environ["DDP_TEST_ISOLATED"] = "yes"
    os.execvp("unshare", [*apart, sys.executable, "-B", *sys.argv])
