"""`generate` draws the tokens of nanoGPT's loop in PyTorch's Python with the same weights, written by `export`."""

import json
import os
import runpy
import subprocess
import sys
import tempfile

from program import call, complete, to_toml

import torch
import transformers
from safetensors.torch import load_file

import hub_models
import text
from gpt import Gpt, draw

README = os.path.join(os.environ["DDP_SOURCE"], "README.md")
SMALL = {"n_layer": 2, "n_head": 2, "n_embd": 32, "block_size": 16}
LARGER = {"n_layer": 3, "n_head": 4, "n_embd": 128, "block_size": 64, "dropout": 0.1, "bias": False}
# temperature, top_k, seed
DRAWS = [(0.8, 200, 42), (0, 200, 42), (1.3, 3, 7), (0.8, 1, 42)]
ODD = "naïve Ελλάδα 東京は日本 \U0001f600 "  # several bytes per character


def train(folder, title, tokenizer, path, block_size, model):
    """Trains a model for a few steps, and returns the run's folder."""
    experiment = {
        "dataset": {"name": "text", "path": path, "tokenizer": tokenizer, "block_size": block_size},
        "model": model,
        "optimizer": {"name": "adamw", "lr": 0.003},
        "batch_size": 8,
        "steps": 20,
    }
    file = os.path.join(folder, f"{title}.toml")
    with open(file, "w") as out:
        out.write(to_toml(complete(experiment, 2, "gloo")))
    return call("run", file, "--results", os.path.join(folder, "results")).strip()


def reference(run, model, vocab_size):
    """nanoGPT's model with exactly the weights that `export` wrote."""
    weights = run + ".safetensors"
    call("export", run, weights)
    made = Gpt(**model, vocab_size=vocab_size)
    made.load_state_dict(load_file(weights), strict=True)
    return made.eval()


class Hub:
    """A causal model of transformers with the weights of a run."""

    def __init__(self, run, name, config):
        weights = run + ".safetensors"
        call("export", run, weights)
        cls = getattr(transformers, name)
        self.model = cls.from_pretrained(None, config=cls.config_class(**config), state_dict=load_file(weights)).eval()

    def generate(self, tokens, count, temperature, top_k):
        ids = torch.tensor([tokens])
        for _ in range(count):
            with torch.no_grad():
                scores = self.model(input_ids=ids[:, -SMALL["block_size"] :]).logits[:, -1, :]
            ids = torch.cat((ids, draw(scores, temperature, top_k)), dim=1)
        return ids[0, len(tokens) :].tolist()


def train_hub(folder, name, config):
    """Exports a model for texts of up to block_size tokens, and trains it."""
    file = os.path.join(folder, f"{name}.pt2")
    sizes = f"1-{SMALL['block_size']}:int64:{config['vocab_size']}"
    script = os.path.join(os.environ["DDP_SOURCE"], "python", "export_model.py")
    sys.argv = [script, f"transformers:{name}", file, "--config", json.dumps(config), "--input", sizes]
    runpy.run_path(script, run_name="__main__")
    return train(folder, name, "char", README, SMALL["block_size"], {"name": "exported", "path": file})


def differences(run, model, training_text, tokenizer, prompt, count):
    ids = text.encode_prompt(prompt, training_text, tokenizer)
    for temperature, top_k, seed in DRAWS:
        torch.manual_seed(seed)
        expected = model.generate(ids, count, temperature, top_k)
        options = ("--prompt", prompt, "--tokens", str(count), "--temperature", str(temperature),
                   "--top-k", str(top_k), "--seed", str(seed))  # fmt: skip
        said = json.loads(call("generate", run, *options, "--json"))
        title = f"temperature {temperature}, top_k {top_k}, seed {seed}"
        if said["prompt_tokens"] != ids:
            yield f"{title}: prompt {said['prompt_tokens']} instead of {ids}"
        if said["tokens"] != expected:
            yield f"{title}: {said['tokens']} instead of {expected}"
        shown = text.decode(ids + expected, training_text, tokenizer).decode(errors="replace")
        if said["prompt"] + said["continuation"] != shown:
            yield f"{title}: {said['prompt'] + said['continuation']!r} instead of {shown!r}"
        printed = subprocess.run([os.environ["DDP_EXP"], "generate", run, *options], capture_output=True).stdout
        if printed != f"{shown}\n".encode():
            yield f"{title}: prints {printed!r} instead of {shown!r}"


def main(folder):
    bpe, odd = os.path.join(folder, "bpe"), os.path.join(folder, "odd.txt")
    os.mkdir(bpe)
    with open(odd, "w", encoding="utf-8", newline="") as file:
        file.write(text.read(README)[:3000] + ODD * 40)
    text.train_gpt2(text.read(odd), 200, bpe)
    cases = [
        ("char", "char", README, SMALL, "\n"),
        ("char, larger", "char", README, LARGER, "The experiment "),
        ("char, a prompt longer than the context", "char", README, SMALL, "Runs training experiments from a file."),
        ("byte", "byte", odd, SMALL, "naïve"),
        ("gpt2", bpe, odd, SMALL, "東京"),
    ]
    failed = 0
    for number, (title, tokenizer, path, sizes, prompt) in enumerate(cases):
        training_text = text.read(path)
        run = train(folder, f"case-{number}", tokenizer, path, sizes["block_size"], {"name": "gpt", **sizes})
        model = reference(run, sizes, text.vocab_size(training_text, tokenizer))
        found = list(differences(run, model, training_text, tokenizer, prompt, 2 * sizes["block_size"]))
        failed += bool(found)
        print("DIFFERS" if found else "same   ", title, *found, sep="\n        " if found else " ", flush=True)
    training_text = text.read(README)
    for name, sizes in hub_models.CONFIGS.items():
        if hub_models.INPUTS[name] is not hub_models.CAUSAL:
            continue
        config = sizes | {"vocab_size": text.vocab_size(training_text, "char")}
        run = train_hub(folder, name, config)
        found = list(differences(run, Hub(run, name, config), training_text, "char", "The experiment ", 32))
        failed += bool(found)
        cases.append(name)
        print("DIFFERS" if found else "same   ", name, *found, sep="\n        " if found else " ", flush=True)
    print(f"{len(cases) - failed} of {len(cases)} cases draw the same tokens")
    return 1 if failed else 0


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="ddp-exp-generate-") as scratch:
        sys.exit(main(scratch))
