"""The devices on which both sides compute: CPUs, or GPUs with DDP_PARITY_DEVICE=cuda (scripts/gpu-check)."""

import functools
import os
import subprocess
import sys

import torch

KIND = os.environ.get("DDP_PARITY_DEVICE", "cpu")
assert KIND in ("cpu", "cuda"), f"DDP_PARITY_DEVICE={KIND} is neither cpu nor cuda"
ON_GPUS = KIND == "cuda"


@functools.cache
def gpus():
    """The number of GPUs. Another process counts them: CUDA does not survive the forks of ranks.py."""
    count = "import torch; print(torch.cuda.device_count())"
    return int(subprocess.run([sys.executable, "-c", count], stdout=subprocess.PIPE, text=True, check=True).stdout)


def pool(count):
    """A device_pool of so many devices."""
    return list(range(count)) if ON_GPUS else ["cpu"] * count


def enter(rank, devices_per_rank):
    """Chooses the rank's device and returns it; on a GPU with the kernels of `deterministic = true`."""
    if not ON_GPUS:
        return torch.device("cpu")
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    chosen = torch.device("cuda", rank * devices_per_rank)
    torch.cuda.set_device(chosen)
    return chosen


def moved(batch, where):
    """A tensor, or a list of tensors, on that device."""
    return [part.to(where) for part in batch] if isinstance(batch, list) else batch.to(where)
