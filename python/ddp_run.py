"""A run of ddp-exp in Python: its trained model, the preprocessing of its data, and its metrics.

    import ddp_run
    run = ddp_run.load("results/churn/latest")
    print(run.predict("strangers.csv"))

`run.predict(data)` returns the columns of `ddp-exp predict`, with the same bits on the CPU: a DataFrame if pandas is
installed, else a dict of arrays; one array if an output has more than one dimension. `data` is

    of a table      a DataFrame, a dict of columns, or a file
    of arrays       an array, a dict of arrays, a list of them in the order of the model's inputs, or a file
    of images       a list of paths, or a uint8 array [n, channels, height, width]

`run.preprocess(data)` returns what the model takes: a tensor, or a list of them for several inputs; of a text its
tokens. `run.model` is a torch.nn.Module in evaluation, on the CPU. `run.config` has the settings that trained the
checkpoint, `run.metrics()` the lines of metrics.jsonl, `run.checkpoints()` the checkpoints that exist.

A file of a table gives the command's bits. A DataFrame does so if texts such as 007 were read as text, and numbers
exactly: pandas.read_csv(file, dtype={"zip": str}), before pandas 3 also float_precision="round_trip".

It needs ddp_folder.py and switches.txt beside it, torch 2.11, safetensors and numpy; pandas for files of Parquet and
Feather, Pillow for files of images.
"""

import collections
import datetime
import gzip
import io
import json
import math
import pathlib
import re
import warnings
import zipfile
from collections.abc import Mapping

import numpy as np
import safetensors.torch
import torch
from torch import nn
from torch.nn import functional as F

import ddp_folder
from ddp_folder import Error, choose_checkpoint, nearest, run_folder, settings_of

PATHS = (str, pathlib.Path)
IMAGES = ("image_folder", "tar", "idx", "cifar10", "cifar100")


def load(run, checkpoint=None):
    """The run in a folder. A name's folder stands for its newest run, a sweep for its best trial.

    `checkpoint` is "best", "latest" or a step; by default the best one if the run has a validation, else the latest."""
    return Run(run_folder(pathlib.Path(run)), checkpoint)


