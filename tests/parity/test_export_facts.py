"""What export_model.py notes in a file: names of arguments, numbers of values, and what logits answer.

ddp-exp binds arguments by these names, refuses other values before the start, and measures what is an answer.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from program import call, to_toml

PYTHON = os.path.join(os.environ["DDP_SOURCE"], "python", "export_model.py")
MODELS = '''
import numpy
import torch
from torch import nn
from torch.nn import functional as F


class Language(nn.Module):
    """A causal language model whose loss shifts the labels, as those of transformers."""

    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.Embedding(16, 24), nn.Linear(24, 16)

    def forward(self, ids, labels):
        logits = self.head(self.inner(ids))
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return {"loss": loss, "logits": logits}


class Tagger(Language):
    def forward(self, ids, labels):
        logits = self.head(self.inner(ids))
        return {"loss": F.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, left, right):
        return {"mean": self.a(left), "logvar": self.b(right)}


def gauss(logvar, mean, y):
    return ((mean - y) ** 2 / logvar.exp() + logvar).mean()


class Scored(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 3)

    def forward(self, left, y):
        loss = ((self.inner(left) - y) ** 2).mean()
        return {"loss": loss, "score": 1 / (1 + loss)}


class Kept(Scored):
    def forward(self, left, keep, y):
        return super().forward(left.masked_fill(~keep, 0), y)


class Net(nn.Linear):
    def __init__(self):
        super().__init__(4, 8)


def contrast(output, kinds):
    return F.cross_entropy(output @ output.T, torch.arange(output.shape[0])) + 0 * kinds.sum()


def classify(output, kinds):
    return F.cross_entropy(output, kinds)


def of_samples(output, kinds):
    return {"loss": F.cross_entropy(output, kinds, reduction="none"), "largest": output.max()}


class Judged(Net):
    def forward(self, x, kinds):
        logits = super().forward(x)
        return {"loss": F.cross_entropy(logits, kinds, reduction="none"), "logits": logits}


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.kinds, self.amounts = nn.Linear(4, 8), nn.Linear(4, 1)

    def forward(self, x):
        return {"kinds": self.kinds(x), "amounts": self.amounts(x).squeeze(1)}


def of_both(first, second, y, z):
    return F.cross_entropy(first, y) + F.mse_loss(second, z)


class Numpy(Net):
    def __init__(self):
        super().__init__()
        self.weight.data = torch.from_numpy(numpy.random.randn(8, 4).astype("f"))


class Masked(Net):
    def __init__(self):
        super().__init__()
        self.mask = (torch.rand(8) > 0.5).float()

    def forward(self, x):
        return super().forward(x) * self.mask


def trained():
    net = Net()
    net.load_state_dict({"weight": torch.ones(8, 4), "bias": torch.zeros(8)})
    return net
'''
EXPORTS = {
    "Language": ["--input", "12:int64:16", "--target", "12:int64:16", "--loss-from-model"],
    "Tagger": ["--input", "12:int64:16", "--target", "12:int64:16", "--loss-from-model"],
    "Heads": ["--input", "4", "--input", "4", "--target", "3", "--loss", "models.py:gauss"],
    "Scored": ["--input", "4", "--target", "3", "--loss-from-model"],
    "Kept": ["--input", "4", "--input", "4:bool", "--target", "3", "--loss-from-model"],
    "Contrast": ["--input", "4", "--target", "scalar:int64:8", "--loss", "models.py:contrast"],
    "Samples": ["--input", "4", "--target", "scalar:int64:8", "--loss", "models.py:of_samples"],
    "Judged": ["--input", "4", "--target", "scalar:int64:8", "--loss-from-model"],
    "Two": ["--input", "4", "--target", "scalar:int64:8", "--target", "scalar", "--loss", "models.py:of_both"],
    "Numpy": ["--input", "4"],
    "Masked": ["--input", "4"],
    "trained": ["--input", "4"],
    "Classes": ["--input", "4", "--target", "scalar:int64:8", "--loss", "models.py:classify"],
}


def write_data():
    draw = np.random.default_rng(1)
    ids = (draw.integers(0, 16, (80, 1)) + np.arange(12)) % 16  # each token follows from the one before
    wrong = ids.copy()
    wrong[70, 3] = 16
    np.savez("text.npz", ids=ids, labels=ids, wrong=wrong)
    arrays = {name: draw.standard_normal((60, 4), np.float32) for name in ("left", "right")}
    keep = draw.integers(0, 2, (60, 4)).astype(bool)
    arrays |= {"keep": keep, "all": np.ones_like(keep), "kept": arrays["left"] * keep}
    np.savez("rows.npz", **arrays, weights=draw.uniform(0, 2, 60).astype(np.float32), amounts=draw.standard_normal(60, np.float32), y=draw.standard_normal((60, 3), np.float32), kinds=draw.integers(0, 8, 60))
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    np.save("y.npy", np.load("rows.npz")["y"])


def run(name, dataset, loss="model", **more):
    """Trains a few epochs; returns the last line of an epoch, and the run's folder."""
    experiment = {"name": name, "model": {"name": "exported", "path": f"{name.split('-')[0]}.pt2"}, "dataset": dataset}
    loss = loss and {"name": "exported", "path": f"{name.split('-')[0]}.loss.pt2"} if loss == "exported" else loss
    settings = {"loss": loss, "batch_size": 16, "epochs": 12, "device_pool": ["cpu"], "validation": {"split": 0.2}}
    with open(f"{name}.toml", "w") as out:
        out.write(to_toml(experiment | settings | {"optimizer": {"name": "adamw", "lr": 0.03}} | more))
    folder = call("run", f"{name}.toml", "-q").strip()
    with open(f"{folder}/metrics.jsonl") as lines:
        epochs = [json.loads(line) for line in lines if '"event":"epoch"' in line]
    return epochs[-1], folder


