"""python/ddp_run.py answers with the bits of `ddp-exp predict`: columns, classes and numbers, of every model and of every
kind of data that the program predicts."""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pandas
import torch
from PIL import Image

import exported_models
from loss_models import EXPORTS
from program import call, to_toml

SOURCE = pathlib.Path(os.environ["DDP_SOURCE"])
sys.path.insert(0, str(SOURCE / "python"))
import ddp_run  # noqa: E402

ROWS, IMAGES = 37, 10  # the last batch is short
ADAM = {"name": "adamw", "lr": 0.01}
GPT = {"name": "gpt", "n_layer": 2, "n_head": 2, "n_embd": 16, "block_size": 8}
VIT = {"name": "vit", "patch_size": 8, "num_layers": 2, "num_heads": 2, "hidden_dim": 16, "mlp_dim": 32}
NORMALIZE = {"type": "Normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
CONVOLUTION = [
    {"type": "Conv2d", "in_channels": 3, "out_channels": 4, "kernel_size": [3, 3], "padding": 1},
    {"type": "BatchNorm2d", "num_features": 4},
    {"type": "GELU", "approximate": "tanh"},
    {"type": "MaxPool2d", "kernel_size": 2},
    {"type": "Flatten"},
    {"type": "Dropout", "p": 0.2},
    {"type": "Linear", "in_features": 64, "out_features": 4},
]


def write_data(folder):
    draw = np.random.default_rng(1)
    cities = draw.choice(["007", "7", "Rome, Italy", 'the "Hague"', "NA", ""], ROWS)
    with open(folder / "people.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["age", "city", "zip", "income", "amount", "rate", "kind", "bought"])
        for row, city in enumerate(cities):
            age, income = draw.integers(18, 90), draw.choice(["", f"{draw.normal() * 1e5:.17g}", " +1e3 ", "-5"])
            amount, rate = draw.normal(), draw.normal() * 1e-3
            table.writerow([age, city, f"{draw.integers(0, 3):05}", income, amount, rate, draw.integers(1, 4), row % 2])
    text = (folder / "people.csv").read_text()
    (folder / "people.csv").write_text(text.replace("\n30,", '\n\n30,').replace(",NA,", ',"NA",', 1))
    frame = pandas.DataFrame({
        "age": pandas.array(draw.integers(0, 50, ROWS), dtype="Int64"), "share": draw.random(ROWS, dtype=np.float32),
        "code": draw.choice([1.5, 2.0, 1e22], ROWS), "flag": draw.random(ROWS) < 0.5, "y": draw.normal(size=ROWS),
    })  # fmt: skip
    frame.loc[3, "age"] = pandas.NA
    frame.to_parquet(folder / "frame.parquet")
    frame.to_json(folder / "frame.jsonl", orient="records", lines=True, double_precision=15)
    x = draw.standard_normal((ROWS, 20))
    arrays = {
        "x": x.astype(np.float32), "y": draw.standard_normal((ROWS, 12), dtype=np.float32), "kinds": draw.integers(0, 4, ROWS),
        "amounts": draw.standard_normal(ROWS, dtype=np.float32), "pixels": draw.integers(0, 256, (ROWS, 3, 8, 8), dtype=np.uint8),
        "words": draw.standard_normal((ROWS, 5, 8), dtype=np.float32), "mask": np.ones((ROWS, 5), dtype=np.int64),
        "planes": draw.random((ROWS, 2, 8, 8), dtype=np.float32), "labels": draw.integers(0, 2, (ROWS, 4)).astype(np.float32),
    }  # fmt: skip
    np.savez(folder / "data.npz", **arrays)
    np.save(folder / "double.npy", x)
    np.save(folder / "y-1.npy", arrays["labels"])
    for number in range(IMAGES):
        place = folder / "images" / str(number % 3)
        place.mkdir(parents=True, exist_ok=True)
        size = (int(draw.integers(30, 60)), int(draw.integers(30, 60)))
        photo = Image.fromarray(draw.integers(0, 256, (6, 8, 3), dtype=np.uint8)).resize(size, Image.Resampling.BICUBIC)
        photo.convert("L" if number == 4 else "RGB").save(place / f"{number} a.{'jpg' if number % 2 else 'png'}", quality=85)
    gray = draw.integers(0, 256, (ROWS, 20, 20), dtype=np.uint8)
    (folder / "gray.idx").write_bytes(bytes([0, 0, 8, 3]) + np.array(gray.shape, ">u4").tobytes() + gray.tobytes())
    (folder / "gray.labels").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, ROWS]) + bytes(i % 4 for i in range(ROWS)))
    (folder / "text.txt").write_text("To be, or not to be: that is the question. naïve " * 20)
    with open(os.devnull, "w") as sys.stdout:
        for name in ("Cnn", "Branching", "Encoder", "Vae", "Judge", "Tuple", "Heads", "Aided", "Masked"):
            exported_models.export(folder, name)
    sys.stdout = sys.__stdout__
    return arrays, gray