class Run:
    def __init__(self, folder, checkpoint=None):
        self.folder = folder
        self.checkpoint = choose_checkpoint(folder, checkpoint)
        self.config = settings_of(folder, self.checkpoint)
        self.dataset = measured_dataset(self.config)
        file = self.checkpoint / "preprocessing.json"
        self.preprocessing = json.loads(file.read_text()) if file.exists() else {}
        self.decision = self.preprocessing.pop("decide", None) or {}  # what [decide] fitted
        decide = self.config.get("decide", {})
        if not self.decision and ("threshold" in decide or decide.get("calibrate", "none") != "none"):
            raise Error(f"{self.checkpoint}: was saved between two validations, and has no [decide]; use checkpoint=\"best\"")
        self.graph = None  # the exported program of a model written in Python
        self.model = build_model(self)

    def metrics(self):
        """The lines of metrics.jsonl: one for each step, epoch and save."""
        return framed([event for _, event in ddp_folder.events(self.folder)])

    def checkpoints(self):
        """The complete checkpoints, the newest last."""
        return ddp_folder.checkpoints(self.folder)

    def preprocess(self, data):
        inputs = self._inputs(data)
        return inputs[0] if len(inputs) == 1 else inputs

    @torch.no_grad()
    def predict(self, data):
        if self.dataset["name"] in ("text", "tokens"):
            raise Error(f"{self.folder}: a text has no rows to predict; use run.model(run.preprocess(text))")
        size = self.config.get("validation", {}).get("batch_size", self.config["batch_size"])
        columns, parts = {}, [data]
        if self.dataset["name"] in IMAGES and isinstance(data, (*PATHS, list, tuple)):
            paths = [data] if isinstance(data, PATHS) else data
            columns = {"path": objects(map(str, paths))}
            parts = [paths[at : at + size] for at in range(0, max(len(paths), 1), size)]
        flushes, threads = self.config.get("flush_denormal", False), torch.get_num_threads()
        torch.set_num_threads(self.config["threads"])
        answers, others = [], {}
        try:
            if flushes:
                torch.set_flush_denormal(True)
            for inputs in map(self._inputs, parts):
                rows = len(inputs[0])
                if rows == 0:  # a row of zeros shows the columns
                    inputs = [torch.zeros(1, *one.shape[1:], dtype=one.dtype) for one in inputs]
                for batch in zip(*(one.split(size) for one in inputs)):
                    output, is_logits, more = self._answer([one.clone() for one in batch])
                    answers.append(output[:rows])
                    for name in more:
                        others.setdefault(name, []).append(more[name].reshape(len(output), -1)[:rows])
            if others:  # a row of zeros, and two
                one, two = (self._answer([torch.zeros(count, *one.shape[1:], dtype=one.dtype) for one in inputs])[2] for count in (1, 2))
                others = {name: torch.cat(parts) for name, parts in others.items() if 2 * one[name].numel() == two[name].numel()}
        finally:
            torch.set_num_threads(threads)
            if flushes:
                torch.set_flush_denormal(False)
        return self._columns(torch.cat(answers), self._kind(is_logits, len(inputs)), columns, others)

    def _inputs(self, data):
        """The model's inputs."""
        name = self.dataset["name"]
        if self.preprocessing.get("kind") == "table":
            return encode_table(self, data)
        if name in ("text", "tokens"):
            return [encode_text(self, data)]
        if name in IMAGES:
            return [encode_images(self, data)]
        if name == "digits":
            rows = np.loadtxt(data, delimiter=",")[:, :64] if isinstance(data, PATHS) else np.asarray(data)
            return [torch.from_numpy(rows.astype(np.float32)) / 16]
        return encode_arrays(self, data)

    def _answer(self, batch):
        """(the model's answer to a batch, whether it is the output named logits, further outputs by name)"""
        device = next(self.model.parameters(), torch.empty(0)).device
        batch = [one.to(device) for one in batch]
        if self.config.get("channels_last"):
            batch = [one.to(memory_format=torch.channels_last) if one.dim() == 4 else one for one in batch]
        missing = missing_targets(self.graph, batch) if self.graph is not None else []
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.config.get("precision"))
        drawing = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(drawing), torch.autocast(device.type, dtype=dtype, enabled=dtype is not None):
            torch.manual_seed(0)  # of what a model draws in evaluation
            outputs = self.model(*batch, *missing)
        if not isinstance(outputs, dict):
            outputs = {str(place): one for place, one in enumerate([outputs] if isinstance(outputs, torch.Tensor) else outputs)}
        if missing:  # the losses of samples are of targets that are zeros here
            outputs = {name: one for name, one in outputs.items() if name != "loss"}
        main = "logits" if "logits" in outputs else next((name for name, one in outputs.items() if one.dim() > 0), None)
        if main is not None:
            output = outputs[main].cpu().float()
            more = {name: one.cpu().float() for name, one in outputs.items() if name != main and one.shape[:1] == output.shape[:1]}
            return output, main == "logits", {name: one for name, one in more.items() if one.dim() <= 2 and not missing}
        raise Error(f"{self.folder}: the model gives no output without targets; model.predict names a graph that does")

    def _kind(self, is_logits, inputs):
        """What the outputs are: "classes", "binary" or "numbers"."""
        if "target_kind" in self.preprocessing:
            return self.preprocessing["target_kind"]
        loss = self.config["loss"]["name"]
        if loss not in ("model", "exported") or not is_logits:
            return {"cross_entropy": "classes", "nll": "classes", "bce_with_logits": "binary"}.get(loss, "numbers")
        graph, place = self.graph, inputs
        if loss == "exported":
            graph, place = load_graph(self, "loss", "path"), self.graph_outputs
        targets = user_inputs(graph)[place:]
        return "classes" if targets and targets[0].dtype == torch.int64 else "numbers"

    def _columns(self, outputs, kind, columns, others):
        if calibrates := self.decision.get("temperature") is not None or self.decision.get("isotonic"):
            outputs = outputs.double()
        if self.config["loss"]["name"] == "nll":
            outputs = outputs.exp()
        elif kind != "numbers":
            outputs = outputs.softmax(1) if kind == "classes" else outputs.sigmoid()
        values = (calibrated(outputs, self.decision) if calibrates else outputs).float().numpy()
        if values.ndim > 2:
            return values
        values = values.reshape(len(values), math.prod(values.shape[1:]))
        threshold = self.decision.get("threshold")
        if kind == "classes":
            known = self.preprocessing.get("classes", [])
            names = [*known, *map(str, range(len(known), values.shape[1]))][: values.shape[1]]
            best, positive = values.argmax(1), self.decision.get("positive")
            if threshold is not None:
                best = np.where(values[:, positive] >= threshold, positive, 1 - positive)
            columns["prediction"] = typed(names)[best]
        else:
            names = self.preprocessing.get("targets") or [target_name(self.dataset.get("targets"))]
            if len(names) == 1 and values.shape[1] > 1:
                names = [f"{names[0]}_{i}" for i in range(values.shape[1])]
            scales = self.preprocessing.get("target_scales", [])
            is_scaled = any(scale["kind"] != "none" or "transform" in scale for scale in scales)
            for i, name in enumerate(names):
                numbers = unscaled(scales[i], values[:, i]) if is_scaled else values[:, i]
                columns[f"prediction_{name}"] = (numbers > 0.5 if threshold is None else numbers >= threshold).astype(np.int64) if kind == "binary" else numbers
        if kind != "numbers":
            columns |= {f"probability_{name}": values[:, i] for i, name in enumerate(names)}
        for name, one in others.items():
            places = [""] if one.shape[1] == 1 else [f"_{i}" for i in range(one.shape[1])]
            columns |= {f"output_{name}{place}": one[:, i].numpy() for i, place in enumerate(places)}
        return framed(columns)


def calibrated(probabilities, decision):
    """Probabilities [rows, classes or labels, …] as [decide] corrects them."""
    p, columns = probabilities.movedim(1, -1).numpy().copy(), probabilities.shape[1]
    if decision["temperature"] is not None:
        with np.errstate(divide="ignore"):
            logits = np.maximum(np.log(np.concatenate([1 - p, p], -1) if columns == 1 else p), -745)
        p = np.exp((logits - logits.max(-1, keepdims=True)) * (1 / decision["temperature"]))
        p = (p / p.sum(-1, keepdims=True))[..., -columns:]
    curves, positive = decision["isotonic"], decision["positive"]
    if len(curves) == 1:
        risen = np.interp(p[..., positive], curves[0]["x"], curves[0]["y"])
        p = np.stack([risen if c == positive else 1 - risen for c in range(columns)], -1)
    elif curves:
        p = np.stack([np.interp(p[..., c], curve["x"], curve["y"]) for c, curve in enumerate(curves)], -1)
        sums = p.sum(-1, keepdims=True)
        p = np.where(sums == 0, 1 / columns, p / np.where(sums == 0, 1, sums))
    return torch.from_numpy(p).movedim(-1, 1)


