"""Models of transformers, trained with a named loss, their own and one in Python: equal to Python's DDP bit for bit."""

import os
import subprocess
import sys
import tempfile

from parity import case, check  # before numpy: it keeps numpy from starting threads

import numpy as np

from hub_models import CONFIGS, LOSS

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = 40  # the last batch of an epoch is short
WORLDS = ((1, "one rank"), (2, "two ranks"), (3, "three ranks"))
SETS = {
    "GPT2LMHeadModel": ("ids", "ids"),
    "LlamaForCausalLM": ("ids", "ids"),
    "BertForSequenceClassification": (["ids", "mask"], "kinds"),
    "T5ForConditionalGeneration": ("ids", "answers"),
    "ViTForImageClassification": ("images", "kinds"),
}


def write_data(folder):
    draw = np.random.default_rng(1)
    lengths = draw.integers(4, 13, (ROWS, 1))
    np.savez(
        os.path.join(folder, "data.npz"),
        ids=draw.integers(0, 61, (ROWS, 12)),
        mask=(np.arange(12) < lengths).astype(np.int64),
        answers=draw.integers(0, 61, (ROWS, 8)),
        images=draw.standard_normal((ROWS, 3, 16, 16), dtype=np.float32),
        kinds=draw.integers(0, 4, ROWS),
    )


def cases(folder):
    def with_loss(title, name, loss, **experiment):
        inputs, targets = SETS[name]
        return case(
            title,
            model={"name": "exported", "path": os.path.join(folder, f"{name}{LOSS if loss == 'model' else ''}.pt2")},
            dataset={"name": "npz", "path": os.path.join(folder, "data.npz"), "inputs": inputs, "targets": targets},
            loss=loss, validation={"split": 0.2}, optimizer={"name": "adamw", "lr": 0.01}, **experiment)  # fmt: skip

    named = [name for name in CONFIGS if name != "T5ForConditionalGeneration"]  # its decoder needs the labels
    return [
        *(with_loss(f"{name}, {ranks}", name, "model", world=world) for name in CONFIGS for world, ranks in WORLDS),
        *(with_loss(f"{name}, cross_entropy, {ranks}", name, "cross_entropy", world=world) for name in named for world, ranks in WORLDS),
        *(with_loss(f"{name}, resumed", name, "model", first={"epochs": 1}) for name in CONFIGS),
    ]  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ddp-exp-hub-") as scratch:
        # In a process of its own: this one stays without threads, because ranks.py forks it.
        exports = [*(name + LOSS for name in CONFIGS), *(name for name in CONFIGS if name != "T5ForConditionalGeneration")]
        command = [sys.executable, os.path.join(HERE, "exported_models.py"), scratch, *exports]
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit("a model cannot be exported")
        write_data(scratch)
        sys.exit(check(cases(scratch)))
