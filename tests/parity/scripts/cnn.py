"""A convolutional network on images in CIFAR-10's format, with random crops and flips."""

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(4))  # fmt: skip
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(256, 10))

    def forward(self, x):
        return self.head(self.features(x))


def philox(key, counter):
    """Philox4x32-10 (Salmon et al. 2011)."""
    key, counter = list(key), list(counter)
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


class Images(Dataset):
    """A sample's draws follow from the seed, the epoch and the sample, as in ddp-exp: any worker draws the same."""

    def __init__(self, path, seed):
        rows = np.concatenate([np.fromfile(f"{path}/data_batch_{i}.bin", np.uint8).reshape(-1, 3073) for i in range(1, 6)])
        self.labels = torch.from_numpy(rows[:, 0].astype(np.int64))
        self.images = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).copy())
        self.seed, self.epoch = seed, 0
        self.mean, self.std = torch.tensor([0.49, 0.48, 0.45])[:, None, None], torch.tensor([0.25, 0.24, 0.26])[:, None, None]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        words = [word for block in (0, 1) for word in philox((self.seed, 0), (block, self.epoch, index, 0))]
        top, left, flip = ((words[i] << 32 | words[i + 1]) for i in (0, 2, 4))
        top, left, flip = top % 9, left % 9, (flip >> 11) * 2.0**-53 < 0.5
        image = nn.functional.pad(self.images[index], (4, 4, 4, 4))[:, top : top + 32, left : left + 32]
        image = image.flip(-1) if flip else image
        return (image.to(torch.float32) * (1 / 255) - self.mean) / self.std, self.labels[index]


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    module = Net()
    model = DistributedDataParallel(module)
    torch.manual_seed(42)
    data = Images("cifar", seed=42)
    sampler = DistributedSampler(data, seed=0)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, fused=True)
    for epoch in range(8):
        sampler.set_epoch(epoch)
        data.epoch = epoch
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y, label_smoothing=0.1).backward()
            optimizer.step()
    if dist.get_rank() == 0:
        torch.save(module.state_dict(), "cnn.pt")
    dist.barrier()


if __name__ == "__main__":
    main()