def framed(data):
    """A DataFrame, if pandas is installed."""
    try:
        import pandas
    except ImportError:
        return data
    return pandas.DataFrame(data)


# --- The data of predictions

def measured_dataset(config):
    """The dataset with the transforms of predictions: the validation's own, else the training's without random ones."""
    dataset = config["dataset"]
    trained = dataset.get("transforms", [])
    for section in ("validation", "test"):
        own = config.get(section, {}).get("dataset", {})
        if own.get("name") == dataset["name"] and own.get("transforms", trained) != trained:
            return dataset | {"transforms": own["transforms"]}
    return dataset | {"transforms": [one for entry in trained for one in for_evaluation(entry)]}


# --- Tables

NUMBER = re.compile(
    r"[ \t]*(?:\+(?!-))?(-?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity))[ \t]*", re.I | re.A
)


class Quoted(str):
    """A cell of a CSV file in quotes: text, even if it looks like a mark of missing cells."""


def encode_table(run, data):
    fitted, dataset = run.preprocessing, run.dataset
    if fitted.get("version", 1) < 2:
        raise Error(f"{run.checkpoint}: an older version of ddp-exp fitted its preprocessing; use ddp-exp predict")
    marks = dataset.get("missing_values", []) if dataset["name"] == "csv" else []
    if isinstance(data, PATHS):
        data, marks = read_table(pathlib.Path(data), dataset)
    elif not hasattr(data, "columns") and not isinstance(data, Mapping):
        raise Error(f"a table is a DataFrame, a dict of columns or a file, not {type(data).__name__}")
    names = {str(name): name for name in data}  # pandas numbers columns without a header
    parts, indices, rows = [], [], None
    for feature in fitted["features"]:
        name = feature["name"]
        if name not in names:
            raise Error(f"the data have no column {name!r}{nearest(name, names)}")
        cells = data[names[name]]
        cells = np.asarray(cells) if hasattr(cells, "dtype") else objects(cells)  # numpy turns ["a", nan] into texts
        if "categories" not in feature:
            encoded = encode_numbers(feature, cells, marks, fitted["missing"], dataset)
            parts.append(encoded)
        else:
            encoded = number_of_values(feature, cells, marks, fitted["missing"])
            width = len(feature["categories"]) + feature.get("blank_is_value", False)
            if fitted.get("are_indices"):
                indices.append(encoded + 1)
            else:
                parts.append((encoded[:, None] == np.arange(width)).astype(np.float32))
        rows = len(encoded) if rows is None else rows
        if len(encoded) != rows:
            raise Error(f"column {name!r} has {len(encoded)} rows, but the first one has {rows}")
    inputs = [torch.from_numpy(np.concatenate(parts, axis=1))] if parts else []
    return inputs + ([torch.from_numpy(np.stack(indices, axis=1))] if indices else [])


def encode_numbers(feature, cells, marks, missing, dataset):
    """float32 [rows, inputs of the feature]"""
    name, is_date = feature["name"], "parts" in feature
    if is_date:
        numbers = np.array(read_cells(name, cells, lambda cell, marks: days_in(cell, marks, dataset.get("date_format")), marks), np.float64)
    elif cells.dtype.kind in "iufb":
        numbers = cells.astype(np.float64)
    else:
        numbers = np.array(read_cells(name, cells, lambda cell, marks: number_in(cell, marks, dataset), marks), np.float64)
    marked = [parsed(mark) for mark in marks if parsed(mark) is not None]
    absent = np.isnan(numbers) | (np.zeros(len(numbers), bool) if is_date else np.isin(numbers, marked))
    if missing in ("drop", "error"):
        refuse_missing(name, absent)
    columns = []
    for part in feature["parts"] if is_date else [feature]:
        values = np.array([math.nan if gone else part_of(part["part"], days) for gone, days in zip(absent, numbers)]) if is_date else numbers
        with np.errstate(over="ignore"):
            columns.append(scaled(part["scale"], np.where(absent, part["fill"], values)).astype(np.float32))
        for row in np.flatnonzero(~np.isfinite(columns[-1]))[:1]:
            raise Error(f"column {name!r}, row {row}: {values[row]} is infinite, or too large for a float32")
    return np.stack([*columns, absent.astype(np.float32)] if feature.get("indicator") else columns, axis=1)


def number_of_values(feature, cells, marks, missing):
    """int64 [rows]: the places of values among the categories; -1: missing or unknown"""
    name, places = feature["name"], {value: place for place, value in enumerate(feature["categories"])}
    values = read_cells(name, cells, text_in, marks)
    if feature.get("blank_is_value"):
        places[None] = len(places)
    elif missing == "drop":
        refuse_missing(name, [value is None for value in values])
    encoded = np.array([places.get(value, -1) for value in values], dtype=np.int64)
    unknown = collections.Counter(value for value in values if value is not None and value not in places)
    if unknown:
        shown = ", ".join(f'"{value}"' for value in list(unknown)[:3]) + (", …" if len(unknown) > 3 else "")
        what = "which the training rows do not have: all columns of the category are 0"
        warnings.warn(f'column "{name}": {unknown.total()} cells hold {shown}, {what}', stacklevel=6)
    return encoded


