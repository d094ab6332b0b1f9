"""The loader's peer: samples a second of rank 0 of 2, one thread, shuffled epochs (bench/loader.py runs it).

loader_peer.py DATASET HOW BATCH_SIZE SECONDS    DATASET: counting, random_pairs    HOW: DataLoader, index_select
"""

import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class ToyData(Dataset):
    """ddp-exp's `counting`: sample i is the number i, 32 times; its class is i % 10."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return torch.full((32,), float(index)), index % 10

    def gather(self, indices):
        return indices.float().unsqueeze(1).expand(-1, 32).contiguous(), indices % 10


class MyTrainDataset(Dataset):
    """ddp-exp's `random_pairs`."""

    def __init__(self):
        self.inputs, self.targets = torch.rand(2048, 20), torch.rand(2048, 1)

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return self.inputs[index], self.targets[index]

    def gather(self, indices):
        return self.inputs.index_select(0, indices), self.targets.index_select(0, indices)


def epochs(dataset, how, batch_size):
    sampler = DistributedSampler(dataset, num_replicas=2, rank=0)
    loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler)
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        if how == "DataLoader":
            yield from loader
        else:
            order = torch.tensor(list(sampler))
            for indices in order.split(batch_size):
                yield dataset.gather(indices)
        epoch += 1


def main(dataset, how, batch_size, seconds):
    torch.set_num_threads(1)
    batches = epochs({"counting": ToyData, "random_pairs": MyTrainDataset}[dataset](), how, batch_size)
    samples, start = 0, time.perf_counter()
    while (took := time.perf_counter() - start) < seconds:
        samples += len(next(batches)[0])
    print(samples / took)


if __name__ == "__main__":
    main(*sys.argv[1:3], int(sys.argv[3]), float(sys.argv[4]))
