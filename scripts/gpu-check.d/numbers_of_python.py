"""The parity tests of tests/parity on GPUs: the numbers of PyTorch's Python on the same GPU."""

import os
import subprocess

from machine import ROOT, LeftOut

# The tests whose cases are experiments alone. The others compare what a CPU computes (decoders, tables, exports), or
# start several ranks by themselves.
TESTS = ["models", "optimizers", "losses", "clip", "ema", "groups", "frozen", "validation", "resume",
         "arrays", "ddp_options", "precision", "logical_ranks", "exported"]  # fmt: skip

# The words that choose cases of a test. Other models of the test make tensors on the CPU while they compute.
CASES = {"exported": ["ResNet18", "GPT"]}


def check_of(name):
    def parity(machine, _):
        if not os.environ.get("DDP_PYTHON"):
            raise LeftOut("needs PyTorch's Python: DDP_PYTHON and DDP_PYTHONPATH")
        if machine.rehearsal and name != "clip":
            raise LeftOut("scripts/test runs it on the CPU")
        environment = os.environ | {"PYTHONPATH": os.environ.get("DDP_PYTHONPATH", ""), "PYTHONDONTWRITEBYTECODE": "1"}
        if not machine.rehearsal:
            environment["DDP_PARITY_DEVICE"] = "cuda"
        words = [os.environ["DDP_PYTHON"], ROOT / f"tests/parity/test_{name}.py", *CASES.get(name, [])]
        test = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)  # fmt: skip
        for line in test.stdout:
            yield line.rstrip()
        assert test.wait() == 0, "bits differ"

    some = ", of a ResNet-18 and a GPT," if name in CASES else ""
    parity.__doc__ = f"the parity cases of {name}{some} have Python's bits on the same device"
    return parity


CHECKS = [check_of(name) for name in TESTS]