def refuse_missing(name, absent):
    for row in np.flatnonzero(absent)[:1]:
        raise Error(f"column {name!r}, row {row}: is missing, and the model was trained without such rows")


def read_cells(name, cells, read, marks):
    values = []
    for row, cell in enumerate(cells):
        try:
            values.append(read(cell, marks))
        except ValueError as error:
            raise Error(f"column {name!r}, row {row}: {error}") from None
    return values


def is_missing(cell):
    return cell is None or type(cell).__name__ == "NAType" or cell != cell


def parsed(text):
    found = NUMBER.fullmatch(text)
    return float(found[1]) if found else None


EPOCH = datetime.datetime(1970, 1, 1)


def days_in(cell, marks, form):
    """The days since 1970 of the date in a cell, with the time as a fraction; NaN: it is missing."""
    if is_missing(cell) or isinstance(cell, str) and cell in marks or type(cell).__name__ == "NaTType":
        return math.nan
    if isinstance(cell, np.datetime64):
        return (cell - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    if form and isinstance(cell, (int, float, np.number)) and cell == int(cell):
        cell = str(int(cell))  # pandas.read_csv takes 20240131 as a number
    if isinstance(cell, str):
        cell = datetime.datetime.strptime(cell.strip(), form) if form else datetime.datetime.fromisoformat(cell.strip())
    if isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime):
        cell = datetime.datetime.combine(cell, datetime.time())
    if not isinstance(cell, datetime.datetime):
        raise ValueError(f"{cell!r} is no date")
    if cell.tzinfo is not None:
        cell = cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return (cell - EPOCH) / datetime.timedelta(days=1)


def part_of(part, days):
    if part == "days":
        return days
    moment = EPOCH + datetime.timedelta(days=days, milliseconds=0.5)
    return moment.weekday() if part == "weekday" else getattr(moment, part)


def usual_number(text, dataset):
    """A number of a table with another decimal character, or with thousands, as Python writes it."""
    decimal, thousands = dataset.get("decimal", "."), dataset.get("thousands", "")
    if decimal == "." and not thousands:
        return text
    d, t = re.escape(decimal), re.escape(thousands)
    grouped = rf"|[0-9]{{1,3}}(?:{t}[0-9]{{3}})+" if thousands else ""
    if not re.fullmatch(rf"\s*[+-]?(?:(?:[0-9]*{grouped})(?:{d}[0-9]*)?(?:[eE][+-]?[0-9]+)?|[a-z]+)\s*", text, re.I):
        return "no number"
    return (text.replace(thousands, "") if thousands else text).replace(decimal, ".")


def number_in(cell, marks, dataset):
    """The number in a cell; NaN: it is missing."""
    if is_missing(cell):
        return math.nan
    if not isinstance(cell, str):
        return float(cell)
    number = parsed(usual_number(cell, dataset))
    if number is None and cell not in marks:
        raise ValueError(f"{cell!r} is not a number; the model was trained on numbers")
    return math.nan if number is None else number


def text_in(cell, marks):
    """The text that a file has for a cell; None: it is missing."""
    if is_missing(cell):
        return None
    if isinstance(cell, str):
        return None if cell in marks and not (cell and isinstance(cell, Quoted)) else cell
    if isinstance(cell, (bool, np.bool_)):  # pandas takes the texts True and False of a CSV for truth values
        return str(cell) if marks else str(int(cell))
    if isinstance(cell, (int, np.integer)):
        return str(int(cell))
    if isinstance(cell, (float, np.floating)):
        return str(int(cell)) if abs(cell) < 2**53 and cell % 1 == 0 else spellings(float(cell))[0]
    raise ValueError(f"{type(cell).__name__} is neither text nor a number; give it as text")


def spellings(number):
    """The texts that C++ writes for a number: the shortest one, and the one without an exponent."""
    fixed = f"{number:.0f}" if number % 1 == 0 else np.format_float_positional(number, trim="-")
    return min(fixed, np.format_float_scientific(number, trim="-", exp_digits=2), key=len), fixed


def typed(names):
    """Names of classes as numbers, if each is the text of its number."""
    whole = [int(name) for name in names if re.fullmatch("-?[0-9]+", name)]
    if [str(one) for one in whole] == names and all(-(2**63) <= one < 2**63 for one in whole):
        return np.array(whole)
    numbers = [parsed(name) for name in names]
    if all(one is not None and math.isfinite(one) and name in spellings(one) for name, one in zip(names, numbers)):
        return np.array(numbers)
    return objects(names)


def scaled(scale, numbers):
    if scale["kind"] == "quantile":
        return normal_of(np.array(scale["quantiles"]), numbers)
    if scale["kind"] == "standard":
        return (numbers - scale["shift"]) / scale["factor"]
    return numbers * scale["factor"] + scale["shift"] if scale["kind"] == "minmax" else numbers


def normal_of(quantiles, numbers):
    """QuantileTransformer(output_distribution="normal") of scikit-learn."""
    shares, bound = np.linspace(0, 1, len(quantiles)), 1e-7
    places = 0.5 * (np.interp(numbers, quantiles, shares) - np.interp(-numbers, -quantiles[::-1], -shares[::-1]))
    places[numbers + bound > quantiles[-1]] = 1
    places[numbers - bound < quantiles[0]] = 0
    low, high = (torch.special.ndtri(torch.tensor(one, dtype=torch.float64)) for one in (bound - np.spacing(1), 1 - (bound - np.spacing(1))))
    return torch.special.ndtri(torch.from_numpy(places)).clamp(low, high).numpy()


