"""Data that are read while a cheap model trains: ddp-exp's streams beside the libraries that stream for DataLoader.

Two loader workers, one rank with one thread, all rows shuffled as each side does it by default; local files in the page
cache, and the same as objects of an S3 server on loopback, with empty caches. A rate is of one epoch after its first
step. WebDataset reads archives, so only images. litdata's reader of Parquet has local files only: its client of S3
refuses a server without a certificate, and its spawned workers cannot be told otherwise.
"""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import tempfile
import time

from data_sets import folder
from images import PHOTOS
from sides import HERE, ROOT, output_of
from table import Table

COUNTS = {"table": 1_250_000, "lines": 200_000, "images": 2000, "tokens": 64_000}
SMALL = {"table": 16_000, "lines": 4000, "images": 160, "tokens": 800}
BATCHES = {"table": 256, "lines": 256, "images": 64, "tokens": 16}
# The peers that read the files as they are, and those that take their own format.
DIRECT = {"table": ["datasets", "datasets-files", "litdata-parquet"], "lines": ["datasets"],
          "images": ["webdataset", "datasets"], "tokens": []}  # fmt: skip
CONVERTED = {"table": ["litdata", "streaming"], "lines": [], "images": ["litdata", "streaming"],
             "tokens": ["litdata", "streaming", "datasets"]}  # fmt: skip
TITLES = {"datasets-files": "datasets, only the order of files shuffled", "litdata-parquet": "litdata, Parquet"}

WORDS = {"table": "rows of 20 columns of Parquet", "lines": "rows of 20 columns of JSON lines",
         "images": "JPEG files 500x400 in tar to 224x224", "tokens": "blocks of 1024 tokens"}  # fmt: skip

EXPERIMENTS = {
    "table": """
dataset = {{ name = "parquet", path = "{place}/*.parquet", target = "y" }}
model = {{ name = "sequential", layers = [{{ type = "Linear", in_features = 19, out_features = 1 }}] }}
loss = "mse"
""",
    "images": """
dataset = {{ name = "tar", path = "{place}/*.tar", transforms = {photos} }}
model = {{ name = "sequential", layers = [
  {{ type = "AvgPool2d", kernel_size = 32 }},
  {{ type = "Flatten" }},
  {{ type = "Linear", in_features = 147, out_features = 16 }},
] }}
""",
    "tokens": """
dataset = {{ name = "tokens", path = "{place}/*.bin", dtype = "uint16", block_size = 1024 }}
model = {{ name = "sequential", layers = [{{ type = "Embedding", num_embeddings = 2, embedding_dim = 2 }}] }}
loss = "cross_entropy"
""",
}
EXPERIMENTS["lines"] = EXPERIMENTS["table"].replace("parquet", "jsonl")
COMMON = """
epochs = 1
batch_size = {batch}
device_pool = ["cpu"]
threads = 1
optimizer = {{ name = "sgd", lr = 1e-3 }}
loader = {{ stream = true, workers = 2 }}
"""


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    return "[" + ", ".join(map(toml, value)) + "]" if isinstance(value, list) else json.dumps(value)


def run_peer(*words, environment=None):
    """Runs streams_peer.py. Streaming needs the transformers of the layer `data`, datasets a newer huggingface-hub."""
    paths = [os.environ["DDP_STREAMS"], os.environ["DDP_PYTHONPATH"]]
    if not any(str(word).startswith("datasets") for word in words):
        paths.reverse()
    # Compiled modules are kept between runs, as installed packages have them. Nobody is asked for newer versions.
    alone = {"PYTHONPATH": ":".join(paths), "PYTHONPYCACHEPREFIX": os.path.join(ROOT, "build", "bench", "pycache"),
             "HF_HOME": os.path.join(folder().name, "hub"), "HF_UPDATE_DOWNLOAD_COUNTS": "0", "HF_HUB_DISABLE_TELEMETRY": "1",
             "LITDATA_DISABLE_VERSION_CHECK": "1"}  # fmt: skip
    command = [os.environ["DDP_PYTHON"], os.path.join(HERE, "streams_peer.py"), *map(str, words)]
    everything = os.environ | alone | (environment or {})
    everything.pop("PYTHONDONTWRITEBYTECODE", None)
    return command, everything


