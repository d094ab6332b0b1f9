"""The peer: a DDP script in the style of PyTorch's tutorials, started by torchrun (the bench runs it; see sides.py).

peer.py MODEL DATA STEPS STEADY    MODEL: toy, mlp, mlp-adamw, mlp-fused, wide, wide-adamw, wide-fused, cnn, big    DATA: drawn (as the tutorials do), kept (one batch in memory)
peer.py MODEL DATA STEPS STEADY FILE EVERY    with a torch.save after every EVERY steps

Rank 0 prints "first step" as soon as the first step is done, and at the end the seconds of all steps after the first
STEADY ones. If it saves, it prints instead the seconds that each save blocked and the time at which each step ended.
"""

import functools
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


class MyTrainDataset(Dataset):
    def __init__(self, size, features, targets):
        self.data = [(torch.rand(features), torch.rand(targets)) for _ in range(size)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]


def toy():
    def batches():
        while True:
            yield torch.randn(20, 10), torch.randn(20, 5)

    return ToyModel(), batches


def mlp():
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    return model, loaded(MyTrainDataset(8192, 784, 10), 64)


def wide():
    model = nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 5))
    return model, loaded(MyTrainDataset(2048, 2048, 5), 20)


def cnn():
    model = nn.Sequential(
        nn.Unflatten(1, (3, 32, 32)),
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16384, 10),
    )  # fmt: skip
    return model, loaded(MyTrainDataset(1024, 3072, 10), 64)


def big():
    layers = [layer for _ in range(4) for layer in (nn.Linear(5000, 5000), nn.ReLU())]
    return nn.Sequential(*layers[:-1]), lambda: iter(lambda: (torch.randn(64, 5000), torch.randn(64, 5000)), None)


def loaded(dataset, batch_size):
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=False, sampler=DistributedSampler(dataset))

    def batches():
        epoch = 0
        while True:
            loader.sampler.set_epoch(epoch)
            yield from loader
            epoch += 1

    return batches


def keep_one(batches):
    batch = next(batches)
    while True:
        yield batch


def save(model, optimizer, file):
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)


FUSED = functools.partial(torch.optim.AdamW, fused=True)
MODELS = {
    "toy": (toy, torch.optim.SGD),
    "mlp": (mlp, torch.optim.SGD),
    "mlp-adamw": (mlp, torch.optim.AdamW),
    "mlp-fused": (mlp, FUSED),
    "wide": (wide, torch.optim.SGD),
    "wide-adamw": (wide, torch.optim.AdamW),
    "wide-fused": (wide, FUSED),
    "cnn": (cnn, torch.optim.SGD),
    "big": (big, FUSED),
}


def main(model, data, steps, steady, file=None, save_every=0):
    dist.init_process_group("gloo")
    torch.manual_seed(42)
    make, optimizer = MODELS[model]
    model, batches = make()
    ddp_model = DDP(model)
    optimizer = optimizer(ddp_model.parameters(), lr=1e-3)
    loss_fn = nn.MSELoss()
    source = batches() if data == "drawn" else keep_one(batches())
    ends = []
    blocked = []
    for step in range(steps):
        x, y = next(source)
        optimizer.zero_grad()
        loss_fn(ddp_model(x), y).backward()
        optimizer.step()
        if step == 0 and dist.get_rank() == 0:
            print("first step", flush=True)
        ends.append(time.perf_counter())
        if save_every and (step + 1) % save_every == 0:
            save(model, optimizer, file)
            blocked.append(time.perf_counter() - ends[-1])
    if dist.get_rank() == 0 and save_every:
        print(blocked, ends, sep="\n", flush=True)
    elif dist.get_rank() == 0 and steps > steady:
        print(ends[-1] - ends[steady - 1], flush=True)
    dist.barrier()
    # The destructor of DDP's Reducer can wait forever for a Gloo thread that wants the interpreter's lock.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:5]), *(sys.argv[5:6]), *map(int, sys.argv[6:7]))
