"""Every file and every --json output has a version and a schema that describes all its members: the output of real
commands fits, and an undocumented key would not."""

import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import tempfile
import time

import jsonschema

PROGRAM = os.environ["DDP_EXP"]
PATIENCE = 90  # seconds for a short operation on a busy machine

EXPERIMENT = """
dataset     = { name = "counting", size = 101, features = 6, classes = 3 }
optimizer   = { name = "sgd", lr = 0.001, momentum = 0.9 }
device_pool = ["cpu", "cpu"]
batch_size  = 8
epochs      = 4
threads     = 1
validation  = { split = 0.2 }
model       = { name = "mlp", in_features = 6, hidden = [8], out_features = 3 }
"""
SWEEP = """
extends = "small.toml"
[sweep]
method = "grid"
metric = "val_loss"
[sweep.parameters]
"optimizer.lr" = [0.01, 0.001, 1e30]
"""
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


def program(*words, code=0, **more):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE, **more)
    assert done.returncode == code, (words, done)
    return done.stdout


def finite(text):
    raise AssertionError(f"{text} is no JSON")


def read(text):
    return json.loads(text, parse_constant=finite)


class Schemas:
    def __init__(self):
        self._validators = {}
        self.used = {}

    def of(self, what):
        if what not in self._validators:
            schema = read(program("schema", what))
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["$schema"].endswith("2020-12/schema") and schema["title"], schema
            self._validators[what] = jsonschema.Draft202012Validator(schema)
        return self._validators[what]

    def require(self, what, value):
        """Requires that the value fits, and that it does not fit with an extra key in any table except tables with the
        user's own keys."""
        validator = self.of(what)
        if error := jsonschema.exceptions.best_match(validator.iter_errors(value)):
            raise AssertionError(f"{what}: {'/'.join(map(str, error.absolute_path))}: {error.message[:400]}")
        assert what in ("metrics", "journal") or value["version"] == 1, (what, value)
        for table in tables(value):
            table["undocumented"] = "x"
            assert not validator.is_valid(value), f"{what}: not closed: {table}"
            del table["undocumented"]
        self.used[what] = self.used.get(what, 0) + 1


FREE = {"config", "environment", "metrics", "parameters", "changes", "columns", "versions", "traits", "default", "draws"}


def tables(value, key=None):
    if isinstance(value, dict):
        if key not in FREE:
            yield value
            for name, inner in value.items():
                yield from tables(inner, name)
    elif isinstance(value, list):
        for inner in value[:3] + value[-1:]:  # the others are like these
            yield from tables(inner, key)


def until(fact, what):
    deadline = time.monotonic() + PATIENCE
    while not (found := fact()):
        assert time.monotonic() < deadline, f"not within {PATIENCE} s: {what}"
        time.sleep(0.002)
    return found