def reply_of(*words, environment=None):
    return json.loads(output_of(*run_peer(*words, environment=environment)).splitlines()[-1])


class Side:
    """One run provides two figures: samples a second, and the seconds of a first epoch with all that comes before it. The
    table of the seconds, which comes second, takes those of the runs for the first table."""

    def __init__(self, count, run, converted=0.0):
        self.count, self.run, self.converted, self.seconds = count, run, converted, []

    def rate(self):
        start = time.time()
        began, rate = self.run()
        self.seconds.append(self.converted + began - start + self.count / rate)
        return rate

    def whole(self):
        return self.seconds.pop(0)


def ddp_exp(kind, place, environment):
    shutil.rmtree(os.path.join(environment.get("XDG_CACHE_HOME", folder().name), "ddp-exp", "objects"), ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as results:
        file = os.path.join(results, "stream.toml")
        with open(file, "w") as out:
            out.write((EXPERIMENTS[kind] + COMMON).format(place=place, photos=toml(PHOTOS), batch=BATCHES[kind]))
        output_of([os.environ["DDP_EXP"], "run", file, "--results", results, "--run-id", "r"], os.environ | environment)
        end = time.time()
        with open(os.path.join(results, "stream", "r", "metrics.jsonl")) as metrics:
            lines = [json.loads(line) for line in metrics]
    steps = [line for line in lines if line["event"] == "step"]
    took = steps[-1]["seconds"] - steps[0]["seconds"]
    return end - took, sum(step["samples"] for step in steps[1:]) / took


def peer(name, kind, place, environment):
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as scratch:
        reply = reply_of("read", name, kind, place, os.path.join(scratch, "cache"), BATCHES[kind], environment=environment)
    return reply["began"], reply["rate"]


@contextlib.contextmanager
def served(files):
    """The environment of clients of an S3 server that has these files."""
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as cache:
        command, environment = run_peer("serve", files, cache)
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait()


def tables_at(kind, count, where, place_of, seconds, environment):
    """The tables of one kind of data. `place_of`: gives the place of the peer's files; `seconds`: of its conversion."""
    sides = {"ddp-exp": Side(count, functools.partial(ddp_exp, kind, place_of("ddp-exp"), environment))}
    for name in [name for name in DIRECT[kind] + CONVERTED[kind] if (name, where) != ("litdata-parquet", "S3")]:
        title = TITLES.get(name, name)
        if name in seconds:
            title += f", {'converted' if name in CONVERTED[kind] else 'indexed'} in {seconds[name]:.3g} s"
        sides[title] = Side(count, functools.partial(peer, name, kind, place_of(name), environment), seconds.get(name, 0.0))
    words = f"{count:,} {WORDS[kind]}, {where}"
    table = f"streams-{kind}-{where.lower()}"
    yield Table(table, f"samples a second, {words}", "more", {title: side.rate for title, side in sides.items()})
    yield Table(f"{table}-whole", f"seconds of a first epoch with start and conversion, {words}", "less",
                {title: side.whole for title, side in sides.items()})  # fmt: skip


def tables(kind, small=False):
    count = (SMALL if small else COUNTS)[kind]
    with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-") as files:
        plain = os.path.join(files, "plain")
        output_of(*run_peer("make", kind, plain, count))
        converted = [*CONVERTED[kind], *(name for name in DIRECT[kind] if name == "litdata-parquet")]
        seconds = {name: reply_of("convert", name, kind, plain, os.path.join(files, name))["seconds"] for name in converted}
        own = {name: name if name in seconds else "plain" for name in ["ddp-exp", *DIRECT[kind], *CONVERTED[kind]]}
        yield from tables_at(kind, count, "local", lambda name: f"{files}/{own[name]}", seconds, {})
        with served(files) as environment:
            http = environment["AWS_ENDPOINT_URL"]  # those that have no client of S3 read by HTTP
            places = {name: f"{'s3:/' if name.startswith(('ddp', 'lit', 'str')) else http}/data/{own[name]}" for name in own}
            yield from tables_at(kind, count, "S3", places.get, seconds, environment)
