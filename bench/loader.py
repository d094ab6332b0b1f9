"""How fast a rank gets its batches, without training: shuffled, sharded over two ranks."""

import functools

from sides import run_peer, run_program
from table import Table

SECONDS = "3"  # several epochs of a million samples; DataLoader may not finish one


def ddp_exp(dataset, batch_size, workers="0"):
    return float(run_program("bench_loader", dataset, batch_size, workers, SECONDS))


def peer(dataset, how, batch_size):
    return float(run_peer("loader_peer.py", dataset, how, batch_size, SECONDS))


def tables():
    for dataset, batch_size in {"counting": "1024", "random_pairs": "32"}.items():
        rows = {
            "ddp-exp": functools.partial(ddp_exp, dataset, batch_size),
            "ddp-exp, two loader workers": functools.partial(ddp_exp, dataset, batch_size, "2"),
            "DataLoader": functools.partial(peer, dataset, "DataLoader", batch_size),
            "Python, one index_select a batch": functools.partial(peer, dataset, "index_select", batch_size),
        }
        yield Table(f"loader-{dataset}", f"samples a second of {dataset}, batches of {batch_size}", "more", rows)