def lines(file):
    return [read(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []


def begin(*words):
    """Starts the program in the background."""
    return subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def make_text_run():
    program("run", "text.toml", "--run-id", "run")


def make_runs():
    """Runs that are completed, resumed with changes, saved because of the time, forked, restarted, failed,
    interrupted."""
    program("run", "small.toml", "--run-id", "done", "--set", "test.split=0.1", "--set", 'validation.every="3 steps"')
    program("resume", "small/done", "--set", "epochs=6", "--set", "optimizer.lr=0.002")
    program("run", "small.toml", "--run-id", "timed", "--set", "epochs=40", "--set", "checkpoint.save_every_minutes=1e-6")
    program("fork", "small/done", "--from", "best", "--run-id", "forked", "--set", "epochs=8")
    program("run", "small.toml", "--run-id", "failed", "--set", "optimizer.lr=1e30", code=1)
    program("run", "small.toml", "--run-id", "skipped", "--set", "optimizer.lr=1e30", "--set", 'on_nan="skip"')
    run = begin("run", "small.toml", "--run-id", "restarted", "--set", "epochs=100000", "--max-restarts", "1",
                "--set", "checkpoint.save_every_steps=5")  # fmt: skip
    metrics = RESULTS / "restarted/metrics.jsonl"
    until(lambda: len(lines(metrics)) > 20, "it trains")
    SCHEMAS.require("summary", read((RESULTS / "restarted/summary.json").read_text()))  # running
    children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    os.kill(int(children[-1]), signal.SIGKILL)
    until(lambda: any(line["event"] == "restart" for line in lines(metrics)), "its ranks start again")
    before = len(lines(metrics))
    until(lambda: len(lines(metrics)) > before + 20, "it trains again")
    run.send_signal(signal.SIGTERM)
    assert run.wait(PATIENCE) == 143


def check_files():
    events, statuses = set(), set()
    for run in sorted(RESULTS.iterdir()):
        if run.is_symlink():
            continue
        summary = read((run / "summary.json").read_text())
        SCHEMAS.require("summary", summary)
        statuses.add(summary["status"])
        seen = {}
        for line in lines(run / "metrics.jsonl"):
            seen.setdefault((line["event"], "finite" in line, line.get("reason"), "origin" in line), []).append(line)
        for (event, not_finite, reason, origin), alike in seen.items():
            events.add(event + ", not finite" * not_finite + (f", {reason}" if reason else "") + ", of a fork" * origin)
            for line in alike[:2] + alike[-2:]:
                SCHEMAS.require("metrics", line)
    assert statuses == {"completed", "failed", "interrupted"}, statuses
    assert events >= {"step", "step, not finite", "epoch", "checkpoint", "restart", "resume", "checkpoint, best", "validation", "test",
                      "checkpoint, time", "resume, of a fork"}, events  # fmt: skip


def check_outputs():
    """The --json output of each command that has this option."""
    (FOLDER / "bad.toml").write_text("modle = 1")
    commands = {
        "plan": [["small.toml"], ["swept.toml"], ["text.toml"], *TABLES],
        "models": [[]],
        "datasets": [[]],
        "validate": [["small.toml"], ["bad.toml", "small.toml"]],
        "comm": [["--sizes", "1KiB", "--iterations", "2", "--devices", "2"],
                 ["--sizes", "8", "--op", "reduce", "--iterations", "2", "--devices", "2", "--no-check"]],
        "list": [[], ["--status", "failed"], ["swept/run"]],
        "show": [["small/done"], ["small/timed"], ["small/forked"], ["small/failed"], ["small/restarted"], ["swept/run"], ["swept/run/trials/002"]],
        "compare": [["small/done", "small/failed", "small/restarted"], ["swept/run/trials/000", "swept/run"]],
        "diff": [["small/done", "small/restarted"]],
        "eval": [["small/done"], ["small/done", "--from", "latest", "--set", "dataset.size=50"]],
        "generate": [["text/run", "--prompt", "e", "--tokens", "3"]],
        "report": [["small/done"], ["small/done", "small/failed", "small/restarted"], ["small/timed", "small/forked"],
                   ["swept/run"]],
    }  # fmt: skip
    SCHEMAS.require("draws", read(program("plan", "images.toml", "--draws", "3")))
    with_json = {verb for verb in VERBS if "--json" in program(verb, "--help")}
    assert with_json == commands.keys(), f"not tried: {with_json ^ commands.keys()}"
    for verb in with_json:
        for words in commands[verb]:
            code = 2 if "bad.toml" in words else 0
            SCHEMAS.require(verb, read(program(verb, *words, "--json", code=code)))


def check_sweep():
    program("sweep", "swept.toml", "--run-id", "run", "--set", "epochs=2")
    sweep = FOLDER / "results/swept/run"
    SCHEMAS.require("sweep", read((sweep / "summary.json").read_text()))
    events = set()
    for line in lines(sweep / "journal.jsonl"):
        events.add(line["event"])
        SCHEMAS.require("journal", line)
    assert events >= {"sweep", "started", "finished", "failed"}, events
    SCHEMAS.require("summary", read((sweep / "trials/000/summary.json").read_text()))


with tempfile.TemporaryDirectory(prefix="ddp-outputs-") as name:
    os.chdir(name)
    FOLDER = pathlib.Path(name)
    RESULTS = FOLDER / "results/small"
    SCHEMAS = Schemas()
    (FOLDER / "small.toml").write_text(EXPERIMENT)
    (FOLDER / "swept.toml").write_text(SWEEP)
    (FOLDER / "images").write_bytes(struct.pack(">4I", 0x803, 8, 5, 4) + bytes(range(160)))
    (FOLDER / "labels").write_bytes(struct.pack(">2I", 0x801, 8) + bytes([0, 1] * 4))
    (FOLDER / "images.toml").write_text(IMAGES)
    (FOLDER / "a.txt").write_text("some text\n" * 50)
    (FOLDER / "text.toml").write_text(TEXT)
    (FOLDER / "a.csv").write_text("size,colour,kind\n" + "1,red,a\n2,blue,b\n" * 10)
    (FOLDER / "table.toml").write_text(TABLE)
    TABLES = [["table.toml"]] if pathlib.Path(PROGRAM).with_name("libddp_tables.so").exists() else []
    VERBS = re.findall(r"^  ([a-z]+) ", program("--help").split("Commands:")[1], re.M)
    make_runs()
    make_text_run()
    check_files()
    check_sweep()
    check_outputs()
    what = re.search(r"WHAT (.*?) \(default: experiment\)", " ".join(program("schema", "--help").split()))[1]
    known = set(re.findall(r"[a-z]+", what))
    assert known == SCHEMAS.used.keys() | {"experiment"}, known ^ SCHEMAS.used.keys()  # it has its own test
    print(f"{sum(SCHEMAS.used.values())} values of {len(SCHEMAS.used)} kinds fit")
    assert "did you mean" in subprocess.run([PROGRAM, "schema", "sumary"], capture_output=True, text=True).stderr
