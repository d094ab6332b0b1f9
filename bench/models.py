"""Steps a second of public models with random weights, and the memory of a rank, beside Python's DDP with the same modules,
eager and compiled: on one rank and on two, one thread each, in memory that does not change. Images have 64 pixels, in
batches of 16; texts 64 tokens, in batches of 8, and their models 2 layers of 128."""

import functools
import json
import os
import tempfile

from data_sets import folder
from sides import HERE, ROOT, output_of, torchrun, torchrun_environment, unsteady
from table import Table

ENCODER = {"vocab_size": 1000, "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512,
           "max_position_embeddings": 128}  # fmt: skip
DECODERS = {"vocab_size": 1000, "d_model": 128, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
            "decoder_attention_heads": 4, "encoder_ffn_dim": 512, "decoder_ffn_dim": 512, "max_position_embeddings": 128}  # fmt: skip
IMAGES = ["--args", '{"num_classes": 10}', "--input", "3x64x64"]
SIZED = ["--args", '{"num_classes": 10, "img_size": 64}', "--input", "3x64x64"]
TEXTS = ["--input", "64:int64:1000", "--target", "64:int64:1000", "--loss-from-model", "--config"]
MODELS = {
    "resnet18": ["torchvision.models:resnet18", *IMAGES],
    "resnet50": ["torchvision.models:resnet50", *IMAGES],
    "mobilenet_v3": ["torchvision.models:mobilenet_v3_small", *IMAGES],
    "efficientnet_b0": ["torchvision.models:efficientnet_b0", *IMAGES],
    "convnext_tiny": ["torchvision.models:convnext_tiny", *IMAGES],
    "vit_tiny": ["timm:vit_tiny_patch16_224", *SIZED],
    "swin_tiny": ["torchvision.models:swin_t", *IMAGES],
    "gpt2": ["transformers:GPT2LMHeadModel", *TEXTS,
             json.dumps({"vocab_size": 1000, "n_embd": 128, "n_layer": 2, "n_head": 4, "n_positions": 128})],
    "llama": ["transformers:LlamaForCausalLM", *TEXTS, json.dumps(ENCODER)],
    "bert": ["transformers:BertForMaskedLM", *TEXTS, json.dumps(ENCODER)],
    "t5": ["transformers:T5ForConditionalGeneration", *TEXTS,
           json.dumps({"vocab_size": 1000, "d_model": 128, "d_kv": 32, "d_ff": 512, "num_layers": 2, "num_heads": 4,
                       "decoder_start_token_id": 0})],
    "bart": ["transformers:BartForConditionalGeneration", *TEXTS, json.dumps(DECODERS)],
}  # fmt: skip
STEPS = {"resnet50": 24, "convnext_tiny": 24, "efficientnet_b0": 24, "swin_tiny": 24}
# torch.compile of PyTorch 2.11 writes C++ for it that GCC 12 refuses.
NOT_COMPILED = {"swin_tiny"}
MEMORY = {}  # MiB of the largest process of (name, side, ranks)


def batch_of(name):
    return 8 if "--config" in MODELS[name] else 16


@functools.cache
def file_of(name):
    """Exports a model, writes its data, and returns the file."""
    path = os.path.join(folder().name, f"{name}.pt2")
    environment = dict(os.environ, PYTHONPATH=os.environ["DDP_PYTHONPATH"])
    script = os.path.join(ROOT, "python", "export_model.py")
    output_of([os.environ["DDP_PYTHON"], script, MODELS[name][0], path, *MODELS[name][1:]], environment)
    output_of([os.environ["DDP_PYTHON"], os.path.join(HERE, "models_peer.py"), "data", path, json.dumps(MODELS[name])], environment)
    return path


def measured(key, command, environment=None):
    """Runs a command, notes the memory of its largest process, and returns its stdout."""
    code = ("import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024); sys.exit(done.returncode)")  # fmt: skip
    said = output_of([os.environ["DDP_PYTHON"], "-I", "-c", code, *command], environment)
    *lines, MEMORY[key] = said.splitlines()
    return lines


def ddp_exp(name, ranks, steps):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as results:
        of_texts, file = batch_of(name) == 8, os.path.join(results, "bench.toml")
        evaluation = file_of(name).replace(".pt2", ".eval.pt2")
        evaluation = f', eval = "{evaluation}"' if os.path.exists(evaluation) else ""
        with open(file, "w") as out:
            out.write(f'model = {{ name = "exported", path = "{file_of(name)}"{evaluation} }}\nloss = "{"model" if of_texts else "cross_entropy"}"\n'
                      f'dataset = {{ name = "npz", path = "{file_of(name)}.npz", inputs = "x", targets = "y" }}\n'
                      f'optimizer = {{ name = "adamw", lr = 1e-3 }}\nbatch_size = {batch_of(name)}\nsteps = {steps}\n'
                      f'threads = 1\ndevice_pool = {["cpu"] * ranks}\n')  # fmt: skip
        measured((name, "ddp-exp", ranks), [os.environ["DDP_EXP"], "run", file, "--results", results, "--run-id", "r"])
        with open(os.path.join(results, "bench", "r", "metrics.jsonl")) as metrics:
            lines = [json.loads(line) for line in metrics]
    seconds = {line["step"]: line["seconds"] for line in lines if line["event"] == "step"}
    return (steps - unsteady(steps)) / (seconds[steps] - seconds[unsteady(steps)])


def peer(name, how, ranks, steps):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as scratch:
        words = [how, file_of(name), json.dumps(MODELS[name]), batch_of(name), steps, unsteady(steps)]
        # All rounds share the code that torch.compile generates.
        kept = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(folder().name, "inductor")}
        lines = measured((name, how, ranks), torchrun(ranks, "models_peer.py", *words), torchrun_environment(scratch) | kept)
        return (steps - unsteady(steps)) / float(lines[0])


def tables(small=False):
    for name in ["resnet18"] if small else MODELS:
        for ranks in (2,) if small else (1, 2):
            steps = 4 if small else STEPS.get(name, 60)
            sides = {"ddp-exp": functools.partial(ddp_exp, name, ranks, steps)}
            for how in ("eager",) if small or name in NOT_COMPILED else ("eager", "compiled"):
                sides[f"torchrun + DDP, {how}"] = functools.partial(peer, name, how, ranks, steps)
            yield Table(f"models-{name}-{ranks}", f"steps a second, {name}, {ranks} ranks, batch {batch_of(name)}", "more", sides)
            memory = {title: lambda key=(name, title.rpartition(" ")[2], ranks): float(MEMORY[key]) for title in sides}
            yield Table(f"models-{name}-{ranks}-memory", f"MiB of the largest process, {name}, {ranks} ranks", "less", memory, once=True)
