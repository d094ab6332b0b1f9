"""The peer of bench/data_gpt.py: nanoGPT's loop under torchrun. data_gpt_peer.py eager|fused|compiled FILE LAYERS STEPS STEADY

Rank 0 prints the seconds of all steps after the first STEADY ones, in which torch.compile compiles.
"""

import pathlib
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from timed_steps import time_steps

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests" / "parity"))
from gpt import Gpt  # noqa: E402

BATCH, BLOCK, VOCABULARY = 12, 64, 65


def batches(file):
    while True:
        yield get_batch(file)


def get_batch(file):
    data = np.memmap(file, dtype=np.uint16, mode="r")
    ix = torch.randint(len(data) - BLOCK, (BATCH,))
    x = torch.stack([torch.from_numpy((data[i : i + BLOCK]).astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy((data[i + 1 : i + 1 + BLOCK]).astype(np.int64)) for i in ix])
    return x, y


def main(how, file, layers, steps, steady):
    dist.init_process_group("gloo")
    torch.manual_seed(1337 + dist.get_rank())
    model = Gpt(layers, 4, 128, BLOCK, VOCABULARY)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=how != "eager"
    )
    model = DDP(torch.compile(model) if how == "compiled" else model)
    time_steps(model, optimizer, batches(file), steps, steady)


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