def unscaled(scale, values):
    values = values.astype(np.float64)
    values = values * scale["factor"] + scale["shift"] if scale["kind"] == "standard" else values
    undo = {"log1p": math.expm1, "log": math.exp}.get(scale.get("transform"))
    return np.array([grown(undo, value) for value in values]) if undo else values


def grown(undo, value):
    try:
        return undo(value)
    except OverflowError:
        return math.inf


def read_table(file, dataset):
    """(the columns of a file, its marks of missing cells)"""
    ending = (file.with_suffix("") if file.suffix == ".gz" else file).suffix[1:]
    form = {"tsv": "csv", "ndjson": "jsonl"}.get(ending, ending)
    form = form if form in ("csv", "parquet", "feather", "jsonl") else dataset["name"]
    if not file.exists():
        raise Error(f"{file}: there is no such file")
    if form in ("parquet", "feather"):
        import pandas

        return getattr(pandas, f"read_{form}")(file, dtype_backend="numpy_nullable"), []
    with (gzip.open if file.suffix == ".gz" else open)(file, "rb") as stream:
        text = stream.read().decode("utf-8-sig")
    if form == "jsonl":
        lines = [json.loads(line) for line in text.split("\n") if line.strip()]
        names = dict.fromkeys(name for line in lines for name in line)
        return {name: objects(line.get(name) for line in lines) for name in names}, []
    options = dataset if dataset["name"] == "csv" else {}
    rows = list(csv_rows(text, options.get("delimiter") or ("\t" if ending == "tsv" else ","), file))
    if not rows:
        raise Error(f"{file}: is empty")
    has_names = options.get("header", True)
    names = [str(name) for name in (rows[0] if has_names else range(len(rows[0])))]
    for number, row in enumerate(rows[1:]):
        if len(row) != len(names):
            raise Error(f"{file}, row {number}: has {len(row)} cells, but the first line has {len(names)}")
    columns = {name: objects(row[i] for row in rows[has_names:]) for i, name in enumerate(names)}
    return columns, options.get("missing_values", ["", "NA", "NaN", "nan", "null", "None"])


def objects(cells):
    cells = list(cells)
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return column


def csv_rows(text, delimiter, file):
    """Yields the rows of a CSV. Python's csv does not tell which cells have quotes."""
    cell = re.compile(r'(?:"([^"]*(?:""[^"]*)*)")?([^D\r\n]*)(D|\r\n|\r|\n|\Z)'.replace("D", re.escape(delimiter)))
    row, at = [], 0
    while at < len(text) or row:
        if not row and text[at] in "\r\n":  # empty lines are not rows
            at += 1
            continue
        found = cell.match(text, at)
        quoted, plain, end = found.groups()
        if quoted is None and plain.startswith('"'):
            raise Error(f"{file}: a quoted cell is never closed: {plain[:20]}")
        row.append(plain if quoted is None else Quoted(quoted.replace('""', '"') + plain))
        at = found.end()
        if end != delimiter:
            yield row
            row = []


# --- Arrays and texts

def target_name(option):
    """The name of the predicted target: "y" of "y", "y.npy" and "y-*.npy"."""
    name = option[0] if isinstance(option, list) and option else option or ""
    if name.endswith(".npy"):
        name = re.sub(r"[!-/:-@[-`{-~]+$", "", re.split(r"[*?[]", pathlib.PurePath(name).stem)[0])
    return name or "target"


def encode_arrays(run, data):
    names = run.dataset.get("inputs", ["input"])
    names = [names] if isinstance(names, str) else names
    if run.dataset["name"] == "npy":
        names = [pathlib.PurePath(name).stem for name in names]
    if isinstance(data, PATHS):
        data = read_arrays(data)
    if isinstance(data, Mapping):
        for name in names:
            if name not in data:
                raise Error(f"there is no array {name!r}; the model takes {', '.join(names)}{nearest(name, data)}")
        data = [data[name] for name in names]
    data = [data] if len(names) == 1 and not isinstance(data, list) else data
    if len(data) != len(names):
        raise Error(f"the model takes {len(names)} inputs, {', '.join(names)}, but {len(data)} are given")
    inputs = [as_input(one, name, run.dataset.get("scale")) for name, one in zip(names, data)]
    if len({len(one) for one in inputs}) > 1:
        raise Error(f"the inputs have {', '.join(str(len(one)) for one in inputs)} rows, and row i of each is a sample")
    return inputs


def read_arrays(file):
    file = pathlib.Path(file)
    if not file.exists():
        raise Error(f"{file}: there is no such file")
    return safetensors.torch.load_file(file) if file.suffix == ".safetensors" else np.load(file)


def as_input(array, name, scale):
    """Floats become float32, and other numbers int64, or float32 if the dataset has a scale."""
    array = read_arrays(array) if isinstance(array, PATHS) else array
    if isinstance(array, torch.Tensor):
        array = (array.float() if array.dtype == torch.bfloat16 else array).detach().cpu().numpy()
    array = np.asarray(array)
    if array.dtype.kind not in "biuf" or array.ndim == 0:
        raise Error(f"array {name!r} is {array.dtype} {list(array.shape)}, and the model takes rows of numbers")
    if array.dtype.kind == "f" or scale is not None:
        return torch.from_numpy(np.array(array, dtype=np.float32, order="C")) * (1 if scale is None else scale)
    if array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any():
        raise Error(f"array {name!r} holds a number too large for int64")
    return torch.from_numpy(np.array(array, dtype=np.int64, order="C"))


