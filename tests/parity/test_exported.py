"""Models written in Python and saved once: ddp-exp trains them to the same bits as Python's DDP with the same
module."""

import os
import subprocess
import sys
import tempfile

from parity import case, check, selected  # before numpy: it keeps numpy from starting threads

import numpy as np

from device import ON_GPUS
from exported_models import ARCHITECTURES

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = 90  # the last batch of an epoch is short
WITH_SECOND = {"Branching", "Centered", "ConvNextT", "EfficientNetB0", "SwinT"}


def export_models(folder, chosen):
    """Exports the models of these cases, in two processes: this one stays without threads, because ranks.py forks it."""
    script = os.path.join(HERE, "exported_models.py")
    names = sorted({os.path.splitext(os.path.basename(one.experiment["model"]["path"]))[0] for one in chosen})
    halves = [[sys.executable, script, folder, *names[half::2]] for half in range(2)]
    for process in [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in halves]:
        if process.wait() != 0:
            sys.exit(f"{' '.join(process.args)} exited with {process.returncode}")
    for name in names:
        second = os.path.exists(os.path.join(folder, f"{name}.eval.pt2"))
        assert second == (name in WITH_SECOND), f"{name}: a second file, or none"


def write_data(folder):
    draw = np.random.default_rng(1)
    mask = (np.arange(5) < draw.integers(1, 6, (ROWS, 1))).astype(np.int64)
    arrays = {
        "rows": draw.standard_normal((ROWS, 20), dtype=np.float32),
        "images": draw.standard_normal((ROWS, 3, 8, 8), dtype=np.float32),
        "pictures": draw.standard_normal((ROWS, 3, 32, 32), dtype=np.float32),
        "series": draw.standard_normal((ROWS, 5, 6), dtype=np.float32),
        "tokens": draw.integers(0, 61, (ROWS, 16)),
        "next": draw.integers(0, 61, (ROWS, 16)),
        "classes": draw.integers(0, 4, ROWS),
    }
    for name, array in arrays.items():
        np.save(os.path.join(folder, f"{name}.npy"), array)
    words = draw.standard_normal((ROWS, 5, 8), dtype=np.float32)
    np.savez(os.path.join(folder, "words.npz"), x=words, mask=mask, y=arrays["classes"])


def cases(folder):
    def path(name):
        return os.path.join(folder, name)

    def exported(title, name, inputs="rows", targets="classes", **experiment):
        second = path(f"{name}.eval.pt2")
        model = {"name": "exported", "path": path(f"{name}.pt2")} | ({"eval": second} if name in WITH_SECOND else {})
        model |= {"init": experiment.pop("init")} if "init" in experiment else {}
        dataset = {"name": "npy", "inputs": path(f"{inputs}.npy"), "targets": path(f"{targets}.npy")}
        options = {"dataset": dataset, "loss": "cross_entropy", "validation": {"split": 0.2}} | experiment
        return case(title, model=model, **options)

    words = {"name": "npz", "path": path("words.npz"), "inputs": ["x", "mask"], "targets": "y"}
    adam = {"name": "adamw", "lr": 0.01}
    by_layers = {"layer_decay": 0.75, "layers": ["first|patches", "encoder.layers.*|encoder.norm", "head"]}
    return [
        exported("batch norm and dropout, one rank", "Cnn", "images", world=1),
        exported("batch norm and dropout, two ranks", "Cnn", "images"),
        exported("batch norm and dropout, resumed", "Cnn", "images", first={"epochs": 1}),
        exported("batch norm and dropout, accumulated", "Cnn", "images", accumulate=2, optimizer=adam),
        exported("LSTM, one rank", "Lstm", "series", world=1, optimizer=adam),
        exported("LSTM, two ranks", "Lstm", "series", optimizer=adam),
        exported("if self.training", "Branching"),
        exported("a batch norm that forward calls twice", "Twice"),
        exported("a batch norm that forward calls twice, bf16", "Twice", world=1, precision="bf16"),
        exported("a dict with logits", "Dictionary"),
        exported("a layer of a Transformer, a mask as second input, one rank", "Encoder", world=1, dataset=words),
        exported("a layer of a Transformer, a mask as second input, two ranks", "Encoder", dataset=words),
        exported("a GPT whose head is tied, one rank", "gpt", "tokens", "next", world=1, optimizer=adam),
        exported("a GPT whose head is tied, two ranks", "gpt", "tokens", "next", optimizer=adam),
        exported("a part without gradient, and a buffer", "Centered"),
        exported("a rate for each layer, two ranks", "ViT", "pictures", optimizer=adam | by_layers),
        *(
            # Weight decay would change a weight with a gradient of zeros.
            exported(f"a layer that nothing uses, accumulate {accumulate}", "Spare", accumulate=accumulate, epochs=4,
                     optimizer={"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.1},
                     distributed={"find_unused_parameters": True})
            for accumulate in (1, 2)
        ),
        *(
            exported(f"{name}, weights drawn by the seed", name, inputs, targets, init="seed", seed=seed)
            for name, inputs, targets in (("Cnn", "images", "classes"), ("Lstm", "series", "classes"), ("gpt", "tokens", "next"),
                                          ("SwinT", "pictures", "classes"))
            for seed in (0, 7)
        ),
        *(
            exported(f"{name}, {ranks}", name, "pictures", world=world)
            for name in ARCHITECTURES
            for world, ranks in ((1, "one rank"), (2, "two ranks"))
        ),
        # Minutes on a CPU without instructions for bf16.
        *(exported("ResNet18, one rank, bf16", "ResNet18", "pictures", world=1, precision="bf16") for _ in [0] if ON_GPUS),
        exported("a GPT, one rank, bf16", "gpt", "tokens", "next", world=1, optimizer=adam, precision="bf16"),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ddp-exp-exported-") as scratch:
        export_models(scratch, selected(cases(scratch)))
        write_data(scratch)
        sys.exit(check(cases(scratch)))