def train(folder, name, **experiment):
    file = folder / f"{name}.toml"
    defaults = {"optimizer": ADAM, "batch_size": 8, "threads": 1, "device_pool": ["cpu", "cpu"]}
    length = {} if "steps" in experiment else {"epochs": 2}
    file.write_text(to_toml(defaults | length | experiment))
    call("run", str(file), "--results", str(folder / "results"), "--run-id", "1")
    return folder / "results" / name / "1"


def command(run, *inputs, ending="csv"):
    """The answers of the program in a file."""
    out = run.parents[2] / f"answers.{ending}"
    call("predict", str(run), *map(str, inputs), "-o", str(out))
    return out


def require_same(run, frame, *inputs):
    """`frame` has the columns and the bits of the program's CSV."""
    with open(command(run, *inputs), newline="") as file:
        head, *rows = csv.reader(file)
    columns = {name: frame[name] for name in frame}
    assert list(columns) == head, (list(columns), head)
    for place, (name, column) in enumerate(columns.items()):
        column, texts = np.asarray(column), [row[place] for row in rows]
        if column.dtype.kind == "f":
            expected = np.array(texts, dtype=column.dtype)
            assert column.tobytes() == expected.tobytes(), (run, name, np.abs(column - expected).max())
        else:
            assert [str(one) for one in column] == texts, (run, name, column[:5], texts[:5])


def ok(title):
    print(f"ok   {title}", flush=True)


def check_tables(folder):
    table = {"name": "csv", "path": str(folder / "people.csv"), "categories": ["city", "zip"], "missing": "mean"}
    people, half = folder / "people.csv", {"validation": {"split": 0.3}}
    texts = {"city": str, "zip": str, "income": str}
    frame = pandas.read_csv(people, dtype=texts, keep_default_na=False)

    marked = {"missing_values": ["", "NA", "-5"], "target": "kind", "normalise": "standard"}
    run = train(folder, "classes", model={"name": "mlp", "hidden": [8], "activation": "silu"}, loss="cross_entropy",
                dataset=table | marked, ema={"decay": 0.5}, epochs=6,
                optimizer={"name": "sgd", "lr": 5.0}, **half)  # fmt: skip
    loaded = ddp_run.load(run)
    require_same(run, loaded.predict(people), people)
    assert loaded.preprocess({name: frame[name].tolist() for name in frame}).equal(loaded.preprocess(frame))
    frame.loc[frame["city"] == "NA", "city"] = "NA of another row"  # text only where the file has quotes
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        loaded.predict(frame)
    assert '"city": 6 cells hold "NA of another row"' in str(told[0].message) and told[0].filename == __file__, told[0]
    plain = table | {"target": "bought", "categories": ["zip"], "drop": ["city"], "missing": "zero", "normalise": "minmax"}
    run = train(folder, "binary", model={"name": "linear", "in_features": 8}, loss="bce_with_logits", dataset=plain, **half)
    for data in (people, frame, frame.drop(columns="bought")):
        require_same(run, ddp_run.load(run).predict(data), people)
    numbers = table | {"target": ["amount", "rate"], "normalise_targets": True}
    run = train(folder, "numbers", model={"name": "mlp", "hidden": [8, 8], "dropout": 0.2}, loss="mse", dataset=numbers, **half)
    require_same(run, ddp_run.load(run).predict(people), people)

    stored = {"target": "y", "categories": ["code", "flag"], "missing": "mean", "normalise": "standard"}
    for name in ("parquet", "jsonl"):
        file = folder / f"frame.{name}"
        run = train(folder, name, model={"name": "mlp", "hidden": []}, loss="l1", dataset={"name": name, "path": str(file)} | stored)
        require_same(run, ddp_run.load(run).predict(file), file)
        assert ddp_run.load(run).preprocess(file)[:, 1:].any(0).all()
    require_same(run, ddp_run.load(run).predict(pandas.read_parquet(folder / "frame.parquet")), file)
    (folder / "empty.csv").write_text(people.read_text().split("\n")[0] + "\n")
    require_same(folder / "results/classes/1", loaded.predict(folder / "empty.csv"), folder / "empty.csv")
    numbers = {"1.5 2 1e+22": "f", "3 -1 0": "i", "1 2.50": "O", "007 7": "O", "1 100000000000000000000000": "O"}
    assert {names: ddp_run.typed(names.split()).dtype.kind for names in numbers} == numbers  # as in Parquet
    ok("tables")