def encode_text(run, data):
    """The tokens of a text, int64 [1, t]; tokens stay as they are."""
    if not isinstance(data, str):
        return torch.as_tensor(np.asarray(data), dtype=torch.int64)
    tokenizer = run.preprocessing.get("tokenizer", {"name": "none"})
    if tokenizer["name"] == "byte":
        return torch.tensor([list(data.encode())])
    if tokenizer["name"] != "char":
        raise Error(f"{run.folder}: its tokenizer, {tokenizer['name']}, does not exist here; give tokens, int64 [n, t]")
    ids = {character: number for number, character in enumerate(sorted(tokenizer["characters"]))}
    for character in data:
        if character not in ids:
            raise Error(f"the character {character!r} does not occur in the text that the run was trained on")
    return torch.tensor([[ids[character] for character in data]])


# --- Images: the arithmetic of torchvision's v2 on uint8 tensors

def encode_images(run, data):
    """float32 [n, channels, height, width]"""
    data = [data] if isinstance(data, PATHS) else data
    if isinstance(data, (list, tuple)):
        data = map(read_image, data)
    else:
        data = torch.as_tensor(np.asarray(data))
        data = data[:, None] if data.dim() == 3 else data
        if data.dtype != torch.uint8 or data.dim() != 4:
            raise Error(f"images are paths, or uint8 [n, channels, height, width], not {data.dtype} {list(data.shape)}")
    images = [transformed(image, run.dataset["transforms"]) for image in data]
    shapes = sorted({tuple(image.shape) for image in images})
    if len(shapes) != 1:
        raise Error(f"the images have the shapes {shapes}, and a batch needs one" if shapes else "there are no images")
    return torch.stack(images)


def read_image(path):
    """uint8 [3, height, width]"""
    from PIL import Image

    with Image.open(path) as image:
        return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)


