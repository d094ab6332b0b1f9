"""The file that `export` writes loads strictly into the same model of PyTorch's Python, and gives the outputs of
`predict`."""

import os
import sys
import tempfile

from program import call, complete, to_toml

import numpy
import torch
from safetensors.torch import load_file

from components import MODELS, named

ROWS, FEATURES, TARGETS, BATCH = 203, 10, 5, 16
NORMED = {
    "name": "sequential",
    "layers": [
        {"type": "Linear", "in_features": FEATURES, "out_features": 16},
        {"type": "BatchNorm1d", "num_features": 16},
        {"type": "ReLU"},
        {"type": "Dropout", "p": 0.3},
        {"type": "Linear", "in_features": 16, "out_features": TARGETS},
    ],
}
MLP = {"name": "mlp", "in_features": FEATURES, "hidden": [32], "out_features": TARGETS}
# title, ranks, model, further keys
CASES = [
    ("mlp, one rank", 1, MLP, {}),
    ("mlp, two ranks", 2, MLP, {}),
    ("batch norm, three ranks", 3, NORMED, {}),
    ("a model over two devices of each rank", 2, {"name": "toy_mp"}, {"devices_per_rank": 2}),
    ("data_parallel, batch norm", 1, NORMED, {"devices_per_rank": 2, "parallel": "data_parallel"}),
]


def write_table(file):
    """Returns the features as float32."""
    draw = numpy.random.default_rng(1)
    cells = draw.standard_normal((ROWS, FEATURES + TARGETS))
    names = [f"x{i}" for i in range(FEATURES)] + [f"y{i}" for i in range(TARGETS)]
    with open(file, "w") as out:
        out.write(",".join(names) + "\n")
        out.writelines(",".join(map(repr, row)) + "\n" for row in cells.tolist())
    return torch.from_numpy(cells[:, :FEATURES].astype(numpy.float32))


def train(folder, table, number, world, model, more):
    experiment = {
        "dataset": {"name": "csv", "path": table, "target": [f"y{i}" for i in range(TARGETS)]},
        "model": model,
        "loss": "mse",
        "optimizer": {"name": "sgd", "lr": 0.05},
        "batch_size": BATCH,
        "epochs": 2,
    } | more
    file = os.path.join(folder, f"case-{number}.toml")
    with open(file, "w") as out:
        out.write(to_toml(complete(experiment, world, "auto")))
    return call("run", file, "--results", os.path.join(folder, "results")).strip()


def difference(run, model, table, inputs):
    weights, answers = run + ".safetensors", run + ".npy"
    call("export", run, weights)
    call("predict", run, table, "-o", answers)
    reference = named(MODELS, model)
    reference.load_state_dict(load_file(weights), strict=True)
    with torch.no_grad():
        expected = torch.cat([reference.eval()(batch) for batch in inputs.split(BATCH)]).numpy()
    got = numpy.load(answers)
    if got.shape != expected.shape:
        return f"{got.shape} instead of {expected.shape}"
    return "" if got.tobytes() == expected.tobytes() else f"by {numpy.abs(got - expected).max()}"


def main(folder):
    table = os.path.join(folder, "table.csv")
    inputs = write_table(table)
    failed = 0
    for number, (title, world, model, more) in enumerate(CASES):
        found = difference(train(folder, table, number, world, model, more), model, table, inputs)
        failed += bool(found)
        print(f"DIFFERS {title}: {found}" if found else f"same    {title}", flush=True)
    print(f"{len(CASES) - failed} of {len(CASES)} exports give the outputs of predict")
    return 1 if failed else 0


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="ddp-exp-export-") as scratch:
        sys.exit(main(scratch))
