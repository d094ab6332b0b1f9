"""Steps a second of exported Python models, beside Python's DDP with the same module, eager and compiled: ResNet-18 and
nanoGPT's small GPT on two ranks with one thread each. The first table is the cost of one call in a graph."""

import functools
import json
import os
import tempfile

from data_sets import folder
from sides import HERE, RANKS, ROOT, output_of, run_program, torchrun, torchrun_environment, unsteady
from table import Table

MODELS = {
    "resnet18": """
optimizer = { name = "sgd", lr = 0.01 }
dataset   = { name = "npy", inputs = "FILES/images.npy", targets = "FILES/classes.npy" }
""",
    "gpt": """
optimizer = { name = "adamw", lr = 1e-3, betas = [0.9, 0.99], weight_decay = 0.1 }
dataset   = { name = "tokens", path = "FILES/tokens.bin", block_size = 64, sampling = "random" }
""",
}
NAMED = {
    "resnet18": '{ name = "resnet18", num_classes = 10, small_images = false }',
    "gpt": '{ name = "gpt", n_layer = LAYERS, n_head = 4, n_embd = 128 }',
}


@functools.cache
def files(layers, rows):
    """Writes both models with export_model.py, and their data; returns the folder."""
    environment = dict(os.environ, PYTHONPATH=os.environ["DDP_PYTHONPATH"])
    output_of([os.environ["DDP_PYTHON"], os.path.join(HERE, "exported_files.py"), folder().name, str(rows)], environment)
    parity = os.path.join(ROOT, "tests", "parity")
    gpt = {"n_layer": layers, "n_head": 4, "n_embd": 128, "block_size": 64, "vocab_size": 65}
    for name, model, shape, arguments in (
        ("resnet18", "architectures.py:ResNet18", "3x32x32", {"classes": 10}),
        ("gpt", "gpt.py:Gpt", "64:int64:65", gpt),
    ):
        command = [os.environ["DDP_PYTHON"], os.path.join(ROOT, "python", "export_model.py"), os.path.join(parity, model)]
        command += [os.path.join(folder().name, f"{name}.pt2"), "--input", shape, "--args", json.dumps(arguments)]
        output_of(command, environment)
    return folder().name


def ddp_exp(name, model, batch, steps, layers, rows):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as results:
        file = os.path.join(results, "bench.toml")
        with open(file, "w") as out:
            text = f'model = {model}\nloss = "cross_entropy"\nbatch_size = {batch}\nsteps = {steps}\n{MODELS[name]}'
            out.write(f"threads = 1\ndevice_pool = {['cpu'] * RANKS}\n{text.replace('FILES', files(layers, rows))}")
        output_of([os.environ["DDP_EXP"], "run", file, "--results", results, "--run-id", "r"])
        with open(os.path.join(results, "bench", "r", "metrics.jsonl")) as metrics:
            lines = [json.loads(line) for line in metrics]
    seconds = {line["step"]: line["seconds"] for line in lines if line["event"] == "step"}
    return (steps - unsteady(steps)) / (seconds[steps] - seconds[unsteady(steps)])


def peer(name, how, batch, steps, layers, rows):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as scratch:
        script = ["exported_peer.py", name, how, files(layers, rows), layers, batch, steps, unsteady(steps)]
        # All rounds share the code that torch.compile generates.
        kept = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(folder().name, "inductor")}
        seconds = output_of(torchrun(RANKS, *script), torchrun_environment(scratch) | kept)
        return (steps - unsteady(steps)) / float(seconds)


def is_registered(name):
    return any(line.startswith(f"{name}:") for line in output_of([os.environ["DDP_EXP"], "models"]).splitlines())


def tables(small=False):
    layers, rows = (1, 64) if small else (4, 6400)
    calls, runs = (10, 2) if small else (1000, 1000)

    def cost(column):
        return lambda: float(run_program("bench_graph", calls, runs).split()[column])

    listed = {"a list of calls": cost(0), "the same calls in C++": cost(1)}
    yield Table("exported-calls", "microseconds of an addition of two numbers in a graph", "less", listed, peers=False)
    for name, batch, steps in (("resnet18", 8 if small else 64, 4 if small else 60), ("gpt", 12, 8 if small else 400)):
        arguments = (batch, steps, layers, rows)
        exported = '{ name = "exported", path = "FILES/%s.pt2" }' % name
        sides = {"ddp-exp, exported": lambda n=name, m=exported, a=arguments: ddp_exp(n, m, *a)}
        if is_registered(name):
            named = NAMED[name].replace("LAYERS", str(layers))
            sides["ddp-exp, named"] = lambda n=name, m=named, a=arguments: ddp_exp(n, m, *a)
        # Compiling ResNet-18 takes minutes.
        peers = {"eager": "torchrun + DDP"} | ({} if small else {"compiled": "torchrun + DDP, torch.compile"})
        for how, words in peers.items():
            sides[words] = lambda n=name, h=how, a=arguments: peer(n, h, *a)
        yield Table(f"exported-{name}", f"steps a second, {name}, batch {batch}", "more", sides)
