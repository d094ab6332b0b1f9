"""The peers of bench/recipe.py under torchrun: recipe_peer.py clip|ema|metrics COUNT. Rank 0 prints the seconds of a
call.

clip: clip_grad_norm_ of 200 small gradients. ema: AveragedModel.update_parameters of a 400 MB model, on each rank.
metrics: accuracy, F1 and AUROC of a million samples by scikit-learn, after rank 0 has gathered them.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

SAMPLES = 1_000_000


def clip():
    model = nn.Sequential(*(nn.Linear(16, 16) for _ in range(100)))
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    return lambda: nn.utils.clip_grad_norm_(model.parameters(), 1.0)


def ema():
    model = nn.Sequential(*(nn.Linear(5000, 5000) for _ in range(4)))
    averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    averaged.update_parameters(model)
    return lambda: averaged.update_parameters(model)


def metrics():
    from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

    share = SAMPLES // dist.get_world_size()
    scores = torch.randn(share, 2)
    labels = (scores[:, 1] - scores[:, 0] + torch.randn(share) > 0).long()

    def measure():
        own = torch.cat([scores.double().softmax(1), labels[:, None].double()], 1)
        parts = [torch.empty_like(own) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
        dist.gather(own, parts)
        if parts is None:
            return
        all_ranks = torch.cat(parts).numpy()
        y, predicted = all_ranks[:, 2].astype(int), all_ranks[:, :2].argmax(1)
        accuracy_score(y, predicted)
        f1_score(y, predicted, average="macro")
        roc_auc_score(y, all_ranks[:, 1])

    return measure


def main(what, count):
    dist.init_process_group("gloo")
    torch.manual_seed(42 + dist.get_rank())
    call = {"clip": clip, "ema": ema, "metrics": metrics}[what]()
    call()
    dist.barrier()
    start = time.perf_counter()
    for _ in range(count):
        call()
    dist.barrier()
    if dist.get_rank() == 0:
        print((time.perf_counter() - start) / count, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
