"""The peer of bench/exported.py under torchrun: exported_peer.py MODEL eager|compiled FOLDER LAYERS BATCH STEPS STEADY

Rank 0 prints the seconds of all steps after the first STEADY ones, in which torch.compile compiles.
"""

import itertools
import os
import pathlib
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from timed_steps import time_steps

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests" / "parity"))
from architectures import ResNet18  # noqa: E402
from gpt import Gpt  # noqa: E402

BLOCK, VOCABULARY = 64, 65


def images(folder, batch):
    x, y = (torch.from_numpy(np.load(os.path.join(folder, f"{name}.npy"))) for name in ("images", "classes"))
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data)
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        yield from DataLoader(data, batch_size=batch, sampler=sampler)


def tokens(folder, batch):
    data = np.memmap(os.path.join(folder, "tokens.bin"), dtype=np.uint16, mode="r")
    while True:
        places = torch.randint(len(data) - BLOCK, (batch,))
        blocks = torch.stack([torch.from_numpy(data[i : i + BLOCK + 1].astype(np.int64)) for i in places])
        yield blocks[:, :-1].contiguous(), blocks[:, 1:].contiguous()


def main(name, how, folder, layers, batch, steps, steady):
    dist.init_process_group("gloo")
    torch.manual_seed(42)
    if name == "gpt":
        model, batches = Gpt(layers, 4, 128, BLOCK, VOCABULARY), tokens(folder, batch)
        options = {"lr": 1e-3, "betas": (0.9, 0.99), "weight_decay": 0.1, "fused": True}
        optimizer = torch.optim.AdamW(model.parameters(), **options)
    else:
        model, batches = ResNet18(classes=10), images(folder, batch)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    model = DDP(torch.compile(model) if how == "compiled" else model)
    time_steps(model, optimizer, batches, steps, steady)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
