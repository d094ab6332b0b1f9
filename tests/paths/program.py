"""The program in its own folder, with experiments that train in a moment."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

PROGRAM = os.environ["DDP_EXP"]

TINY = """
model       = "linear"
dataset     = { name = "random_pairs", size = 64 }
device_pool = ["cpu"]
steps       = 2
batch_size  = 8
threads     = 1
"""
SWEEP = TINY + '[sweep.parameters]\n"optimizer.lr" = [0.1, 0.01]\n'

# Error texts of libraries, which no message may contain.
FOREIGN = ("filesystem error", "json.exception", "std::", "what():", "terminate", "FATAL", "basic_string", "bad_")


class Folder:
    def __enter__(self):
        self.path = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="ddp-paths-")))
        # A printed command begins with the program's name.
        (self.path / "bin").mkdir()
        (self.path / "bin" / "ddp-exp").symlink_to(PROGRAM)
        (self.path / "work").mkdir()
        (self.path / "tiny.toml").write_text(TINY)
        (self.path / "s.toml").write_text(SWEEP)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def start(self, command, **more):
        environment = {**os.environ, "PATH": f"{self.path}/bin:{os.environ['PATH']}"}
        done = subprocess.run(command, capture_output=True, cwd=self.path / "work", env=environment, timeout=240, **more)
        out, err = (stream.decode(errors="surrogateescape") for stream in (done.stdout, done.stderr))
        for foreign in FOREIGN:
            assert foreign not in err, f"{command} says {foreign}:\n{err}"
        return done.returncode, out, err

    def run(self, *arguments, code=0):
        """Returns the stdout of the program, which must exit with this code."""
        got, out, err = self.start([PROGRAM, *map(str, arguments)])
        assert got == code, f"{arguments} exited with {got}, not {code}:\n{out}{err}"
        return out

    def told(self, *arguments):
        """Returns stdout and stderr of the program, which must succeed."""
        got, out, err = self.start([PROGRAM, *map(str, arguments)])
        assert got == 0, f"{arguments} exited with {got}:\n{out}{err}"
        return out, err

    def refused(self, *arguments, code=2):
        """Returns the stderr of the program, which must exit with this code and print nothing on stdout."""
        got, out, err = self.start([PROGRAM, *map(str, arguments)])
        assert (got, out) == (code, ""), f"{arguments} exited with {got}, not {code}:\n{out}{err}"
        return err

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def shell(self, command):
        """Runs a command line printed by the program."""
        got, out, err = self.start(["bash", "-c", command])
        assert got == 0, f"{command} exited with {got}:\n{out}{err}"
        return out
