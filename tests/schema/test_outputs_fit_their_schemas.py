"""The files that commands write and the JSON that they print fit the schemas that `ddp-exp schema` prints. One list of
members makes both (config/option/fields.h): this test finds a value whose type is not the listed one."""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from programs import SWEPT, TRAINED  # noqa: E402

PROGRAM = os.environ["DDP_EXP"]

TEXT = """
dataset = { name = "text", path = "a.txt", block_size = 8 }
model = { name = "gpt", n_layer = 1, n_head = 1, n_embd = 4 }
device_pool = ["cpu"]
batch_size = 4
validation = { split = 0.2 }
"""
TABLE = """
dataset = { name = "csv", path = "a.csv", target = "kind", categories = ["colour"] }
model = { name = "mlp", hidden = [4] }
loss = "cross_entropy"
device_pool = ["cpu"]
batch_size = 4
"""
IMAGES = """
dataset = { name = "idx", images = "images", labels = "labels", transforms = [
  { type = "RandomCrop", size = 4, padding = 1 }, { type = "RandomHorizontalFlip" }, { type = "RandomErasing", p = 1 }] }
model = { name = "sequential", layers = [{ type = "Flatten" }, { type = "Linear", in_features = 16, out_features = 2 }] }
device_pool = ["cpu"]
batch_size = 4
"""


def program(*words, code=0):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=90)
    assert done.returncode == code, (words, done)
    return done.stdout


def finite(text):
    raise AssertionError(f"{text} is no JSON")


VALIDATORS = {}


def require(what, text):
    """Requires that a JSON text fits its schema."""
    if what not in VALIDATORS:
        schema = json.loads(program("schema", what))
        jsonschema.Draft202012Validator.check_schema(schema)
        VALIDATORS[what] = jsonschema.Draft202012Validator(schema)
    error = jsonschema.exceptions.best_match(VALIDATORS[what].iter_errors(json.loads(text, parse_constant=finite)))
    assert error is None, f"{what}: {'/'.join(map(str, error.absolute_path))}: {error.message[:400]}"


def require_lines(what, file):
    kinds = {}
    for line in file.read_text().splitlines():
        kinds.setdefault(json.loads(line)["event"], []).append(line)
    for alike in kinds.values():
        for line in alike[:2] + alike[-2:]:
            require(what, line)
    return set(kinds)


with tempfile.TemporaryDirectory(prefix="ddp-outputs-") as name:
    os.chdir(name)
    folder = pathlib.Path(name)
    for file, text in {"small": TRAINED, "swept": SWEPT, "text": TEXT, "table": TABLE, "images": IMAGES, "bad": "modle = 1"}.items():
        (folder / f"{file}.toml").write_text(text)
    (folder / "a.txt").write_text("some text\n" * 50)
    (folder / "a.csv").write_text("size,colour,kind\n" + "1,red,a\n2,blue,b\n" * 10)
    (folder / "images").write_bytes(struct.pack(">4I", 0x803, 8, 5, 4) + bytes(range(160)))
    (folder / "labels").write_bytes(struct.pack(">2I", 0x801, 8) + bytes([0, 1] * 4))
    tables = [["table.toml"]] if pathlib.Path(PROGRAM).with_name("libddp_tables.so").exists() else []

    program("run", "small.toml", "--run-id", "done", "--tag", "b", "--tag", "a", "--note", "first", "--set", "test.split=0.1", "--set", 'validation.every="3 steps"')
    program("resume", "small/done", "--set", "epochs=6", "--set", "optimizer.lr=0.002")
    program("fork", "small/done", "--from", "best", "--run-id", "forked", "--set", "epochs=8")
    program("run", "small.toml", "--run-id", "failed", "--set", "optimizer.lr=1e30", code=1)
    program("run", "small.toml", "--run-id", "skipped", "--set", "optimizer.lr=1e30", "--set", 'on_nan="skip"')
    program("run", "text.toml", "--run-id", "run")
    program("cv", "small.toml", "--name", "seeds", "--run-id", "run", "--set", "repeat.seeds=2", "--set", "epochs=1")
    require("cv", (folder / "results/seeds/run/cv.json").read_text())
    require("cv", program("eval", "seeds/run", "--json"))
    if tables:
        program("run", "table.toml", "--set", "validation.split=0.3")
    program("sweep", "swept.toml", "--run-id", "run", "--set", "epochs=2")

    events = set()
    for run in ("done", "forked", "failed", "skipped"):
        require("summary", (folder / "results/small" / run / "summary.json").read_text())
        events |= require_lines("metrics", folder / "results/small" / run / "metrics.jsonl")
    assert events >= {"step", "epoch", "checkpoint", "resume", "validation", "test"}, events
    require("sweep", (folder / "results/swept/run/summary.json").read_text())
    assert require_lines("journal", folder / "results/swept/run/journal.jsonl") >= {"sweep", "started", "finished"}
    require("draws", program("plan", "images.toml", "--draws", "3"))

    commands = {
        "plan": [["small.toml"], ["swept.toml"], ["text.toml"], *tables],
        "models": [[]],
        "datasets": [[]],
        "validate": [["small.toml"], ["bad.toml", "small.toml"]],
        "comm": [["--sizes", "1KiB", "--iterations", "2", "--devices", "2"],
                 ["--sizes", "8", "--op", "reduce", "--iterations", "2", "--devices", "2", "--no-check"]],
        "doctor": [[]],
        "list": [[], ["--status", "failed"], ["swept/run"]],
        "show": [["small/done"], ["small/forked"], ["small/failed"], ["swept/run"], ["swept/run/trials/001"], ["seeds/run"]],
        "compare": [["small/done", "small/failed"], ["swept/run/trials/000", "swept/run"]],
        "diff": [["small/done", "small/forked"]],
        "eval": [["small/done"], ["small/done", "--from", "latest", "--set", "dataset.size=50"]],
        "generate": [["text/run", "--prompt", "e", "--tokens", "3"]],
        "race": [["small.toml", "small.toml", "--set", "epochs=1", "--max-seeds", "3"]],
        "importance": [["table", "--repeats", "2"]] if tables else [],
        "audit": [["small/done", "--stretches", "1"]],
        "reproduce": [["small/done"]],
        "report": [["small/done"], ["small/done", "small/failed", "small/forked"], ["swept/run"], ["seeds/run"]],
    }  # fmt: skip
    verbs = re.findall(r"^  ([a-z]+) ", program("--help").split("Commands:")[1], re.M)
    with_json = {verb for verb in verbs if "--json" in program(verb, "--help")}
    assert with_json == commands.keys(), f"not tried: {with_json ^ commands.keys()}"
    for verb, lines in commands.items():
        for words in lines:
            require(verb, program(verb, *words, "--json", code=2 if "bad.toml" in words else 0))
    what = re.search(r"WHAT (.*?) \(default: experiment\)", " ".join(program("schema", "--help").split()))[1]
    assert set(re.findall(r"[a-z]+", what)) == VALIDATORS.keys() | {"experiment"}, what  # it has its own test
    print(f"outputs of {len(VALIDATORS)} kinds fit")
