"""The peer of bench/data_memory.py: an epoch of DDP with a DataLoader. data_memory_peer.py load|map INPUTS BATCH"""

import os
import sys

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Rows(Dataset):
    def __init__(self, inputs, mode):
        self.inputs = numpy.load(inputs, mmap_mode=mode)
        self.targets = numpy.load(inputs.replace(".npy", ".targets.npy"), mmap_mode=mode)

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return self.inputs[index], self.targets[index]


def main(how, inputs, batch_size):
    dist.init_process_group("gloo")
    dataset = Rows(inputs, "r" if how == "map" else None)
    model = DDP(nn.Sequential(nn.Linear(256, 16), nn.ReLU(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for x, y in DataLoader(dataset, batch_size=batch_size, sampler=DistributedSampler(dataset)):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    dist.barrier()
    # The destructor of DDP's Reducer can wait forever for a Gloo thread that wants the interpreter's lock.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:3], int(sys.argv[3]))
