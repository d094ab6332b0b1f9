"""Steps a second of nanoGPT's small GPT: 4 layers of 128, 4 heads, 65 characters, batch 12, block 64, AdamW, two ranks
with one thread each. Each side takes its batches from the same mapped file of tokens."""

import json
import os
import tempfile

from data_sets import data_file, folder
from sides import RANKS, output_of, torchrun, torchrun_environment, unsteady
from table import Table

EXPERIMENT = """
steps       = {steps}
device_pool = {pool}
threads     = 1
batch_size  = 12
optimizer   = {{ name = "adamw", lr = 1e-3, betas = [0.9, 0.99], weight_decay = 0.1 }}
model       = {{ name = "gpt", n_layer = {layers}, n_head = 4, n_embd = 128 }}
dataset     = {{ name = "tokens", path = "{tokens}", block_size = 64, sampling = "random" }}
"""


def ddp_exp(tokens, layers, steps, ranks):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as results:
        file = os.path.join(results, "gpt.toml")
        with open(file, "w") as out:
            out.write(EXPERIMENT.format(steps=steps, layers=layers, pool=["cpu"] * ranks, tokens=tokens))
        output_of([os.environ["DDP_EXP"], "run", file, "--results", results, "--run-id", "r"])
        with open(os.path.join(results, "gpt", "r", "metrics.jsonl")) as metrics:
            lines = [json.loads(line) for line in metrics]
    seconds = {line["step"]: line["seconds"] for line in lines if line["event"] == "step"}
    first = unsteady(steps)
    return (steps - first) / (seconds[steps] - seconds[first])


def peer(how, tokens, layers, steps):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as scratch:
        command = torchrun(RANKS, "data_gpt_peer.py", how, tokens, layers, steps, unsteady(steps))
        # All rounds share the code that torch.compile generates.
        kept = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(folder().name, "inductor")}
        return (steps - unsteady(steps)) / float(output_of(command, torchrun_environment(scratch) | kept))


def tables(small=False):
    layers, steps = (1, 8) if small else (4, 400)
    tokens = data_file("characters", 2_000_000, "characters.bin")
    rows = {
        "ddp-exp": lambda: ddp_exp(tokens, layers, steps, RANKS),
        "torchrun + DDP": lambda: peer("eager", tokens, layers, steps),
        "torchrun + DDP, fused AdamW": lambda: peer("fused", tokens, layers, steps),
        "the limit: ddp-exp, one rank": lambda: ddp_exp(tokens, layers, steps, 1),
    }
    if not small:  # compiling takes a minute
        rows["torchrun + DDP, fused AdamW, torch.compile"] = lambda: peer("compiled", tokens, layers, steps)
    yield Table("data-gpt", f"steps a second, gpt with {layers} layers of 128, batch 12, block 64", "more", rows)
