"""One to four ranks: sizes that do not divide, accumulation with a rest, drop_last, several buckets."""

import sys

from parity import case, check


def pairs(size):
    return {"name": "random_pairs", "size": size, "features": 20, "targets": 4}


def mlp(inputs, hidden, outputs):
    return {"name": "mlp", "in_features": inputs, "hidden": hidden, "out_features": outputs}


# More than one bucket of gradients: the first one holds 1 MiB, the others 25 MiB.
OVER_1_MIB = {"model": mlp(20, [500, 520], 4), "epochs": 1}
OVER_25_MIB = {
    "model": mlp(256, [2560, 2400], 8),
    "dataset": {"name": "random_pairs", "size": 48, "features": 256, "targets": 8},
    "batch_size": 4,
    "steps": 3,
}
TOY = {"model": {"name": "toy"}, "dataset": {"name": "random_batch"}}
DROPOUT = {"name": "mlp", "in_features": 20, "hidden": [24], "out_features": 4, "dropout": 0.2}

WHOLE_BATCHES = {"drop_last_batch": True}

WORLDS = [
    line
    for world in (1, 2, 3, 4)
    for line in (
        case(f"{world} ranks, sizes that divide", world=world),
        case(f"{world} ranks, 97 samples", world=world, dataset=pairs(97)),
        case(f"{world} ranks, 97 samples, drop_last", world=world, dataset=pairs(97), loader={"drop_last": True}),
        case(f"{world} ranks, 97 samples, drop_last_batch", world=world, dataset=pairs(97), loader=WHOLE_BATCHES),
        case(f"{world} ranks, 97 samples, accumulate 3", world=world, dataset=pairs(97), accumulate=3, model=DROPOUT),
        case(f"{world} ranks, more than 1 MiB", world=world, **OVER_1_MIB),
        case(f"{world} ranks, random_batch", world=world, **TOY, steps=10),
    )
]

CASES = [
    *WORLDS,
    case("no short batch, and the rest that does not divide is dropped", world=3, dataset=pairs(97),
         loader={"drop_last": True, "drop_last_batch": True}),
    case("no short batch, accumulate and a left-over", world=2, dataset=pairs(100), accumulate=4, model=DROPOUT,
         loader=WHOLE_BATCHES),
    case("fewer samples than ranks", world=4, dataset=pairs(3)),
    case("fewer samples than ranks, repeated twice", world=4, dataset=pairs(1)),
    case("a batch larger than the dataset", world=2, dataset=pairs(10), batch_size=64),
    case("a last batch of one sample", world=2, dataset=pairs(34)),
    case("accumulate more than an epoch has", world=2, accumulate=50),
    case("accumulate without a left-over", world=2, accumulate=3, epochs=3),
    case("accumulate, left-over of a short batch", world=3, dataset=pairs(100), accumulate=2, model=DROPOUT, epochs=3),
    case("accumulate, random_batch", world=2, **TOY, accumulate=3, steps=8),
    case("steps that end inside an epoch", world=2, steps=15, model=DROPOUT),
    case("steps, accumulate and a left-over", world=2, steps=11, accumulate=4, model=DROPOUT),
    case("a single process without DDP", world=1, parallel="single", model=DROPOUT, dataset=pairs(97)),
    case("a single process, accumulate", world=1, parallel="single", model=DROPOUT, dataset=pairs(97), accumulate=5),
    case("one rank, more than 25 MiB", world=1, **OVER_25_MIB),
    case("two ranks, more than 25 MiB", world=2, **OVER_25_MIB),
    case("three ranks, more than 25 MiB", world=3, **OVER_25_MIB),
]  # fmt: skip

sys.exit(check(CASES))
