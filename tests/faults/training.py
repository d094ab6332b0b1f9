"""The training of this folder's tests, and the files that a run must have left after a fault and a resume."""

import json
import random
import struct

from processes import Command, others
from programs import PROGRAM, events_in, sets

# Small and quick, but with all state that a resume must carry: dropout draws from each rank's generator, momentum is
# optimizer state, an epoch ends with a short batch and between two checkpoints.
EXPERIMENT = """
dataset     = { name = "random_pairs", size = 101, features = 6, targets = 2 }
optimizer   = { name = "sgd", lr = 0.01, momentum = 0.9 }
batch_size  = 8
threads     = 1
[model]
name = "mlp"
in_features = 6
hidden = [40]
out_features = 2
dropout = 0.25
"""

# Small images, the same with augmentation and mixing, and a net for them.
IMAGES = """
[dataset]
name = "idx"
images = "images.idx3"
labels = "labels.idx1"
"""
AUGMENTED_IMAGES = IMAGES + """\
transforms = [
  { type = "RandomCrop", size = 8, padding = 1 },
  { type = "RandomHorizontalFlip" },
]
mix = [{ type = "MixUp", alpha = 0.2 }, { type = "CutMix", alpha = 1 }]
"""
NET = """
[model]
name = "sequential"
layers = [
  { type = "Conv2d", in_channels = 1, out_channels = 4, kernel_size = 3, padding = 1 },
  { type = "BatchNorm2d", num_features = 4 },
  { type = "ReLU" },
  { type = "Flatten" },
  { type = "Dropout", p = 0.25 },
  { type = "Linear", in_features = 256, out_features = 3 },
]
"""

# A recipe as in published papers, on small images: augmentation and MixUp, label smoothing, groups of parameters,
# clipping, fp16 with its loss scale, averaged weights, a plateau schedule with warm-up, patience.
RECIPE = """
batch_size  = 8
threads     = 1
loss        = { name = "cross_entropy", label_smoothing = 0.1 }
optimizer   = { name = "adamw", lr = 0.01, weight_decay = 0.1 }
scheduler   = { name = "plateau", factor = 0.5, patience = 1, warmup = 10 }
precision   = "fp16"
clip        = { norm = 0.5 }
ema         = { decay = 0.9 }
metrics     = ["accuracy", "f1_macro", "auroc"]
stop        = { patience = 8 }
validation  = { split = 0.2, every = "10 steps" }
[[groups]]
match = "ndim<2"
weight_decay = 0
lr_scale = 2
""" + AUGMENTED_IMAGES + NET


