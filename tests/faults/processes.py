"""The processes of a test that is alone in its namespace, and their ends."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time

PATIENCE = 90  # seconds for a short operation on a busy machine
_OF_LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "TORCHELASTIC_", "SLURM_", "GROUP_", "ROLE_")


def until(fact, what, within=PATIENCE, pause=0.001):
    """Waits until `fact()` is true, and returns its value."""
    deadline = time.monotonic() + within
    while True:
        found = fact()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {within} s: {what}"
        time.sleep(pause)


def _stat(pid):
    """The state and the parent of a process; None if it has gone."""
    try:
        state, parent = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        return state, int(parent)
    except (FileNotFoundError, ProcessLookupError):
        return None


def others():
    """All other processes, zombies too: {pid: (state, parent)}. Reaps ended processes that this one inherited from
    their parent."""
    known = {command.pid for command in Command.running}
    found = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        stat = _stat(pid) if pid != os.getpid() else None
        if stat == ("Z", os.getpid()) and pid not in known:
            os.waitpid(pid, 0)
        elif stat:
            found[pid] = stat
    return found


def children(pid):
    """The children in the order of their start."""
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def ranks(pid):
    """The ranks of a command: a rank's stdout is its log; short-lived helper processes have none."""
    found = {}
    for child in children(pid):
        try:
            log = pathlib.Path(os.readlink(f"/proc/{child}/fd/1")).name
        except OSError:  # the process has ended
            continue
        if log.startswith("rank-"):
            found[int(log.removeprefix("rank-").removesuffix(".log"))] = child
    return found


def listeners():
    """The local addresses of all listening sockets of this network."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]]
    return [words[1] for words in lines if words[3] == "0A"]


class Command:
    """A program that runs in a folder."""

    running = set()

    def __init__(self, words, folder, environment=(), preexec=None):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(_OF_LAUNCHERS)}
        self._files = [tempfile.TemporaryFile("w+") for _ in range(2)]
        self.words = [str(word) for word in words]
        self.begun = time.monotonic()
        self._process = subprocess.Popen(
            self.words, cwd=folder, env=clean | {"CUDA_VISIBLE_DEVICES": ""} | dict(environment),
            stdin=subprocess.DEVNULL, stdout=self._files[0], stderr=self._files[1], start_new_session=True,
            preexec_fn=preexec)  # fmt: skip
        self.pid = self._process.pid
        Command.running.add(self)

    def said(self):
        """The text that the program has written to stderr so far."""
        # Opens the file again, since its own descriptor shares the file position with the program.
        return pathlib.Path(f"/proc/self/fd/{self._files[1].fileno()}").read_text(errors="replace")

    def printed(self):
        return pathlib.Path(f"/proc/self/fd/{self._files[0].fileno()}").read_text(errors="replace")

    def ended(self):
        return self._process.poll() is not None

    def kill(self, number=signal.SIGKILL):
        self._process.send_signal(number)

    def finish(self, within=PATIENCE):
        """Waits for its end and returns the exit code, or minus the signal that ended it."""
        try:
            code = self._process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self} has not ended within {within} s") from None
        Command.running.discard(self)
        self.seconds = time.monotonic() - self.begun
        return code

    def close(self):
        for file in self._files:
            file.close()

    def __str__(self):
        return f"{' '.join(self.words)}: {self._process.poll()}\n{self.printed()}{self.said()}"
