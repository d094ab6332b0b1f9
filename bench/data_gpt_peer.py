"""The peer of bench/data_gpt.py: nanoGPT's loop under torchrun. data_gpt_peer.py eager|fused|compiled FILE LAYERS STEPS STEADY

Rank 0 prints the seconds that all but the first STEADY steps took, in which torch.compile compiles.
"""

import os
import pathlib
import sys
import time

import numpy as np
import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests" / "parity"))
from gpt import Gpt  # noqa: E402

BATCH, BLOCK, VOCABULARY = 12, 64, 65


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
    ends = []
    for _ in range(steps):
        x, y = get_batch(file)
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, VOCABULARY), y.view(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        ends.append(time.perf_counter())
    if dist.get_rank() == 0:
        print(ends[-1] - ends[steady - 1], flush=True)
    dist.barrier()
    # The destructor of DDP's Reducer can wait forever for a Gloo thread that wants the interpreter's lock.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
