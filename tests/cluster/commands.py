"""Programs that a test starts on a host."""

import pathlib
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).parent.parent))
import programs  # noqa: E402
from programs import PATIENCE, children, until  # noqa: E402


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


class Ended:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __str__(self):
        return f"exit {self.code} after {self.seconds:.1f} s\n{self.out}{self.err}"


class Command(programs.Command):
    """A program that runs on a host."""

    def until_said(self, text, within=PATIENCE):
        until(lambda: text in self.said() or self.ended(), f"it says \"{text}\"", within)
        assert text in self.said(), f"it has ended without a word of \"{text}\":\n{self.said()}"

    def kill(self, number=signal.SIGKILL):
        """Sends SIGKILL and waits: the kernel ends the node and its ranks soon, but not at once."""
        killed = {self.pid, *children(self.pid)} if number == signal.SIGKILL else set()
        self._process.send_signal(number)
        until(lambda: not killed & set(running("ddp-exp")), "the kernel has ended the killed processes")

    def finish(self, within=PATIENCE):
        code = self.wait(within)
        return Ended(code, self.printed(), self.said(), self.seconds)

    def end(self):
        if not self.ended():
            self.kill()
        self._process.wait()
