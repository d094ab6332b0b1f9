"""The peer of bench/models.py: models_peer.py data FILE MODEL writes random data; under torchrun, models_peer.py
eager|compiled FILE MODEL BATCH STEPS STEADY trains. MODEL has the arguments of export_model.py, as JSON.

Rank 0 prints the seconds of all steps after the first STEADY ones, in which torch.compile compiles."""

import itertools
import json
import os
import pathlib
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

sys.path.append(str(pathlib.Path(__file__).parents[1] / "python"))
import export_model  # noqa: E402
from timed_steps import of_classes, time_steps  # noqa: E402

ROWS = 256


def options_of(words):
    sys.argv = ["export_model.py", words[0], "model.pt2", *words[1:]]
    options = export_model.parsed()
    options.folder = None
    return options


def write_data(path, words):
    options = options_of(words)
    torch.manual_seed(0)
    x = export_model.Argument("--input", options.input[0]).sample(ROWS)
    y = torch.randint(0, 10, (ROWS,)) if not options.target else export_model.Argument("--target", options.target[0]).sample(ROWS)
    np.savez(path + ".npz", x=x.numpy(), y=y.numpy())


def main(how, path, words, batch, steps, steady):
    dist.init_process_group("gloo")
    options = options_of(words)
    torch.manual_seed(0)
    model = export_model.build(options.model, options)
    model = DDP(torch.compile(model) if how == "compiled" else model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    with np.load(path + ".npz") as file:
        data = TensorDataset(torch.from_numpy(file["x"]), torch.from_numpy(file["y"]))
    sampler = DistributedSampler(data)

    def batches():
        for epoch in itertools.count():
            sampler.set_epoch(epoch)
            yield from DataLoader(data, batch_size=batch, sampler=sampler, drop_last=True)

    loss = (lambda model, x, y: model(x, labels=y).loss) if options.target else of_classes
    time_steps(model, optimizer, batches(), steps, steady, loss)


if __name__ == "__main__":
    if sys.argv[1] == "data":
        write_data(sys.argv[2], json.loads(sys.argv[3]))
    else:
        main(*sys.argv[1:3], json.loads(sys.argv[3]), *map(int, sys.argv[4:]))
