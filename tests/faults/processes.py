"""The processes of a test that is alone in its namespace, and their ends."""

import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent.parent))
import programs  # noqa: E402
from programs import PATIENCE, children  # noqa: E402


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


class Command(programs.Command):
    """A program that runs in a folder, without GPUs."""

    running = set()

    def __init__(self, words, folder, environment=(), preexec=None):
        super().__init__(words, folder, {"CUDA_VISIBLE_DEVICES": ""} | dict(environment), preexec)
        Command.running.add(self)

    def finish(self, within=PATIENCE):
        """Waits for its end and returns the exit code, or minus the signal that ended it."""
        code = self.wait(within)
        Command.running.discard(self)
        return code

    def close(self):
        for file in self._files:
            file.close()
