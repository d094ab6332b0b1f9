"""Checks the reference itself: compares it with the same training written by hand, without DDP, loader, sampler,
optimizer or processes, from the definitions of these."""

import json
import math
import multiprocessing
import os
import sys
import tempfile

from parity import case
from ranks import run_reference

import safetensors.numpy
import safetensors.torch
import torch
from torch import nn

WORLD, BATCH, ACCUMULATE, SAMPLES, LR = 2, 8, 3, 97, 0.05


def train_by_hand(folder):
    torch.set_num_threads(1)
    torch.manual_seed(42)
    data = [(torch.rand(20), torch.rand(4)) for _ in range(SAMPLES)]
    # Both ranks hold the same weights: one model stands for both.
    model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 4))
    losses = []
    for epoch in range(2):
        order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(epoch)).tolist()
        order += order[: -SAMPLES % WORLD]
        of_rank = [order[rank::WORLD] for rank in range(WORLD)]
        batches = [[share[i : i + BATCH] for i in range(0, len(share), BATCH)] for share in of_rank]
        for first in range(0, len(batches[0]), ACCUMULATE):
            gradients, summed, samples = [], 0.0, 0
            for share in batches:
                model.zero_grad()
                of_rank_sum = 0.0
                for batch in share[first : first + ACCUMULATE]:
                    x = torch.stack([data[i][0] for i in batch])
                    y = torch.stack([data[i][1] for i in batch])
                    loss = nn.functional.mse_loss(model(x), y)
                    (loss / len(share[first : first + ACCUMULATE])).backward()
                    of_rank_sum += loss.item() * len(batch)
                    samples += len(batch)
                summed += of_rank_sum
                gradients.append([parameter.grad / WORLD for parameter in model.parameters()])
            with torch.no_grad():
                for parameter, *of_ranks in zip(model.parameters(), *gradients):
                    parameter.add_(sum(of_ranks), alpha=-LR)  # rounded once, as in every optimizer
            losses.append(summed / samples)
    safetensors.torch.save_file(model.state_dict(), os.path.join(folder, "by-hand.safetensors"))
    with open(os.path.join(folder, "by-hand.json"), "w") as file:
        json.dump(losses, file)


def main():
    experiment = case(
        "by hand", dataset={"name": "random_pairs", "size": SAMPLES, "features": 20, "targets": 4}, batch_size=BATCH,
        accumulate=ACCUMULATE, optimizer={"name": "sgd", "lr": LR}).experiment  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="ddp-exp-parity-") as folder:
        reference = run_reference(experiment, WORLD, folder)
        process = multiprocessing.get_context("fork").Process(target=train_by_hand, args=(folder,))
        process.start()
        process.join()
        tensors = safetensors.numpy.load_file(os.path.join(folder, "by-hand.safetensors"))
        with open(os.path.join(folder, "by-hand.json")) as file:
            losses = json.load(file)
    steps = 2 * math.ceil(math.ceil(math.ceil(SAMPLES / WORLD) / BATCH) / ACCUMULATE)
    checks = {
        "steps": len(reference.losses) == len(losses) == steps,
        "losses": reference.losses == losses,
        "parameters": {n: t.tobytes() for n, t in tensors.items()}
        == {n: t.tobytes() for n, t in reference.tensors.items()},
        "they moved": losses[-1] < losses[0],
    }
    for what, right in checks.items():
        print(f"{'right' if right else 'WRONG':8}{what}")
    return 0 if all(checks.values()) else 1


sys.exit(main())
