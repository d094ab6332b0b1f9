"""The devices of the checks: this machine's GPUs, or CPUs in their place; and runs on these devices."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(os.environ["DDP_SOURCE"])
sys.path.insert(0, str(ROOT / "tests/faults"))

from processes import Command, children, ranks  # noqa: E402, F401
from programs import until  # noqa: E402, F401
from training import EXPERIMENT, PROGRAM, Training, same, sets, write_npy  # noqa: E402, F401

LONG = 300  # seconds in which any run of the checks ends; a GPU's first kernels load for many seconds


class LeftOut(Exception):
    """This machine cannot run the check; says why."""


def on_gpus(check):
    """Marks a check that needs a GPU."""
    check.needs_gpu = True
    return check


class Machine:
    def __init__(self, rehearsal):
        self.rehearsal = rehearsal
        self.gpus = 2 if rehearsal else count_gpus()
        # Command hides all GPUs unless it is told otherwise.
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(self.gpus))))
        self.environment = {} if rehearsal else {"CUDA_VISIBLE_DEVICES": visible}
        self.fastest = "shm" if rehearsal else "nccl"
        self.backends = [self.fastest, "gloo"]

    def pool(self, ranks=1, per_rank=None):
        """A device_pool of so many ranks, or of groups of `per_rank` devices."""
        devices = ["cpu" if self.rehearsal else number for number in range(ranks * (per_rank or 1))]
        if per_rank:
            devices = [devices[first : first + per_rank] for first in range(0, len(devices), per_rank)]
        return json.dumps(devices)

    def all(self):
        return self.pool(self.gpus)

    def command(self, *words, folder, **more):
        return Command([PROGRAM, *words], folder, self.environment, **more)

    def call(self, *words, folder):
        """Runs the program, which must succeed, and returns what it printed."""
        command = self.command(*words, folder=folder)
        assert command.finish(LONG) == 0, command
        return command.printed()


def count_gpus():
    """The GPUs that the program sees. A plan with every GPU has a rank for each."""
    plan = subprocess.run([PROGRAM, "plan", ROOT / "experiments/basic.toml", "--json"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=True)  # fmt: skip
    devices = [device for rank in json.loads(plan.stdout)["ranks"] for device in rank["devices"]]
    if "cpu" in devices:
        sys.exit("gpu-check: the program sees no GPU (nvidia-smi, CUDA_VISIBLE_DEVICES)")
    return len(devices)


class Run(Training):
    """A run of a small experiment whose bits are compared."""

    def __init__(self, machine, folder, name, **settings):
        self._machine = machine
        experiment = settings.pop("experiment", EXPERIMENT)
        defaults = {"device_pool": machine.pool(), "deterministic": "true"}
        super().__init__(folder, name, experiment=experiment, **(defaults | settings))

    def start(self, *words, **more):
        return super().start(*words, environment=self._machine.environment, **more)

    def complete(self, *words, **more):
        command = self.start(*words, **more)
        assert command.finish(LONG) == 0, command
        return command.said()

    def trains(self, *words):
        """Starts the run and returns its command and the processes of its ranks, once it has trained a step."""
        command = self.start(*words)
        before = self.last_step()
        until(lambda: self.last_step() > before or command.ended(), "it trains", LONG)
        assert not command.ended(), command
        return command, ranks(command.pid)


def gone(processes):
    """Waits until these processes have ended."""
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in processes), "all ranks have gone", 30)