def check_arrays(folder, arrays):
    def of(inputs, targets=None, **options):
        named = {"name": "npz", "path": str(folder / "data.npz"), "inputs": inputs}
        return named | ({"targets": targets} if targets else {}) | options

    def exported(name):
        kinds = ("", ".eval", ".predict")
        files = {(kind[1:] or "path"): folder / f"{name}{kind}.pt2" for kind in kinds}
        return {"name": "exported"} | {key: str(file) for key, file in files.items() if file.exists()}

    data = folder / "data.npz"
    double = {"name": "npy", "inputs": str(folder / "double.npy"), "targets": str(folder / "y-1.npy")}
    run = train(folder, "npy", model={"name": "mlp", "hidden": [16]}, dataset=double, loss="bce_with_logits")
    for given in (folder / "double.npy", np.load(folder / "double.npy"), torch.from_numpy(arrays["x"]), {"double": arrays["x"]}):
        require_same(run, ddp_run.load(run).predict(given), folder / "double.npy")
    flattened = {"name": "sequential", "layers": CONVOLUTION}
    cases = {
        "pixels": (flattened, of("pixels", "kinds", scale=1 / 255), "cross_entropy", {"channels_last": True}),
        "half": (flattened, of("pixels", "kinds", scale=1 / 255), "cross_entropy", {"precision": "bf16"}),
        "cnn": (exported("Cnn"), of("pixels", "kinds", scale=1 / 255), "cross_entropy", {"ema": {"decay": 0.9}}),
        "branching": (exported("Branching"), of("x", "kinds"), "cross_entropy", {}),
        "encoder": (exported("Encoder"), of(["words", "mask"], "kinds"), "cross_entropy", {}),
        "vae": (exported("Vae"), of("x"), "model", {}),
        "judge": (exported("Judge"), of("x", "kinds"), "model", {}),
        "tuple": (exported("Tuple"), of("x", "amounts"), "model", {}),
        "aided": (exported("Aided"), of("x", "kinds"), exported("Aided.loss"), {}),
        "masked": (exported("Masked"), of("x"), "model", {}),
        "heads": (exported("Heads"), of("x", ["kinds", "amounts"]), {"name": "exported", "path": str(folder / "Heads.loss.pt2")}, {}),
    }  # fmt: skip
    for name, (model, dataset, loss, options) in cases.items():
        run = train(folder, name, model=model, dataset=dataset, loss=loss, **options)
        inputs = dataset["inputs"] if isinstance(dataset["inputs"], list) else [dataset["inputs"]]
        loaded = ddp_run.load(run)
        require_same(run, loaded.predict(data), data)
        require_same(run, loaded.predict({one: arrays[one] for one in inputs}), data)
        ok(name)
    for file in folder.glob("*.pt2"):
        file.unlink()
    for name in ("branching", "vae", "heads", "aided", "masked"):  # a graph for evaluation, one for predictions, a loss
        run = folder / "results" / name / "1"
        require_same(run, ddp_run.load(run).predict(data), data)
    plane = [{"type": "Conv2d", "in_channels": 3, "out_channels": 2, "kernel_size": 1}]
    planes = of("pixels", "planes", scale=0.1)
    run = train(folder, "plane", model={"name": "sequential", "layers": plane}, dataset=planes, loss="mse")
    answers = ddp_run.load(run).predict(data)
    assert answers.tobytes() == np.load(command(run, data, ending="npy")).tobytes() and answers.shape == (ROWS, 2, 8, 8)
    ok("arrays")


