"""The samples of datasets that draw them. tests/parity/test_kept_values.py runs this file and says how."""

import torch
from components import DATASETS
from kept_values import kept

SEED = 3


def pairs(indices, **options):
    torch.manual_seed(SEED)
    dataset = DATASETS["random_pairs"](**options)
    inputs, targets = zip(*(dataset[i] for i in indices), strict=True)
    return {"name": "random_pairs", "options": options, "indices": indices, "inputs": kept(torch.stack(inputs)),
            "targets": kept(torch.stack(targets))}  # fmt: skip


def drawn(batches, batch_size, **options):
    """The last of this many batches."""
    torch.manual_seed(SEED)
    dataset = DATASETS["random_batch"](**options)
    for _ in range(batches):
        inputs, targets = dataset.draw(batch_size)
    return {"name": "random_batch", "options": options, "batches": batches, "batch_size": batch_size,
            "inputs": kept(inputs), "targets": kept(targets)}  # fmt: skip


def tables():
    return {
        "samples.json": {
            "random_pairs": pairs([4, 0, 4], size=5, features=3, targets=2),
            "random_pairs defaults": pairs([2047]),
            "random_batch": drawn(1, 2),
            "random_batch, the second": drawn(2, 4, inputs=6, targets=1),
        }
    }