def check(title, good):
    print(f"{'right  ' if good else 'WRONG  '} {title}", flush=True)
    return not good


def main():
    with open("models.py", "w") as out:
        out.write(MODELS)
    write_data()
    for name, options in EXPORTS.items():
        of = {"Contrast": "Net", "Classes": "Net", "Samples": "Net"}.get(name, name)
        subprocess.run([sys.executable, PYTHON, f"models.py:{of}", f"{name}.pt2", *options], check=True)
    failed = 0

    text = {"name": "npz", "path": "text.npz", "inputs": "ids", "targets": "labels"}
    measures = {"metrics": ["accuracy", "perplexity"]}
    epoch, _ = run("Language", text, **measures)
    expected = np.exp(epoch["val_loss"])
    failed += check("a language model's metrics are of the next token", epoch["val_accuracy"] == 1 and abs(epoch["val_perplexity"] - expected) < 1e-5)
    epoch, _ = run("Tagger", text, **measures)
    failed += check("a tagger's metrics are of the token itself", abs(epoch["val_perplexity"] - np.exp(epoch["val_loss"])) < 1e-5)
    refused = subprocess.run([os.environ["DDP_EXP"], "run", "Language.toml", "--set", 'dataset.inputs=["wrong"]'], capture_output=True, text=True)
    failed += check("a value that the embedding does not have is refused before the start", refused.returncode == 2 and 'the value 16 in "ids"' in " ".join(refused.stderr.split()))

    rows = {"name": "npz", "path": "rows.npz", "inputs": ["left", "right"], "targets": "y"}
    files = {"name": "npy", "inputs": ["right.npy", "left.npy"], "targets": "y.npy"}
    found = []
    for title, dataset, data in (("", rows, ["rows.npz"]), ("-swapped", rows | {"inputs": ["right", "left"]}, ["rows.npz"]), ("-files", files, ["right.npy", "left.npy"])):
        _, folder = run(f"Heads{title}", dataset, loss="exported")
        call("predict", folder, *data, "-o", f"answers{title}.npy")
        with open(f"{folder}/checkpoints/latest/model.safetensors", "rb") as weights, open(f"answers{title}.npy", "rb") as answers:
            found.append((weights.read(), answers.read()))
    failed += check("inputs and outputs are bound by name", found[0] == found[1] == found[2])
    with open("models.py", "a") as out:
        out.write("\n\ndef right_order(mean, logvar, y):\n    return gauss(logvar, mean, y)\n")
    options = [word.replace("gauss", "right_order") for word in EXPORTS["Heads"]]
    subprocess.run([sys.executable, PYTHON, "models.py:Heads", "Heads.pt2", *options], check=True)
    _, folder = run("Heads", rows, loss="exported")
    with open(f"{folder}/checkpoints/latest/model.safetensors", "rb") as weights:
        failed += check("a loss with other places trains the same weights", weights.read() == found[0][0])

    losses = [run("Kept", rows | {"inputs": inputs}, epochs=2)[0]["val_loss"] for inputs in (["left", "keep"], ["kept", "all"])]
    failed += check("a model takes NumPy's masks of bool", losses[0] == losses[1])

    scored = {"name": "npz", "path": "rows.npz", "inputs": "left", "targets": "y"}
    epoch, folder = run("Scored", scored, checkpoint={"metric": "val_score", "goal": "max"}, epochs=2)
    with open(f"{folder}/summary.json") as summary:
        best = json.load(summary)["best"]
    failed += check("a scalar of the loss chooses the best checkpoint", (best["metric"], best["value"]) == ("val_score", epoch["val_score"]))
    for option, value, text in (("--set", "checkpoint.metric=val_scroe", "is not measured"), ("--unset", "checkpoint.goal", "which value is better")):
        refused = subprocess.run([os.environ["DDP_EXP"], "run", "Scored.toml", option, value], capture_output=True, text=True)
        failed += check(f"{option} {value} is refused before the start", refused.returncode == 2 and text in refused.stderr)

    kinds = {"name": "npz", "path": "rows.npz", "inputs": "left", "targets": "kinds"}
    epoch, _ = run("Contrast", kinds, loss="exported")
    failed += check("an embedding beside integers has no accuracy", "val_loss" in epoch and "val_accuracy" not in epoch)
    epoch, _ = run("Classes", kinds, loss="exported")
    failed += check("a cross entropy has one", "val_accuracy" in epoch)
    for name, warns in (("Contrast", True), ("Classes", False)):
        with open(f"{name}.toml") as experiment, open(f"{name}-sweep.toml", "w") as out:
            out.write(experiment.read() + "\n[sweep]\nparameters = { batch_size = [8, 16] }\n")
        plan = subprocess.run([os.environ["DDP_EXP"], "plan", f"{name}-sweep.toml"], capture_output=True, text=True)
        said = " ".join((plan.stdout + plan.stderr).split())
        failed += check(f"{name}: trials whose validation batches differ", plan.returncode == 0 and ("validate with batches of 8 to 16" in said) == warns)
    both = {"name": "npz", "path": "rows.npz", "inputs": "left", "targets": ["kinds", "amounts"]}
    held_out = {"validation": {"dataset": {"path": "rows.npz"}}, "checkpoint": {"metric": "val_accuracy:kinds"}}
    epoch, folder = run("Two", both, loss="exported", metrics=["accuracy:kinds", "mae:amounts"], **held_out)
    call("predict", folder, "rows.npz", "-o", "two.csv", "--from", "latest")
    with open("two.csv") as answers:
        head, rows = answers.readline().strip().split(","), np.loadtxt(answers, delimiter=",")
    data = np.load("rows.npz")
    found = (rows[:, :8].argmax(1) == data["kinds"]).mean(), abs(rows[:, 8] - data["amounts"]).mean()
    failed += check("predict gives all outputs", head == [f"prediction_kinds_{i}" for i in range(8)] + ["output_amounts"])
    failed += check("metrics of two outputs", np.allclose(found, (epoch["val_accuracy:kinds"], epoch["val_mae:amounts"]), atol=1e-6))
    listed = call("list", "--where", "val_accuracy:kinds >= 0", "--sort", "val_accuracy:kinds", "--columns", "val_mae:amounts")
    failed += check("list selects by them", "Two" in listed and "val_mae:amounts" in listed)
    for metric, text in (("accuracy:kind", "no output of this name"), ("accuracy:", "metrics[0]"), ("acuracy:kinds", "accuracy")):
        refused = subprocess.run([os.environ["DDP_EXP"], "plan", "Two.toml", "--set", f'metrics=["{metric}"]', "--unset", "checkpoint.metric"], capture_output=True, text=True)
        failed += check(f"{metric} is refused", refused.returncode == 2 and text in refused.stderr)
    weighted = kinds | {"weights": "weights"}
    held_out = {"validation": {"dataset": {"path": "rows.npz"}}, "epochs": 3, "device_pool": ["cpu", "cpu"]}
    found = []
    for name, loss in (("Samples-named", "cross_entropy"), ("Samples", "exported"), ("Judged", "model")):
        epoch, folder = run(name, weighted, loss=loss, metrics=[], **held_out)
        with open(f"{folder}/checkpoints/latest/model.safetensors", "rb") as weights:
            found.append((weights.read(), epoch["train_loss"], epoch["val_loss"]))
        with open(f"{folder}/metrics.jsonl") as lines:
            steps = [json.loads(line) for line in lines if '"event":"step"' in line]
        measured = "val_largest" in epoch, bool(steps) and all(step.get("largest", 0) > 0 for step in steps)
        failed += check(f"{name}: scalars beside the losses of samples", measured == (name == "Samples",) * 2)
    failed += check("losses of samples are weighted as a named loss weights them", found[0] == found[1] == found[2])
    _, folder = run("Samples", kinds, loss="exported", metrics=[], **held_out)
    _, named = run("Samples-named", kinds, loss="cross_entropy", metrics=[], **held_out)
    found = [open(f"{one}/checkpoints/latest/model.safetensors", "rb").read() for one in (folder, named)]
    failed += check("without weights their mean is the loss", found[0] == found[1])
    causes = {"Numpy": '"weight" depends on more than the seed', "Masked": "no persistent buffer", "trained": "draws nothing"}
    for name, cause in causes.items():
        settings = f'model={{name="exported", path="{name}.pt2", init="seed"}}'
        refused = subprocess.run([os.environ["DDP_EXP"], "plan", "Classes.toml", "--set", settings], capture_output=True, text=True)
        failed += check(f"{name}: the seed cannot draw its weights", refused.returncode == 2 and cause in " ".join(refused.stderr.split()))
    return 1 if failed else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ddp-exp-facts-") as scratch:
        os.chdir(scratch)
        sys.exit(main())
