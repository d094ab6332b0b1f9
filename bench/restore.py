"""From a checkpoint of 1.2 GB in the page cache, a model of 400 MB and its AdamW state, to the restored model and optimizer.

All sides have built both before the clock starts. ddp-exp compares the checksum of every file, and its state is in
memory that training may write; the peers compare none, and their state is the mapped file until a step writes it.
"""

import os

from data_sets import folder
from sides import output_of, run_peer, run_program, write_experiment
from table import Table


def checkpoint(width):
    layers = f"in_features = {width}, hidden = [{width}, {width}, {width}], out_features = {width}"
    sizes = [f"model={{ name = 'mlp', {layers} }}", f"dataset={{ name = 'random_batch', inputs = {width}, targets = {width} }}"]
    output_of([os.environ["DDP_EXP"], *write_experiment(folder().name, "big", 1, 1, *sizes)])
    path = os.path.join(folder().name, "bench", "r", "checkpoints", "latest")
    run_peer("restore_peer.py", "write", path, folder().name, width)
    return path


def peer(how, width, what):
    return lambda: float(run_peer("restore_peer.py", how, folder().name, width, what))


def tables(small=False):
    width = 50 if small else 5000
    path = checkpoint(width)
    rows = {
        "ddp-exp": lambda: float(run_program("bench_restore", path, width)),
        "torch.load(mmap=True), state mapped": peer("torch", width, "mapped"),
        "torch.load(mmap=True), state written": peer("torch", width, "written"),
        "safetensors, state mapped": peer("safetensors", width, "mapped"),
        "safetensors, state written": peer("safetensors", width, "written"),
    }
    return [Table("restore", f"seconds to restore {12 * 4 * width * (width + 1) / 1e9:.2g} GB", "less", rows)]