def check_images(folder, gray):
    files = sorted(map(str, (folder / "images").rglob("* a.*")))
    images = {"name": "image_folder", "path": str(folder / "images")}
    crop = [{"type": "RandomResizedCrop", "size": 32}, {"type": "RandomHorizontalFlip"}, NORMALIZE]
    own = [{"type": "Resize", "size": 36, "interpolation": "bicubic"}, {"type": "CenterCrop", "size": [40, 32]},
           {"type": "Grayscale", "num_output_channels": 3}, {"type": "Pad", "padding": [1, 2], "fill": [9, 8, 7]}]  # fmt: skip
    small = {"name": "resnet18", "small_images": True}
    run = train(folder, "resnet", model=small, dataset=images | {"transforms": crop}, epochs=1)
    require_same(run, ddp_run.load(run).predict(files), *files)
    padded = train(folder, "padded", model={"name": "resnet50"}, dataset=images | {"transforms": crop}, epochs=1,
                   validation={"dataset": {"path": images["path"], "transforms": own}})  # fmt: skip
    require_same(padded, ddp_run.load(padded).predict(files), *files)
    patches = [{"type": "RandomCrop", "size": 16, "padding": 2}, {"type": "ColorJitter", "brightness": 0.2},
               {"type": "Grayscale", "num_output_channels": 3}, NORMALIZE, {"type": "RandomErasing"}]  # fmt: skip
    idx = {"name": "idx", "images": str(folder / "gray.idx"), "labels": str(folder / "gray.labels"), "transforms": patches}
    run = train(folder, "vit", model=VIT, dataset=idx, epochs=1)
    require_same(run, ddp_run.load(run).predict(gray), folder / "gray.idx")
    ok("images")


def check_text(folder):
    """The likeliest tokens by the scores of run.model are those that `generate` draws."""
    for tokenizer in ("char", "byte"):
        text = {"name": "text", "path": str(folder / "text.txt"), "tokenizer": tokenizer, "block_size": 8}
        run = train(folder, tokenizer, model=GPT | {"bias": tokenizer == "byte"}, dataset=text, steps=20)
        told = json.loads(call("generate", str(run), "--prompt", "naïve", "--tokens", "12", "--temperature", "0", "--json"))
        loaded = ddp_run.load(run)
        ids = loaded.preprocess("naïve")
        with torch.no_grad():
            for _ in range(12):
                ids = torch.cat([ids, loaded.model(ids[:, -8:])[:, -1].argmax(1, keepdim=True)], dim=1)
        assert ids[0].tolist()[-12:] == told["tokens"][-12:], (ids, told)
    ok("texts")


def refused(words, call_):
    try:
        call_()
    except ddp_run.Error as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


