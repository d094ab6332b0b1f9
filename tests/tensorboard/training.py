"""The training of this folder's tests, and the required content of a run's event files: the content of its
metrics.jsonl."""

import json
import math
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import metadata as hparams

PROGRAM = os.environ["DDP_EXP"]
PATIENCE = 90  # seconds for a short operation on a busy machine

# Classes, for an accuracy; dropout and momentum, so a resumed run must carry state.
EXPERIMENT = """
dataset     = { name = "counting", size = 101, features = 6, classes = 3 }
optimizer   = { name = "sgd", lr = 0.001, momentum = 0.9 }
scheduler   = { name = "linear", warmup_steps = 3 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
{length}
threads     = 1
[model]
name = "mlp"
in_features = 6
hidden = [8]
out_features = 3
dropout = 0.25
[validation]
split = 0.2
"""

TAGS = {
    "step": {"train/loss": "loss", "train/lr": "lr", "train/samples_per_second": "samples_per_second"},
    "epoch": {"epoch": "epoch", "epoch/train_loss": "train_loss", "val/loss": "val_loss", "val/accuracy": "val_accuracy"},
}  # fmt: skip


def float32(value):
    return math.nan if value is None else struct.unpack("f", struct.pack("f", value))[0]


def expected(run):
    """The content of metrics.jsonl in TensorBoard's form: a list of (step, value) of each tag."""
    series = {tag: [] for tags in TAGS.values() for tag in tags}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        event = json.loads(line)
        for tag, key in TAGS.get(event["event"], {}).items():
            if key in event:
                series[tag].append((event["step"], float32(event[key])))
    return {tag: values for tag, values in series.items() if values}


def accumulator(run):
    """TensorBoard's reader of a run; it keeps everything."""
    return event_accumulator.EventAccumulator(str(run / "tensorboard"), size_guidance={event_accumulator.SCALARS: 0})


def shown(reader):
    reader.Reload()
    return {tag: [(e.step, e.value) for e in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


def same(series, other):
    """Compares; NaN equals itself here."""
    return repr(sorted(series.items())) == repr(sorted(other.items()))


def require_as_metrics(run, reader=None):
    """Requires that a new reader and `reader`, which has read before, show each step once with its value."""
    wanted = expected(run)
    assert len(wanted.get("train/loss", ())) > 0, wanted.keys()
    for seen in [shown(accumulator(run))] + ([shown(reader)] if reader else []):
        for tag in wanted:
            assert same({tag: seen.get(tag)}, {tag: wanted[tag]}), f"{tag}: {seen.get(tag)} is not {wanted[tag]}"
        assert seen.keys() == wanted.keys(), (seen.keys(), wanted.keys())


def hyper_parameters(run):
    data = metadata(run).get(hparams.SESSION_START_INFO_TAG)
    start = hparams.parse_session_start_info_plugin_data(data)
    return {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}


def ended(run):
    """SUCCESS or FAILURE; None if it is not recorded."""
    data = metadata(run).get(hparams.SESSION_END_INFO_TAG)
    return hparams.parse_session_end_info_plugin_data(data).status if data is not None else None


def metadata(run):
    """The contents for the plugin hparams, by their tags."""
    reader = accumulator(run)
    reader.Reload()
    return reader.PluginTagToContent(hparams.PLUGIN_NAME)


class Folder:
    """A folder in which the program runs."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="ddp-tensorboard-")
        self.path = pathlib.Path(self._folder.name)
        for name, length in {"small": "epochs = 4", "cut": "steps = 8"}.items():
            (self.path / f"{name}.toml").write_text(EXPERIMENT.replace("{length}", length))

    def start(self, *words):
        """Starts the program in its own process group, so all of it can be killed."""
        return subprocess.Popen([PROGRAM, *words], cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, start_new_session=True)  # fmt: skip

    def complete(self, *words, code=0):
        """Runs the program to its end, and returns its stderr."""
        process = self.start(*words)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, (process.returncode, out, err)
        return err

    def run(self, name="run", of="small"):
        return self.path / "results" / of / name

    def files(self, **which):
        return sorted(file.name for file in (self.run(**which) / "tensorboard").iterdir())


def sets(**settings):
    """Settings as arguments: optimizer__lr=0.1 is --set optimizer.lr=0.1. Values are TOML."""
    return [word for key, value in settings.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


def until(fact, what, process=None):
    deadline = time.monotonic() + PATIENCE
    while not (found := fact()):
        assert process is None or process.poll() is None, (what, process.communicate())
        assert time.monotonic() < deadline, f"not within {PATIENCE} s: {what}"
        time.sleep(0.002)
    return found


def kill(process):
    """Kills the program and its ranks at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def steps(run):
    """The number of steps in metrics.jsonl."""
    file = run / "metrics.jsonl"
    return file.read_text().count('"event":"step"') if file.exists() else 0
