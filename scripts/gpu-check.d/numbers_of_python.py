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


def parity(machine, folder):
    """the parity cases of the CPU, and a ResNet-18 and a GPT written in Python in fp32 and bf16, have Python's bits"""
    if not os.environ.get("DDP_PYTHON"):
        raise LeftOut("needs PyTorch's Python: DDP_PYTHON and DDP_PYTHONPATH")
    environment = os.environ | {"PYTHONPATH": os.environ.get("DDP_PYTHONPATH", ""), "PYTHONDONTWRITEBYTECODE": "1"}
    if not machine.rehearsal:
        environment["DDP_PARITY_DEVICE"] = "cuda"
    differ = []
    for name in ["clip"] if machine.rehearsal else TESTS:
        words = [os.environ["DDP_PYTHON"], ROOT / f"tests/parity/test_{name}.py", *CASES.get(name, [])]
        test = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)  # fmt: skip
        lines = test.stdout.splitlines()
        yield f"{name}: {lines[-1] if lines else 'printed nothing'}"
        if test.returncode != 0:
            differ.append(name)
            yield from lines
    if differ:
        raise AssertionError(f"these differ: {', '.join(differ)}")


CHECKS = [parity]
