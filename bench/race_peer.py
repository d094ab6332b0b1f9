"""One training of bench/race.py with PyTorch's DDP on one rank: prints the best validation loss.

race_peer.py WIDTH SEED EPOCHS
"""

import sys

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

WIDTH, SEED, EPOCHS = map(int, sys.argv[1:])

torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(SEED)
pixels, digits = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(digits))
train, held = random_split(data, [0.8, 0.2], torch.Generator().manual_seed(0))
model = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(64, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 10)))  # fmt: skip
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
sampler = DistributedSampler(train, seed=SEED)
loader, held_out = DataLoader(train, 32, sampler=sampler), DataLoader(held, 32)
best = float("inf")
for epoch in range(EPOCHS):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        best = min(best, sum(F.cross_entropy(model.module(x), y, reduction="sum").item() for x, y in held_out) / len(held))
print(best)
dist.destroy_process_group()
