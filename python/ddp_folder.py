"""The folder of a run or a sweep: its settings, metrics, checkpoints and summary. It needs nothing but Python.

ddp_run.py, to_mlflow.py and to_wandb.py read runs through this file.
"""

import datetime
import difflib
import hashlib
import json
import math
import pathlib
import warnings

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib


class Error(Exception):
    """Something that the user can correct."""


class Folder:
    """What a run or a sweep has written so far."""

    def __init__(self, path):
        self.path = path
        self.is_sweep = (path / "sweep.toml").exists()
        self.config_file = path / ("sweep.toml" if self.is_sweep else "config.toml")
        self.summary_file = path / "summary.json"
        self.settings = parsed(self.config_file, tomllib.loads)
        self.settings.pop("notify", None)  # it sets nothing of the training, and may hold an address
        self.summary = parsed(self.summary_file, json.loads)
        try:
            name, run_id, started = (self.summary[key] for key in ("name", "run_id", "started"))
            self.status, self.started = self.summary["status"], unix_time(started)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise Error(f"{self.summary_file}: has not the name, id, status and start of a run") from None
        self.sweep = f"{name}/{path.parts[-3]}" if path.parts[-2] in ("trials", "runs") else ""  # the name of a trial's sweep
        self.name = f"{self.sweep or name}/{run_id}"  # for commands
        # Another results folder may have a run of the same name and id.
        self.id = hashlib.sha256(f"{self.name} {started}".encode()).hexdigest()[:12]

    def tags(self):
        """What a list of runs is searched for; only what is known."""
        facts = {
            "name": self.summary["name"], "run_id": self.summary["run_id"], "status": self.status,
            "git_commit": (self.summary.get("git") or {}).get("commit"),
            "devices": ", ".join(self.summary.get("devices", [])),
        }  # fmt: skip
        return {name: value for name, value in facts.items() if value}

    def ended(self):
        """When it ended, as Unix time; None while it runs."""
        return unix_time(self.summary["ended"]) if self.summary.get("ended") else None

    def best(self):
        """(step, {metric: value}) of the best validation; of a sweep, of its best trial."""
        if self.is_sweep:
            values = {self.summary["metric"]: one["metric"] for one in self.summary["ranking"] if one["place"] == 1}
            return 0, {name: value for name, value in values.items() if value is not None}
        best = self.summary.get("best") or {"step": 0, "values": {}}
        return best["step"], {name: value for name, value in best["values"].items() if isinstance(value, (int, float))}

    def events(self):
        """[(text, event)] of the lines of metrics.jsonl; a sweep has none."""
        return [] if self.is_sweep else events(self.path)

    def checkpoints(self):
        return [] if self.is_sweep else checkpoints(self.path)

    def trials(self):
        """The trials of a sweep, or the runs of a cross-validation or race, that have begun."""
        begun = sorted(one.parent for kind in ("trials", "runs") for one in self.path.glob(f"{kind}/*/config.toml"))
        return [Folder(path) for path in begun]


def measured(event):
    """{metric: number} of a line of metrics.jsonl, NaN for null; empty if the line is not of a measurement."""
    if event["event"] not in ("step", "epoch", "validation", "test"):
        return {}
    other = ("event", "step", "seconds", "samples", "skipped", "finite", *(["epoch"] * (event["event"] != "epoch")))
    # A step has samples_per_second too.
    renamed = {"samples_per_second": "epoch_samples_per_second"} if event["event"] == "epoch" else {}
    values = {renamed.get(name, name): value for name, value in event.items() if name not in other}
    return {name: math.nan if value is None else float(value) for name, value in values.items()}