def write_npy(path, kind, shape, values):
    """NumPy's .npy, version 1: float32 ("f4") or int64 ("i8")."""
    header = repr({"descr": f"<{kind}", "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    packed = struct.pack(f"<{len(values)}{'f' if kind == 'f4' else 'q'}", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + packed)


def write_images(folder):
    """The images of IMAGES as MNIST's files: 130 of 8x8 pixels in three classes, each darker than the next."""
    draw = random.Random(1)
    labels = [draw.randrange(3) for _ in range(130)]
    pixels = bytes(draw.randrange(40 * label, 40 * label + 120) for label in labels for _ in range(64))
    (folder / "images.idx3").write_bytes(struct.pack(">4i", 2051, len(labels), 8, 8) + pixels)
    (folder / "labels.idx1").write_bytes(struct.pack(">2i", 2049, len(labels)) + bytes(labels))


class Training:
    """A run results/NAME/run of an experiment in a folder."""

    begins_after = 0  # the step

    def __init__(self, folder, name, results=None, experiment=EXPERIMENT, **settings):
        """`settings`: as in sets()."""
        self.folder, self.name = folder, name
        self.results = results or folder / "results"
        self.path = self.results / name / "run"
        self._settings = sets(**settings)
        self._every = settings.get("log__every", 1)
        (folder / f"{name}.toml").write_text(experiment)

    def begun(self):
        return (self.path / "config.toml").exists()

    def start(self, *words, environment=(), under=(), preexec=None, anew=False, **settings):
        """Starts the run, or resumes it if it has begun; `anew`: starts a new run that chooses its own id. `under`: the
        command that starts the program."""
        where = ["--results", self.results]
        if anew:
            words = ["run", f"{self.name}.toml", *where, *self._settings, *sets(**settings), *words]
        elif self.begun():
            words = ["resume", f"{self.name}/run", *where, *sets(**settings), *words]
        else:
            words = [*self.beginning(), "--run-id", "run", *where, *self._settings, *sets(**settings), *words]
        return Command([*under, PROGRAM, *words], self.folder, environment, preexec)

    def beginning(self):
        """The command that begins the run, and its argument."""
        return ["run", f"{self.name}.toml"]

    def complete(self, **settings):
        """Runs the training to its end, which it must reach; returns its stderr."""
        command = self.start(**settings)
        assert command.finish() == 0, command
        assert not others(), f"left: {others()}\n{command}"
        said = command.said()
        command.close()
        return said

    def events(self, kind):
        return events_in(self.path / "metrics.jsonl", kind)

    def log(self, rank):
        file = self.path / f"logs/rank-{rank}.log"
        return file.read_text() if file.exists() else ""

    def summary(self):
        return json.loads((self.path / "summary.json").read_text())

    def last_step(self):
        steps = self.events("step")
        return steps[-1]["step"] if steps else 0

    def saved_steps(self):
        """The steps of the complete checkpoints."""
        return sorted(int(file.parent.name[5:]) for file in self.path.glob("checkpoints/step-*/COMPLETE"))

    def left(self):
        """All results that must be the same after any number of faults: the saved bits, the trained steps, and the
        names of all files, without checkpoints that were saved because of the time."""
        latest = self.path / "checkpoints/latest"
        steps = [event["step"] for event in self.events("step")]
        first, every = self.begins_after + self._every, self._every
        assert steps == list(range(first, first + every * len(steps), every)), f"not each step once: {steps}"
        return {
            "steps": [without_times(event) for event in self.events("step")],
            "epochs": [without_times(event) for event in self.events("epoch")],
            "validations": [without_times(event) for event in self.events("validation")],
            "rules": json.loads((latest / "state.json").read_text()).get("rules"),
            "stopped by": self.summary().get("stopped_by"),
            "averages": (latest / "ema.safetensors").read_bytes() if (latest / "ema.safetensors").exists() else b"",
            "model": (latest / "model.safetensors").read_bytes(),
            "optimizer": (latest / "optimizer.safetensors").read_bytes(),
            "files": sorted({unnumbered(path.relative_to(self.path.parent)) for path in self.path.parent.rglob("*")
                             if not is_timed(path)}),
        }  # fmt: skip


def without_times(event):
    """An event without the members that differ from run to run."""
    return {k: v for k, v in event.items() if not k.startswith("seconds") and k not in ("time", "samples_per_second")}


def is_timed(path):
    """Returns true for a checkpoint that was saved because of the time, or a file in one."""
    inside = (p for p in (path, *path.parents) if p.name.startswith("step-") and p.parent.name == "checkpoints")
    folder = next(inside, None)
    return folder is not None and json.loads((folder / "state.json").read_text()).get("reason") == "time"


def unnumbered(path):
    """The name without time and process: each process that started or resumed the run has its own event file."""
    return str(path.with_name("events") if path.parent.name == "tensorboard" else path)


class Fork(Training):
    """A run that begins as a fork of another one after that step."""

    def __init__(self, origin, step, name, **settings):
        super().__init__(origin.folder, name, **settings)
        self.begins_after = step
        self._origin = origin

    def beginning(self):
        return ["fork", f"{self._origin.name}/run", "--from", self.begins_after, "--name", self.name]


def pool(ranks):
    return json.dumps(["cpu"] * ranks)


def same(run, reference, but=()):
    """Requires that the run has left the same results as a run without faults. `but`: results that may differ."""
    left = run.left()
    for what, expected in reference.items():
        if what in but or left[what] == expected:
            continue
        if isinstance(expected, bytes):
            raise AssertionError(f"{run.path}: {what}: other bits")
        first = next((pair for pair in zip(left[what], expected) if pair[0] != pair[1]), "one is longer")
        raise AssertionError(f"{run.path}: {what}: {left[what][-4:]} is not {expected[-4:]}: {first}")
