"""scripts/setup/glyphs.py draws letters of two sets of fonts; experiments/glyphs.toml and glyphs_resnet.toml learn from
them."""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["DDP_SOURCE"])
LETTERS = 37
TRAIN, VALIDATION = 12, 2
# The loss of random guessing.
GUESS = math.log(LETTERS)
# Both with few steps.
RUNS = {"glyphs.toml": ("epochs=8", "scheduler.warmup_steps=5"), "glyphs_resnet.toml": ("epochs=10",)}


def draw(folder, *options):
    command = [sys.executable, ROOT / "scripts" / "setup" / "glyphs.py", folder, *options]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def content(folder):
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*.png")}


def train(experiment, glyphs, results, *sets):
    sets += (f'dataset.path="{glyphs}/train"', f'validation.dataset={{ path = "{glyphs}/validation" }}')
    sets += ('device_pool=["cpu", "cpu"]', "batch_size=16")
    command = [os.environ["DDP_EXP"], "run", ROOT / "experiments" / experiment, "--results", results]
    done = subprocess.run([*command, *(word for one in sets for word in ("--set", one))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads((pathlib.Path(done.stdout.strip()) / "summary.json").read_text())["final"]


def main():
    with tempfile.TemporaryDirectory(prefix="ddp-exp-glyphs-") as scratch:
        scratch = pathlib.Path(scratch)
        counts = ["--train", str(TRAIN), "--validation", str(VALIDATION)]
        done = draw(scratch / "glyphs", *counts)
        if "it takes two" in done.stderr:
            print(f"skipped: {done.stderr.strip()}")
            sys.exit(77)
        assert done.returncode == 0, done.stderr
        first = content(scratch / "glyphs")
        assert len(first) == LETTERS * (TRAIN + VALIDATION), len(first)

        assert draw(scratch / "again", *counts).returncode == 0
        assert content(scratch / "again") == first, "the same fonts and seed gave other images"
        refused = draw(scratch / "glyphs", *counts)
        assert refused.returncode == 1 and "exists: remove it" in refused.stderr, refused.stderr
        (scratch / "none").mkdir()
        refused = draw(scratch / "other", "--fonts", scratch / "none")
        assert refused.returncode == 1 and "0 font families" in refused.stderr, refused.stderr
        assert not (scratch / "other").exists()

        # With so few images and steps the models do not yet learn letters of other fonts.
        for experiment, sets in RUNS.items():
            final = train(experiment, scratch / "glyphs", scratch / "results", *sets)
            print(f"{experiment}: training loss {final['train_loss']}")
            assert final["train_loss"] < 0.95 * GUESS, final


if __name__ == "__main__":
    main()
