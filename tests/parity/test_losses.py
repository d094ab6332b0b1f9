"""Every loss, and ignore_index, which divides by the counted targets of a whole step, against a DDP script."""

import sys
import tempfile

from parity import case, check  # before numpy, which would start threads

import numpy as np  # isort: skip

FOLDER = tempfile.mkdtemp(prefix="ddp-exp-losses-")
DRAW = np.random.default_rng(5)
ROWS = 90


def file(name, array):
    path = f"{FOLDER}/{name}.npy"
    np.save(path, array)
    return path


INPUTS = file("inputs", DRAW.standard_normal((ROWS, 20)).astype(np.float32))
LABELS = file("labels", (DRAW.random((ROWS, 4)) < 0.3).astype(np.float32))
CLASSES = DRAW.integers(0, 4, ROWS)
SOME = np.where(DRAW.random(ROWS) < 0.4, -1, CLASSES)
FEW = np.full(ROWS, -1)
FEW[[3, 40, 41]] = 2
TEXT = file("texts", DRAW.standard_normal((ROWS, 6, 20)).astype(np.float32))
TEXT_CLASSES = DRAW.integers(0, 4, (ROWS, 6))
TEXT_CLASSES[DRAW.random((ROWS, 6)) < 0.5] = 0
LINEAR = {"name": "linear", "in_features": 20, "out_features": 4}
LOG_SOFTMAX = {
    "name": "sequential",
    "layers": [{"type": "Linear", "in_features": 20, "out_features": 4}, {"type": "LogSoftmax", "dim": -1}],
}
WEIGHT = [0.5, 2.0, 1.0, 3.0]
DROPOUT = {"name": "mlp", "in_features": 20, "hidden": [16], "out_features": 4, "dropout": 0.3}


def npy(targets, inputs=INPUTS):
    return {"name": "npy", "inputs": inputs, "targets": targets}


def on_classes(title, targets, loss, **more):
    dataset = npy(file(title, np.asarray(targets, np.int64)), more.pop("inputs", INPUTS))
    return case(title, dataset=dataset, loss=loss, **({"validation": {"split": 0.2}} | more))


def ignoring(index, **options):
    return {"name": "cross_entropy", "ignore_index": index, **options}


def weighted(title, targets, loss, **more):
    path = f"{FOLDER}/{title}.npz"
    weights = DRAW.integers(0, 5, ROWS).astype(np.float32) / 4
    np.savez(path, x=np.load(more.pop("inputs", INPUTS)), y=targets, w=weights)
    dataset = {"name": "npz", "path": path, "inputs": "x", "targets": "y", "weights": "w"}
    return case(title, dataset=dataset, loss=loss, **({"validation": {"split": 0.2}} | more))


NUMBERS = [
    {"name": "l1"},
    {"name": "smooth_l1"},
    {"name": "smooth_l1", "beta": 0.2},
    {"name": "huber"},
    {"name": "huber", "delta": 0.3},
]

CASES = [
    *(case(f"{loss}, {world} ranks", loss=loss, validation={"split": 0.2}, world=world) for loss in NUMBERS for world in (1, 2)),
    *(case(f"bce_with_logits {options}", loss={"name": "bce_with_logits", **options}, dataset=npy(LABELS),
           validation={"split": 0.2})
      for options in ({}, {"pos_weight": 3.0}, {"pos_weight": WEIGHT})),
    on_classes("nll", CLASSES, {"name": "nll"}, model=LOG_SOFTMAX),
    on_classes("nll, a text", TEXT_CLASSES, {"name": "nll"}, model=LOG_SOFTMAX, inputs=TEXT, accumulate=3),
    on_classes("cross_entropy with weights", CLASSES, {"name": "cross_entropy", "weight": WEIGHT}),
    on_classes("cross_entropy with weights and smoothing", CLASSES,
               {"name": "cross_entropy", "weight": WEIGHT, "label_smoothing": 0.1}),
    on_classes("cross_entropy whose targets torch ignores", np.where(SOME < 0, -100, SOME), {"name": "cross_entropy"},
               batch_size=16),
    *(on_classes(f"ignore_index, {world} ranks, accumulate {k}", SOME, ignoring(-1), world=world, accumulate=k)
      for world in (1, 2) for k in (1, 3)),
    on_classes("ignore_index with dropout", SOME, ignoring(-1), model=DROPOUT, accumulate=2),
    on_classes("ignore_index with weights", SOME, ignoring(-1, weight=WEIGHT), accumulate=2),
    on_classes("ignore_index with weights and smoothing", SOME, ignoring(-1, weight=WEIGHT, label_smoothing=0.1)),
    on_classes("ignore_index of a class", CLASSES, ignoring(2)),
    on_classes("ignore_index of a text", TEXT_CLASSES, ignoring(0), inputs=TEXT, model=LINEAR, accumulate=2),
    on_classes("ignore_index, steps without a target", FEW, ignoring(-1), batch_size=4, validation={}),
    *(weighted(f"weights of samples, cross_entropy, {world} ranks", CLASSES, {"name": "cross_entropy"}, world=world, accumulate=2)
      for world in (1, 2, 3)),
    weighted("samples drawn by their weights", CLASSES, {"name": "cross_entropy"}, loader={"sample": "weighted", "sampler_seed": 3}),
    weighted("samples drawn by their weights, 3 ranks", CLASSES, {"name": "cross_entropy"}, world=3, loader={"sample": "weighted"}),
    on_classes("samples drawn so that classes balance", CLASSES, {"name": "cross_entropy"}, loader={"sample": "balanced"}),
    on_classes("weights that balance the classes", CLASSES, {"name": "cross_entropy", "weight": "balanced"}, validation={"split": 0.2}),
    weighted("weights of samples and classes", SOME, ignoring(-1, weight=WEIGHT)),
    weighted("weights of samples, a text", TEXT_CLASSES, {"name": "cross_entropy"}, inputs=TEXT, model=LINEAR),
    weighted("weights of samples, mse", np.load(LABELS), {"name": "mse"}),
    weighted("weights of samples, labels", np.load(LABELS), {"name": "bce_with_logits", "pos_weight": 3.0}),
    on_classes("ignore_index, resumed", SOME, ignoring(-1), accumulate=2, first={"epochs": 1}),
]  # fmt: skip

sys.exit(check(CASES))
