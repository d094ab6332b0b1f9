"""A GPT-2 of transformers, with its own loss, accumulated gradients, clipping and a cosine schedule with warm-up."""

import contextlib
import math

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler
from transformers import GPT2Config, GPT2LMHeadModel

EPOCHS, ACCUMULATE, WARMUP, LR = 3, 2, 10, 3e-3


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    module = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=4, n_embd=64, vocab_size=256, n_positions=64))
    model = DistributedDataParallel(module)
    torch.manual_seed(42)
    data = TensorDataset(torch.from_numpy(np.load("ids.npy")))
    sampler = DistributedSampler(data, seed=0)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    per_epoch = math.ceil(len(loader) / ACCUMULATE)
    total, step = EPOCHS * per_epoch, 0
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        batches = list(loader)
        for at in range(0, len(batches), ACCUMULATE):
            share = (step - WARMUP) / (total - WARMUP)
            lr = LR * (step + 1) / WARMUP if step < WARMUP else LR * (1 + math.cos(math.pi * share)) / 2
            optimizer.param_groups[0]["lr"] = lr
            optimizer.zero_grad()
            several = batches[at : at + ACCUMULATE]
            for number, (ids,) in enumerate(several, start=1):
                with model.no_sync() if number < len(several) else contextlib.nullcontext():
                    (model(input_ids=ids, labels=ids).loss / len(several)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
    if dist.get_rank() == 0:
        torch.save(module.state_dict(), "gpt2.pt")
    dist.barrier()


if __name__ == "__main__":
    main()
