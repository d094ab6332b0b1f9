"""A variational autoencoder: its loss is a sum of two, and it needs no targets."""

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
        self.decoder = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        mean, logvar = self.encoder(x).chunk(2, dim=1)
        noise = torch.randn_like(mean) if self.training else torch.zeros_like(mean)
        recon = nn.functional.mse_loss(self.decoder(mean + noise * (0.5 * logvar).exp()), x, reduction="none").sum(1).mean()
        kl = -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum(1).mean()
        return {"loss": recon + kl, "recon": recon, "kl": kl}

    def reconstruct(self, x):
        return self.decoder(self.encoder(x).chunk(2, dim=1)[0])


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    module = Vae()
    model = DistributedDataParallel(module)
    torch.manual_seed(42)
    data = TensorDataset(torch.from_numpy(np.load("pixels.npy")))
    sampler = DistributedSampler(data, seed=0)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    for epoch in range(20):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            optimizer.zero_grad()
            model(x)["loss"].backward()
            optimizer.step()
    if dist.get_rank() == 0:
        torch.save(module.state_dict(), "vae.pt")
    dist.barrier()


if __name__ == "__main__":
    main()