def for_evaluation(entry):
    """The list of transforms that stands for one of the training."""
    kind, size = entry["type"], entry.get("size")
    if kind == "RandomResizedCrop":
        larger = [side * 256 // 224 for side in size] if isinstance(size, list) else size * 256 // 224
        method = {key: entry[key] for key in ("interpolation", "antialias") if key in entry}
        return [{"type": "Resize", "size": larger} | method, {"type": "CenterCrop", "size": size}]
    if kind == "RandomCrop":
        return [{"type": "CenterCrop", "size": size}]
    return [entry] if kind in TRANSFORMS else []


def transformed(image, transforms):
    for entry in transforms:
        if entry["type"] not in TRANSFORMS:
            raise Error(f"the transform {entry['type']} draws random numbers in validation; use ddp-exp predict")
        image = TRANSFORMS[entry["type"]](image, **{key: value for key, value in entry.items() if key != "type"})
    return as_floats(image)


def as_floats(image):
    return image.to(torch.float32).mul_(1 / 255) if image.dtype == torch.uint8 else image


def normalize(image, mean, std):
    mean, std = (torch.tensor(numbers, dtype=torch.float32).view(-1, 1, 1) for numbers in (mean, std))
    return (as_floats(image) - mean) / std


def resize(image, size=None, interpolation="bilinear", antialias=True, max_size=None):
    height, width = image.shape[1:]
    shorter, longer = sorted((height, width))
    if size is None:
        to = int(max_size * shorter / longer), max_size
    elif isinstance(size, int) or len(size) == 1:
        size = size if isinstance(size, int) else size[0]
        to = size, int(size * longer / shorter)
        if max_size is not None and to[1] > max_size:
            to = int(max_size * to[0] / to[1]), max_size
    if size is None or isinstance(size, int):
        size = to[::-1] if width <= height else to
    if tuple(size) == (height, width):
        return image
    options = {"align_corners": False, "antialias": antialias} if interpolation in ("bilinear", "bicubic") else {}
    return F.interpolate(image[None], list(size), mode=interpolation, **options)[0]


def center_crop(image, size):
    rows, columns = (size * 2)[:2] if isinstance(size, list) else (size, size)
    more_rows, more_columns = max(rows - image.shape[1], 0), max(columns - image.shape[2], 0)
    image = pad(image, [more_columns // 2, more_rows // 2, (more_columns + 1) // 2, (more_rows + 1) // 2])
    top, left = round((image.shape[1] - rows) / 2), round((image.shape[2] - columns) / 2)
    return image[:, top : top + rows, left : left + columns]


def pad(image, padding, fill=0, padding_mode="constant"):
    sides = padding if isinstance(padding, list) else [padding]
    left, top, right, bottom = (sides * 4)[:4]
    if padding_mode != "constant":
        return torch.from_numpy(np.pad(image.numpy(), ((0, 0), (top, bottom), (left, right)), mode=padding_mode))
    channels, height, width = image.shape
    color = torch.tensor(fill).to(torch.uint8).view(-1, 1, 1)
    padded = color.expand(channels, height + top + bottom, width + left + right).clone()
    padded[:, top : top + height, left : left + width] = image
    return padded


def grayscale(image, num_output_channels=1):
    if image.shape[0] == 3:
        image = image[0].mul(0.2989).add_(image[1], alpha=0.587).add_(image[2], alpha=0.114).to(torch.uint8)[None]
    return image.expand(num_output_channels, -1, -1)


TRANSFORMS = {"Resize": resize, "CenterCrop": center_crop, "Pad": pad, "Grayscale": grayscale, "Normalize": normalize}


def build_model(run):
    name, options = run.config["model"]["name"], dict(run.config["model"])
    del options["name"]
    options.pop("sync_batch_norm", None)  # of training
    averages = run.checkpoint / "ema.safetensors"
    weights = safetensors.torch.load_file(averages if averages.exists() else run.checkpoint / "model.safetensors")
    if name == "exported":
        model = load_exported(run)
        lost = [key for key in run.graph.state_dict if key not in weights]
        if lost:
            raise Error(f"{run.folder}: the checkpoint has no weight {lost[0]!r}: model.path is of another model")
        weights = {key: weights.get(key, constant) for key, constant in model.state_dict().items()}
    elif name in MODELS:
        model = MODELS[name](**options).eval()
    else:
        raise Error(f"{run.folder}: model {name!r} is none of {', '.join(MODELS)} and exported, which exist in Python")
    model.load_state_dict(weights, assign=run.graph is not None)  # a loaded graph's own weights may be read-only
    return model.to(memory_format=torch.channels_last) if run.config.get("channels_last") else model


# --- Models written in Python

def load_graph(run, section, option):
    """An exported program of the run; None if it has none."""
    named = run.config[section].get(option)
    if not named:
        return None
    origins = run.folder / "model" / "origins.json"
    origin = json.loads(origins.read_text()).get(f"{section}.{option}", {}) if origins.exists() else {}
    own = run.folder / "model" / f"{section if option == 'path' else option}.pt2"
    file = whole_archive(own) if origin.get("path") == named else named
    if file is named and not pathlib.Path(named).exists():
        raise Error(f"{named}: there is no such file, and {section}.{option} of the run names it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of tensors that are read-only
        return torch.export.load(file)


def whole_archive(file):
    """A run's copy of a graph, with zeros for the weights that only the checkpoint has."""
    whole = io.BytesIO()
    with zipfile.ZipFile(file) as copy, zipfile.ZipFile(whole, "w") as written:
        top = copy.namelist()[0].split("/")[0]
        members = {name: copy.read(name) for name in copy.namelist()}
        lacking = json.loads(members.pop(f"{top}/extra/lacking.json", "{}"))
        for name, content in (members | {f"{top}/{name}": bytes(size) for name, size in lacking.items()}).items():
            written.writestr(name, content)
    whole.seek(0)
    return whole


def load_exported(run):
    """The graph that predictions run."""
    run.graph = load_graph(run, "model", "path")
    run.graph_outputs = len(run.graph.graph_signature.user_outputs)
    own = load_graph(run, "model", "predict") or load_graph(run, "model", "eval")
    run.graph = own or run.graph
    module = run.graph.module()
    if own is None:
        switch_to_evaluation(module)
    return module


def switch_to_evaluation(module):
    lines = pathlib.Path(__file__).with_name("switches.txt").read_text().splitlines()
    switches = {name: (argument, json.loads(off), *needed) for name, argument, off, *needed in map(str.split, lines)
                if name != "#"}  # fmt: skip
    counters = {name for name, _ in module.named_buffers() if name.endswith("num_batches_tracked")}
    for part in [one for one in module.modules() if isinstance(one, torch.fx.GraphModule)]:
        for node in list(part.graph.nodes):
            if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
                continue
            name = node.target._schema.name.removeprefix("aten::").rstrip("_")
            if name == "add" and node.args[0].op == "get_attr" and node.args[0].target in counters:
                part.graph.erase_node(node)
            elif name in switches:
                switch(node, *switches[name])
        part.recompile()


def switch(node, argument, value, *needed):
    names = [one.name for one in node.target._schema.arguments]
    given = dict(zip(names, node.args)) | dict(node.kwargs)
    if argument not in given or any(given.get(one) is None for one in needed):
        return
    if names.index(argument) < len(node.args):
        node.update_arg(names.index(argument), value)
    else:
        node.update_kwarg(argument, value)


def user_inputs(program):
    """The inputs of a graph as it was exported, in their order."""
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    return [nodes[name].meta["val"] for name in program.graph_signature.user_inputs]


def missing_targets(program, inputs):
    """Zeros in the place of the targets that a graph takes after the inputs."""
    expected, sizes = user_inputs(program), {}
    for given, one in zip(inputs, expected):
        sizes |= {str(size): given.shape[place] for place, size in enumerate(one.shape)}
    zeros = []
    for one in expected[len(inputs) :]:
        shape = [sizes.get(str(size), 1) if isinstance(size, torch.SymInt) else size for size in one.shape]
        zeros.append(torch.zeros(shape, dtype=one.dtype, device=inputs[0].device))
    return zeros


# --- Models, with the names of torchvision's and nanoGPT's parameters

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "silu": nn.SiLU, "gelu": nn.GELU,
               "leaky_relu": nn.LeakyReLU}  # fmt: skip


def mlp(in_features, hidden, out_features, activation="relu", dropout=0):
    layers = []
    for width in hidden:
        layers += [nn.Linear(in_features, width), ACTIVATIONS[activation]()]
        layers += [nn.Dropout(dropout)] if dropout > 0 else []
        in_features = width
    return nn.Sequential(*layers, nn.Linear(in_features, out_features))


def sequential(layers):
    modules = []
    for layer in layers:
        options = {key: tuple(value) if isinstance(value, list) else value for key, value in layer.items()}
        modules.append(getattr(nn, options.pop("type"))(**options))
    return nn.Sequential(*modules)


def convolution(inputs, outputs, kernel, stride):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class ResNetBlock(nn.Module):
    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        small = [(inputs, width, 3, stride), (width, width, 3, 1)]
        deep = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        self.count = len(deep if bottleneck else small)
        for number, shape in enumerate(deep if bottleneck else small, start=1):
            self.add_module(f"conv{number}", convolution(*shape))
            self.add_module(f"bn{number}", nn.BatchNorm2d(shape[1]))
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for number in range(1, self.count + 1):
            y = getattr(self, f"bn{number}")(getattr(self, f"conv{number}")(y))
            y = torch.relu(y) if number < self.count else y
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, blocks, bottleneck, num_classes, small_images=False):
        super().__init__()
        self.conv1 = convolution(3, 64, 3, 1) if small_images else convolution(3, 64, 7, 2)
        self.bn1 = nn.BatchNorm2d(64)
        self.pool = nn.Identity() if small_images else nn.MaxPool2d(3, 2, 1)
        inputs, stages = 64, []
        for i, count in enumerate(blocks):
            stage = []
            for block in range(count):
                stage.append(ResNetBlock(inputs, 64 << i, 2 if i > 0 and block == 0 else 1, bottleneck))
                inputs = (64 << i) * (4 if bottleneck else 1)
            stages.append(nn.Sequential(*stage))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.fc = nn.Linear(inputs, num_classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class VitBlock(nn.Module):
    def __init__(self, heads, width, mlp_width, dropout):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.mlp = nn.Sequential(
            nn.Linear(width, mlp_width), nn.GELU(), nn.Dropout(dropout),
            nn.Linear(mlp_width, width), nn.Dropout(dropout),
        )  # fmt: skip

    def forward(self, x):
        y = self.ln_1(x)
        x = self.dropout(self.self_attention(y, y, y, need_weights=False)[0]) + x
        return x + self.mlp(self.ln_2(x))


class Vit(nn.Module):
    def __init__(self, image_size, patch_size, num_layers, num_heads, hidden_dim, mlp_dim, num_classes, dropout=0.0):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, hidden_dim, patch_size, patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        self.encoder = nn.Module()
        places = (image_size // patch_size) ** 2 + 1
        self.encoder.pos_embedding = nn.Parameter(torch.zeros(1, places, hidden_dim))
        self.encoder.dropout = nn.Dropout(dropout)
        blocks = {f"encoder_layer_{i}": VitBlock(num_heads, hidden_dim, mlp_dim, dropout) for i in range(num_layers)}
        self.encoder.layers = nn.Sequential(collections.OrderedDict(blocks))
        self.encoder.ln = nn.LayerNorm(hidden_dim, eps=1e-6)
        self.heads = nn.ModuleDict({"head": nn.Linear(hidden_dim, num_classes)})

    def forward(self, x):
        patches = self.conv_proj(x).flatten(2).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), patches], dim=1)
        x = self.encoder.dropout(x + self.encoder.pos_embedding)
        return self.heads["head"](self.encoder.ln(self.encoder.layers(x))[:, 0])


class GptBlock(nn.Module):
    def __init__(self, heads, width, dropout, bias):
        super().__init__()
        self.heads, self.p = heads, dropout
        self.ln_1, self.ln_2 = nn.LayerNorm(width, bias=bias), nn.LayerNorm(width, bias=bias)
        qkv, out = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width, bias=bias)
        wide, narrow = nn.Linear(width, 4 * width, bias=bias), nn.Linear(4 * width, width, bias=bias)
        self.attn = nn.ModuleDict({"c_attn": qkv, "c_proj": out})
        self.mlp = nn.ModuleDict({"c_fc": wide, "c_proj": narrow})

    def forward(self, x):
        n, t, width = x.shape
        parts = self.attn["c_attn"](self.ln_1(x)).split(width, dim=2)
        q, k, v = (part.view(n, t, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0, is_causal=True)
        x = x + F.dropout(self.attn["c_proj"](y.transpose(1, 2).contiguous().view(n, t, width)), self.p, self.training)
        return x + F.dropout(self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x)))), self.p, self.training)