def parsed(file, parse):
    """What `parse` makes of the text of a file."""
    try:
        return parse(file.read_text())
    except (OSError, ValueError) as error:
        raise Error(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def unix_time(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def nearest(name, known):
    close = difflib.get_close_matches(name, [str(one) for one in known], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def find(path):
    """The folder of a run or a sweep. A name's folder stands for its newest run."""
    for folder in (path, path / "latest"):
        if (folder / "config.toml").exists() or (folder / "sweep.toml").exists():
            return folder.resolve()
    if path.exists():
        raise Error(f"{path}: is not the folder of a run: it has no config.toml")
    known = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    raise Error(f"{path}: there is no such folder{nearest(path.name, known)}")


def run_folder(path):
    """The folder of a run; of a sweep, of its best trial."""
    folder = find(path)
    if (folder / "config.toml").exists():
        return folder
    summary = folder / "summary.json"
    ranking = parsed(summary, json.loads)["ranking"] if summary.exists() else []
    if (folder / "runs").exists():
        raise Error(f"{path}: has several models: load one of its runs, which are in {folder / 'runs'}")
    if ranking and ranking[0]["place"]:
        return folder / "trials" / f"{ranking[0]['trial']:03}"
    raise Error(f"{path}: no trial of this sweep has a result")


def events(folder):
    """[(text, event)] of the lines of metrics.jsonl: one for each step, epoch, save and so on."""
    file, found = folder / "metrics.jsonl", []
    lines = parsed(file, lambda text: text.split("\n")[:-1]) if file.exists() else []  # the last may be half written
    for number, line in enumerate(lines, start=1):
        try:
            found.append((line, json.loads(line)))
        except ValueError as error:
            raise Error(f"{file}, line {number}: is damaged: {error}") from None
    return found


def checkpoints(folder):
    """The complete checkpoints, the newest last."""
    return [
        {"step": state["step"], "epoch": state["epoch"], "metric": state["metric"]["name"],
         "value": state["metric"]["value"], "reason": state.get("reason", "regular"), "path": path}
        for path, state in reversed(complete_checkpoints(folder))
    ]  # fmt: skip


def complete_checkpoints(folder):
    """[(folder, its state.json)] of the checkpoints up to `latest`, the newest first."""
    latest = folder / "checkpoints" / "latest"
    last = int(latest.readlink().name[len("step-") :]) if latest.is_symlink() else math.inf
    found = []
    for one in (folder / "checkpoints").glob("step-*"):
        step = one.name[len("step-") :]
        if not step.isdecimal() or int(step) > last or not (one / "COMPLETE").exists():
            continue
        state = json.loads((one / "state.json").read_text())
        sizes = {name: (one / name).stat().st_size for name in state["files"] if (one / name).exists()}
        damaged = [name for name, of in state["files"].items() if sizes.get(name) != of["bytes"]]
        if damaged:
            warnings.warn(f"{one} is skipped: {damaged[0]} is missing or damaged", stacklevel=5)
        else:
            found.append((one, state))
    return sorted(found, key=lambda one: one[1]["step"], reverse=True)


def choose_checkpoint(folder, wanted):
    newest_first = complete_checkpoints(folder)
    if not newest_first:
        raise Error(f"{folder}: has no complete checkpoint")
    newest, state = newest_first[0]
    if wanted is None:
        validation = settings_of(folder, newest).get("validation", {})
        wanted = "best" if validation.get("split") or validation.get("dataset") else "latest"
    if wanted == "latest":
        return newest
    if wanted == "best":
        sign = -1 if state["metric"].get("direction") == "greater" else 1
        ranked = []
        for path, one in newest_first:
            metric, value = one["metric"]["name"], one["metric"]["value"]
            if metric == state["metric"]["name"] and value is not None and one.get("reason") != "time":
                ranked.append((sign * value, one["step"], path))
        return min(ranked)[2] if ranked else newest
    for path, one in newest_first:
        if one["step"] == wanted:
            return path
    steps = ", ".join(str(one["step"]) for _, one in reversed(newest_first))
    raise Error(f'{folder}: has no checkpoint {wanted!r}: give "best", "latest" or one of the steps {steps}')


def settings_of(folder, checkpoint):
    """The settings that trained a checkpoint, with a table for each component: {"name": "mse"} for "mse"."""
    files = (checkpoint / "settings.toml", checkpoint / "config.toml", folder / "config.toml")
    config = tomllib.loads(next(file for file in files if file.exists()).read_text())
    for section in (config, config.get("validation", {}), config.get("test", {})):
        for key in ("model", "dataset", "loss", "optimizer", "scheduler"):
            if isinstance(section.get(key), str):
                section[key] = {"name": section[key]}
    return config
