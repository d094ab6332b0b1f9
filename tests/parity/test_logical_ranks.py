"""`logical_ranks` on any number of ranks against one process of PyTorch that adds the gradients of all of them as a tree,
bit for bit."""

import os
import sys
import tempfile

import torch
from safetensors.torch import load_file
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import program
from components import DATASETS, MODELS, named
from device import pool
from parity import normed
from recipe import Loss, make_optimizer


def reference(e):
    torch.set_num_threads(1)
    torch.manual_seed(e.get("seed", 42))
    n, data, model, loss = e["logical_ranks"], named(DATASETS, e["dataset"]), named(MODELS, e["model"]), Loss(e["loss"])
    parameters, buffers = list(model.parameters()), list(model.buffers())
    optimizer = make_optimizer(e["optimizer"], [{"params": parameters}])
    samplers = [DistributedSampler(data, n, rank) for rank in range(n)]
    generators = [torch.get_rng_state()] * n
    for epoch in range(e["epochs"]):
        batches = []
        for rank in range(n):
            torch.set_rng_state(generators[rank])
            samplers[rank].set_epoch(epoch)
            batches.append(iter(DataLoader(data, e["batch_size"], sampler=samplers[rank])))
            generators[rank] = torch.get_rng_state()
        for step in zip(*batches, strict=True):
            before, gradients, kept = [b.clone() for b in buffers], [], None
            for rank, (x, y) in enumerate(step):
                torch.set_rng_state(generators[rank])
                optimizer.zero_grad()
                torch._foreach_copy_(buffers, before)
                loss(model(x), y).backward()
                gradients.append([p.grad * (1 / n) for p in parameters])
                kept = kept or [b.clone() for b in buffers]
                generators[rank] = torch.get_rng_state()
            while len(gradients) > 1:
                pairs = zip(gradients[::2], gradients[1::2], strict=True)
                gradients = [[a + b for a, b in zip(left, right, strict=True)] for left, right in pairs]
            torch._foreach_copy_(buffers, kept)
            for parameter, gradient in zip(parameters, gradients[0], strict=True):
                parameter.grad = gradient
            optimizer.step()
    return model.state_dict()


def run(experiment, ranks, backend):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-parity-") as folder:
        file = os.path.join(folder, "case.toml")
        with open(file, "w") as out:
            out.write(program.to_toml(experiment | {"device_pool": pool(ranks), "distributed": {"backend": backend}}))
        program.call("run", file, "--results", folder, "--run-id", "run")
        return load_file(os.path.join(folder, "case", "run", "checkpoints", "latest", "model.safetensors"))


EXPERIMENT = {
    "dataset": {"name": "random_pairs", "size": 96, "features": 20, "targets": 4},
    "model": normed(20, 70, 4),
    "loss": "mse",
    "batch_size": 4,
    "epochs": 2,
    "optimizer": {"name": "adamw", "lr": 0.01},
}

different = 0
for n, ranks, backend in [(1, 1, "shm"), (2, 1, "shm"), (4, 1, "shm"), (4, 2, "shm"), (4, 4, "shm"), (4, 4, "gloo"), (8, 2, "gloo")]:  # fmt: skip
    case = EXPERIMENT | {"logical_ranks": n}
    expected, found = reference(case), run(case, ranks, backend)
    differs = [name for name, tensor in expected.items() if not torch.equal(tensor, found[name])]
    different += bool(differs)
    print(f"{'DIFFERS' if differs else 'same':8}{n} logical ranks on {ranks} over {backend} {' '.join(differs)}", flush=True)
sys.exit(1 if different else 0)
