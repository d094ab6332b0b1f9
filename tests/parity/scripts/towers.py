"""Two encoders, trained with InfoNCE: the two sides of a sample should be close, and far from the others' of the batch."""

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 16))
        self.right = nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.Linear(64, 16))

    def forward(self, x, y):
        return nn.functional.normalize(self.left(x), dim=1), nn.functional.normalize(self.right(y), dim=1)


class InfoNce(nn.Module):
    def forward(self, left, right):
        scores = left @ right.T / 0.07
        own = torch.arange(scores.shape[0], device=scores.device)
        loss = (nn.functional.cross_entropy(scores, own) + nn.functional.cross_entropy(scores.T, own)) / 2
        return {"loss": loss, "hits": (scores.argmax(1) == own).float().mean()}


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    module = Towers()
    model, criterion = DistributedDataParallel(module), InfoNce()
    torch.manual_seed(42)
    arrays = np.load("pairs.npz")
    data = TensorDataset(torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["y"]))
    sampler = DistributedSampler(data, seed=0)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    for epoch in range(20):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            criterion(*model(x, y))["loss"].backward()
            optimizer.step()
    if dist.get_rank() == 0:
        torch.save(module.state_dict(), "towers.pt")
    dist.barrier()


if __name__ == "__main__":
    main()
