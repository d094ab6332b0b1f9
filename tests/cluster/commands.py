"""Programs that a test starts, and conditions that it waits for."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time

PATIENCE = 90  # seconds for a short operation on a busy machine

_OF_LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "TORCHELASTIC_", "SLURM_", "GROUP_", "ROLE_")


def until(fact, what, within=PATIENCE):
    """Waits until `fact()` is true, and returns its value."""
    deadline = time.monotonic() + within
    while True:
        found = fact()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {within} s: {what}"
        time.sleep(0.01)


def running(program):
    """The ids of this test's processes that run `program`."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "exe").resolve().name == program and state_of(process.name) != "Z":
                found.append(int(process.name))
        except OSError:  # the process has ended
            pass
    return found


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def children(pid):
    """The children of a process in the order of their start."""
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Ended:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __str__(self):
        return f"exit {self.code} after {self.seconds:.1f} s\n{self.out}{self.err}"


class Command:
    """A program that runs on a host."""

    def __init__(self, words, folder, environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(_OF_LAUNCHERS)}
        self._files = [tempfile.TemporaryFile("w+") for _ in range(2)]
        self._begun = time.monotonic()
        self._process = subprocess.Popen(
            [str(word) for word in words], cwd=folder, env=clean | environment, stdin=subprocess.DEVNULL,
            stdout=self._files[0], stderr=self._files[1], start_new_session=True)  # fmt: skip

    @property
    def pid(self):
        return self._process.pid

    def printed(self):
        """The text that the program has written to stdout so far."""
        # Opens the file again, since its own descriptor shares the file position with the program.
        return pathlib.Path(f"/proc/self/fd/{self._files[0].fileno()}").read_text(errors="replace")

    def said(self):
        """The text that the program has written to stderr so far."""
        return pathlib.Path(f"/proc/self/fd/{self._files[1].fileno()}").read_text(errors="replace")

    def until_said(self, text, within=PATIENCE):
        until(lambda: text in self.said() or self.ended(), f"it says \"{text}\"", within)
        assert text in self.said(), f"it has ended without a word of \"{text}\":\n{self.said()}"

    def ended(self):
        return self._process.poll() is not None

    def kill(self, number=signal.SIGKILL):
        """Sends SIGKILL and waits: the kernel ends the node and its ranks soon, but not at once."""
        killed = {self.pid, *children(self.pid)} if number == signal.SIGKILL else set()
        self._process.send_signal(number)
        until(lambda: not killed & set(running("ddp-exp")), "the kernel has ended the killed processes")

    def finish(self, within=PATIENCE):
        try:
            code = self._process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self._process.args} has not ended within {within} s:\n{self.said()}") from None
        seconds = time.monotonic() - self._begun
        return Ended(code, self.printed(), self.said(), seconds)

    def end(self):
        if not self.ended():
            self.kill()
        self._process.wait()
