"""gpt on texts and tokens: the same parameters and losses as nanoGPT's model and rules in PyTorch's Python."""

import os
import sys
import tempfile

from parity import case, check  # before numpy: it keeps numpy from starting threads

import numpy
import text

README = os.path.join(os.environ["DDP_SOURCE"], "README.md")
PAGES = [os.path.join(os.environ["DDP_SOURCE"], "docs", name) for name in ("promises.md", "sweeps.md")]
BLOCK = 16
# Letters, numbers and white space of many kinds, which GPT-2's regular expression distinguishes.
ODD = "it's we'LL don't  x² ½ ٣٤ Ⅷ  naïve Ελλάδα 東京は\u3000日本 \u00a0a\u2028b\u180e\u200bc \x1c\x85 \U0001f600\U0001f600\r\n\t  e\u0301 "


def gpt(vocab_size, **options):
    sizes = {"n_layer": 2, "n_head": 2, "n_embd": 32, "block_size": BLOCK}
    return {"name": "gpt", "vocab_size": vocab_size, **(sizes | options)}


def on_text(title, *, path=README, tokenizer="char", vocab_size=None, model=None, sampling="blocks", **experiment):
    options = {"loss": "cross_entropy", "batch_size": 8, "optimizer": {"name": "adamw", "lr": 0.01}} | experiment
    if "epochs" not in options:
        options = {"steps": 12} | options
    size = vocab_size or max(text.encode(text.read(path), tokenizer)) + 1
    dataset = {"name": "text", "path": path, "tokenizer": tokenizer, "block_size": BLOCK, "sampling": sampling}
    return case(title, dataset=dataset, model=gpt(size, **(model or {})), **options)


def on_tokens(title, dtype, folder, **experiment):
    path = os.path.join(folder, f"{dtype}.bin")
    numpy.array([i * i % 61 for i in range(2000)], dtype=text.DTYPES[dtype]).tofile(path)
    dataset = {"name": "tokens", "path": path, "dtype": dtype, "block_size": BLOCK} | experiment.pop("options", {})
    options = {"loss": "cross_entropy", "batch_size": 8, "steps": 10} | experiment
    return case(title, dataset=dataset, model=gpt(61), **options)


def cases(folder):
    bpe = os.path.join(folder, "bpe")
    os.mkdir(bpe)
    odd = os.path.join(folder, "odd.txt")
    with open(odd, "w", encoding="utf-8", newline="") as file:
        file.write(text.read(README)[:4000] + ODD * 20)
    text.train_gpt2(text.read(odd), 300, bpe)
    return [
        on_text("text, characters, one rank", world=1),
        on_text("text, characters, two ranks"),
        on_text("text, characters, three ranks", world=3),
        on_text("text, several files, an epoch of blocks", path=PAGES, epochs=1, batch_size=32),
        on_text("text, validation holds out the end", validation={"split": 0.1}, epochs=2, batch_size=64),
        on_text("text, bytes", tokenizer="byte", vocab_size=256),
        on_text("text, GPT-2's byte pair encoding", tokenizer=bpe, path=odd, validation={"split": 0.2}, epochs=1),
        on_text("text, characters of many kinds", path=odd),
        on_text("text, random offsets", sampling="random", accumulate=2),
        on_text("text, random offsets, resumed", sampling="random", accumulate=2, steps=20, first={"steps": 7}),
        on_text("gpt, dropout", model={"dropout": 0.2}),
        on_text("gpt, no bias", model={"bias": False}),
        on_text("gpt, accumulated, sgd with momentum", accumulate=3, optimizer={"name": "sgd", "lr": 0.1, "momentum": 0.9}),
        *(on_tokens(f"tokens, {dtype}", dtype, folder) for dtype in text.DTYPES),
        on_tokens("tokens, random offsets", "uint16", folder, options={"sampling": "random"}, validation={"split": 0.1}),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ddp-exp-text-") as scratch:
        sys.exit(check(cases(scratch)))
