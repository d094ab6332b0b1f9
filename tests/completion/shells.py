"""Shells at a terminal of their own, as a user has them: the command line after the Tab key."""

import os
import pathlib
import pty
import select
import shutil
import signal
import time

PROGRAM = os.environ["DDP_EXP"]
PATIENCE = 60  # seconds for a short operation on a busy machine

# The first lines typed at the prompt: they turn on completion, and a key that writes the current command line to the
# file "line".
START = {
    "bash": [
        f"source <({PROGRAM} completion bash)",
        """bind -x '"\\C-xd": printf %s "$READLINE_LINE" >new && mv new line'""",
        "bind 'set enable-bracketed-paste off'",
    ],
    "zsh": [
        "autoload -Uz compinit; compinit -D -u",
        f"source <({PROGRAM} completion zsh)",
        'dump() { print -rn -- "$BUFFER" >new && mv new line }; zle -N dump; bindkey "^Xd" dump',
        "bindkey '^I' complete-word; bindkey '^U' kill-whole-line; unsetopt beep auto_remove_slash",
    ],
    "fish": [
        f"{PROGRAM} completion fish | source",
        "bind \\cxd 'commandline >new; mv new line'; bind \\cu 'commandline \"\"'",
        "function fish_prompt; end",
    ],
}
COMMANDS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}


def installed(shell):
    return shutil.which(shell) is not None


class Shell:
    def __init__(self, shell, folder):
        self._folder = pathlib.Path(folder)
        self._said = b""
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "xterm", "LANG": "C.UTF-8"}
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            os.execvpe(shell, COMMANDS[shell], environment)
        for line in START[shell]:
            self._type(line + "\n")
        self.after("")  # returns once the shell has read all lines

    def after(self, text):
        """Returns the command line after this text was typed."""
        line = self._folder / "line"
        line.unlink(missing_ok=True)
        self._type(f"\x15{text}\x18d")
        deadline = time.monotonic() + PATIENCE
        while not line.exists():
            self._listen(0.01)
            assert time.monotonic() < deadline, f"no line; the terminal shows {self._said[-2000:]!r}"
        return line.read_text().removesuffix("\n")

    def close(self):
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)

    def _type(self, text):
        os.write(self._terminal, text.encode())
        self._listen(0)

    def _listen(self, seconds):
        """A terminal that nobody reads blocks its shell."""
        while select.select([self._terminal], [], [], seconds)[0]:
            self._said += os.read(self._terminal, 65536)