def check_folders(folder):
    """Every way to name a run, its checkpoints, and what is no run."""
    run, people = folder / "results/classes/1", folder / "people.csv"
    latest = ddp_run.load(folder / "results/classes/latest")
    assert latest.folder == run.resolve() == ddp_run.load(str(folder / "results/classes")).folder
    best = json.loads((run / "summary.json").read_text())["best"]["step"]
    steps = [one["step"] for one in latest.checkpoints()]
    assert steps[0] == best < steps[-1] and latest.checkpoint.name == f"step-{best:08}" and steps == sorted(steps), (best, steps)
    for step in [*steps, "latest", "best"]:
        out = folder / "from.csv"
        call("predict", str(run), str(people), "--from", str(step), "-o", str(out))
        answers = ddp_run.load(run, step).predict(people)
        text = np.array([line.split(",")[1:] for line in out.read_text().split()[1:]], dtype=np.float32)
        assert np.array_equal(answers.iloc[:, 1:].to_numpy(), text)
    events = latest.metrics()
    assert isinstance(events, pandas.DataFrame) and (events["event"] == "epoch").sum() == 6
    assert latest.config["loss"]["name"] == "cross_entropy"

    search = folder / "search.toml"
    parameters = '[sweep]\nmetric = "val_loss"\n[sweep.parameters]\n"optimizer.lr" = [5.0, 1e-3]\n'
    search.write_text((folder / "classes.toml").read_text() + parameters)
    call("sweep", str(search), "--results", str(folder / "results"), "--run-id", "1")
    require_same(folder / "results/search/1", ddp_run.load(folder / "results/search/latest").predict(people), people)

    moved = folder / "a b" / "the 'run'"
    shutil.copytree(run, moved)
    require_same(run, ddp_run.load(moved).predict(people), people)
    weights = moved / "checkpoints" / f"step-{best:08}" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert ddp_run.load(moved).checkpoint != weights.parent.resolve()
    assert "is skipped: model.safetensors" in str(told[0].message), told
    shutil.rmtree(moved / "checkpoints")
    refused("has no complete checkpoint", lambda: ddp_run.load(moved))
    refused("is not the folder of a run", lambda: ddp_run.load(folder))
    refused("did you mean 'classes'?", lambda: ddp_run.load(folder / "results/clases"))
    refused("give \"best\", \"latest\" or one of the steps", lambda: ddp_run.load(run, 7))
    frame = pandas.read_csv(people, dtype={"zip": str})
    refused("have no column 'income'; did you mean 'incom'?",
            lambda: latest.predict(frame.rename(columns={"income": "incom"})))
    refused("has no rows to predict", lambda: ddp_run.load(folder / "results/char/1").predict("text"))
    refused("column 'age', row 0: 'old' is not a number", lambda: latest.predict(frame.assign(age="old")))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        latest.predict(pandas.read_csv(people))  # the zip 00001 is the number 1
    assert f'"zip": {ROWS} cells hold' in str(told[0].message) and told[0].filename == __file__, told[0]
    ok("folders")


def check_alone(folder):
    """The three lines of the documentation, in another folder and without pandas."""
    blocks = re.findall(r"```python\n(.*?)```", (SOURCE / "docs/data.md").read_text(), re.S)
    (example,) = (block for block in blocks if "ddp_run" in block)
    assert len(example.splitlines()) == 3, example
    results = folder / "elsewhere" / "results"
    shutil.copytree(folder / "results" / "classes", results / "churn", symlinks=True)
    shutil.copy(folder / "people.csv", results.parent / "strangers.csv")
    without = "import sys\nsys.modules['pandas'] = None\n"
    for first in ("", without):
        code = f"import sys\nsys.path.insert(0, {str(SOURCE / 'python')!r})\n{first}{example}"
        done = subprocess.run([sys.executable, "-c", code], cwd=results.parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "probability_1" in done.stdout and ("array(" in done.stdout) == bool(first), done.stdout
    ok("alone")


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="ddp-exp ddp_run-") as name:
        folder = pathlib.Path(name)
        arrays, gray = write_data(folder)
        check_tables(folder)
        check_arrays(folder, arrays)
        check_images(folder, gray)
        check_text(folder)
        check_folders(folder)
        check_alone(folder)


main()
