"""The peers of bench/restore.py, on the tensors of a checkpoint of ddp-exp.

restore_peer.py write CHECKPOINT FOLDER WIDTH   writes them as state.pt and state.safetensors
restore_peer.py HOW FOLDER WIDTH WHAT           prints the seconds from the file to the restored state of a model and its AdamW,
                                                which exist before; HOW: torch or safetensors; WHAT: "mapped", or "written": the
                                                clock runs until each number of the state was written once, as the first step
                                                does, for load_state_dict keeps a mapped state
"""

import os
import sys
import time

import torch
from safetensors.torch import load_file, save_file
from torch import nn


def made(width):
    """The model "big" of bench/sides.py, and its optimizer before the first step."""
    model = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(width, width), nn.ReLU())][:-1])
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)


def write(checkpoint, folder, width):
    saved = [load_file(os.path.join(checkpoint, f"{name}.safetensors")) for name in ("model", "optimizer")]
    model, optimizer = made(int(width))
    weights = dict(zip(model.state_dict(), saved[0].values(), strict=True))
    for parameter, given in zip(model.parameters(), saved[0], strict=True):
        state = {key: saved[1][f"state.{given}.{key}"] for key in ("exp_avg", "exp_avg_sq")}
        optimizer.state[parameter] = state | {"step": torch.tensor(1.0)}
    state = optimizer.state_dict()
    torch.save({"model": weights, "optimizer": state}, os.path.join(folder, "state.pt"))
    flat = {f"{i}.{key}": value for i, entry in state["state"].items() for key, value in entry.items()}
    save_file(weights | {f"state.{key}": value for key, value in flat.items()}, os.path.join(folder, "state.safetensors"))


def restore(how, folder, width, what):
    torch.set_num_threads(1)
    model, optimizer = made(int(width))
    start = time.perf_counter()
    if how == "torch":
        saved = torch.load(os.path.join(folder, "state.pt"), mmap=True)
        weights, state = saved["model"], saved["optimizer"]
    else:
        saved = load_file(os.path.join(folder, "state.safetensors"))
        weights = {key: value for key, value in saved.items() if not key.startswith("state.")}
        state = {"state": {}, "param_groups": optimizer.state_dict()["param_groups"]}
        for key, value in saved.items():
            if key.startswith("state."):
                _, number, name = key.split(".")
                state["state"].setdefault(int(number), {})[name] = value
    model.load_state_dict(weights)
    optimizer.load_state_dict(state)
    if what == "written":
        for entry in optimizer.state.values():
            for value in entry.values():
                value.mul_(1)
    return time.perf_counter() - start


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(*sys.argv[2:])
    else:
        print(restore(*sys.argv[1:]))
