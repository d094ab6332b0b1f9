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
from device import ON_GPUS, enter, pool
from parity import normed
from recipe import Loss, make_optimizer


def states():
    return torch.get_rng_state(), torch.cuda.get_rng_state() if ON_GPUS else None


def set_states(both):
    torch.set_rng_state(both[0])
    if ON_GPUS:
        torch.cuda.set_rng_state(both[1])


def reference(e):
    torch.set_num_threads(1)
    torch.manual_seed(e.get("seed", 42))
    n, data, loss, where = e["logical_ranks"], named(DATASETS, e["dataset"]), Loss(e["loss"]), enter(0, 1)
    model = named(MODELS, e["model"]).to(where)
    parameters, buffers = list(model.parameters()), list(model.buffers())
    optimizer = make_optimizer(e["optimizer"], [{"params": parameters}])
    samplers = [DistributedSampler(data, n, rank) for rank in range(n)]
    generators = [states()] * n
    for epoch in range(e["epochs"]):
        batches = []
        for rank in range(n):
            set_states(generators[rank])
            samplers[rank].set_epoch(epoch)
            batches.append(iter(DataLoader(data, e["batch_size"], sampler=samplers[rank])))
            generators[rank] = states()
        for step in zip(*batches, strict=True):
            before, gradients, kept = [b.clone() for b in buffers], [], None
            for rank, (x, y) in enumerate(step):
                set_states(generators[rank])
                optimizer.zero_grad()
                torch._foreach_copy_(buffers, before)
                loss(model(x.to(where)), y.to(where)).backward()
                gradients.append([p.grad * (1 / n) for p in parameters])
                kept = kept or [b.clone() for b in buffers]
                generators[rank] = states()
            while len(gradients) > 1:
                pairs = zip(gradients[::2], gradients[1::2], strict=True)
                gradients = [[a + b for a, b in zip(left, right, strict=True)] for left, right in pairs]
            torch._foreach_copy_(buffers, kept)
            for parameter, gradient in zip(parameters, gradients[0], strict=True):
                parameter.grad = gradient
            optimizer.step()
    return {name: tensor.cpu() for name, tensor in model.state_dict().items()}


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

CASES = [(1, 1, "shm"), (2, 1, "shm"), (4, 1, "shm"), (4, 2, "shm"), (4, 4, "shm"), (4, 4, "gloo"), (8, 2, "gloo")]
ONE_GPU = [(1, 1, "nccl"), (2, 1, "nccl"), (4, 1, "nccl"), (8, 1, "gloo")]

different = 0
for n, ranks, backend in ONE_GPU if ON_GPUS else CASES:
    case = EXPERIMENT | {"logical_ranks": n}
    expected, found = reference(case), run(case, ranks, backend)
    differs = [name for name, tensor in expected.items() if not torch.equal(tensor, found[name])]
    different += bool(differs)
    print(f"{'DIFFERS' if differs else 'same':8}{n} logical ranks on {ranks} over {backend} {' '.join(differs)}", flush=True)
sys.exit(1 if different else 0)