class Gpt(nn.Module):
    def __init__(self, n_layer, n_head, n_embd, block_size, vocab_size, dropout=0.0, bias=True):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocab_size, n_embd), "wpe": nn.Embedding(block_size, n_embd),
            "drop": nn.Dropout(dropout), "ln_f": nn.LayerNorm(n_embd, bias=bias),
            "h": nn.Sequential(*(GptBlock(n_head, n_embd, dropout, bias) for _ in range(n_layer))),
        })  # fmt: skip
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, tokens):
        """The scores of the next token at each place: [n, t, vocab_size] of int64 [n, t]."""
        parts = self.transformer
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = parts["drop"](parts["wte"](tokens) + parts["wpe"](places))
        return self.lm_head(parts["ln_f"](parts["h"](x)))


def resnet(blocks, bottleneck):
    return lambda **options: ResNet(blocks, bottleneck, **options)


MODELS = {
    "linear": nn.Linear,
    "mlp": mlp,
    "sequential": sequential,
    "resnet18": resnet([2, 2, 2, 2], False),
    "resnet34": resnet([3, 4, 6, 3], False),
    "resnet50": resnet([3, 4, 6, 3], True),
    "resnet101": resnet([3, 4, 23, 3], True),
    "resnet152": resnet([3, 8, 36, 3], True),
    "vit": Vit,
    "gpt": Gpt,
}
