"""An LSTM on a series, with two further inputs: constant features and a category."""

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 32, num_layers=2, batch_first=True, dropout=0.1)
        self.shop = nn.Embedding(10, 4)
        self.head = nn.Linear(32 + 3 + 4, 1)

    def forward(self, series, constants, shop):
        _, (hn, _) = self.lstm(series)
        return self.head(torch.cat((hn[-1], constants, self.shop(shop)), dim=1)).squeeze(1)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    module = Forecast()
    model = DistributedDataParallel(module)
    torch.manual_seed(42)
    arrays = np.load("sales.npz")
    data = TensorDataset(*(torch.from_numpy(arrays[name]) for name in ("series", "constants", "shop", "amount")))
    sampler = DistributedSampler(data, seed=0)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)
    for epoch in range(6):
        sampler.set_epoch(epoch)
        for series, constants, shop, amount in loader:
            optimizer.zero_grad()
            nn.functional.smooth_l1_loss(model(series, constants, shop), amount).backward()
            optimizer.step()
    if dist.get_rank() == 0:
        torch.save(module.state_dict(), "lstm.pt")
    dist.barrier()


if __name__ == "__main__":
    main()
