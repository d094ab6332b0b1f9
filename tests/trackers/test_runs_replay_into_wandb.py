"""python/to_wandb.py: the files that `wandb sync` sends have the settings, metrics, tags, files and status of runs and
sweeps, and one of them for each run after several calls."""

import contextlib
import io
import json
import math
import os
import pathlib
import shutil
import struct
import tempfile
import tomllib

os.environ["WANDB_SILENT"] = "true"
from wandb.proto.wandb_internal_pb2 import Record  # noqa: E402

from replaying import (call, documented_commands, expected, finish, in_state, make_infinite, refused, run_script, started,
                       train)  # fmt: skip

BLOCK, HEAD = 32768, 7  # bytes, of LevelDB's log format: a block, and the head of it and of each piece of a record
WHOLE, END = 1, 4  # kinds of pieces that end a record


def records(file):
    data, at, record = file.read_bytes(), HEAD, b""
    while at + HEAD <= len(data):
        if BLOCK - at % BLOCK < HEAD:
            at += BLOCK - at % BLOCK
            continue
        size, kind = struct.unpack_from("<HB", data, at + 4)
        record += data[at + HEAD : at + HEAD + size]
        at += HEAD + size
        if kind in (WHOLE, END):
            yield Record.FromString(record)
            record = b""


class Copy:
    """What W&B has written of a run."""

    def __init__(self, folder, name):
        found = {}
        for file in folder.glob("wandb/offline-run-*/*.wandb"):
            kept = {}
            for record in records(file):
                kept.setdefault(record.WhichOneof("record_type"), []).append(record)
            (run,) = kept["run"]
            assert run.run.display_name not in found, f"{run.run.display_name} is there twice"
            found[run.run.display_name] = kept
        self.names, kept = set(found), found[name]
        self.run = kept["run"][0].run
        self.config = {item.key: json.loads(item.value_json) for item in self.run.config.update}
        self.rows = [{item.nested_key[0]: json.loads(item.value_json) for item in one.history.item} for one in kept["history"]]
        self.summary = {item.key: json.loads(item.value_json) for one in kept["summary"] for item in one.summary.update}
        self.artifacts = {one.artifact.type: one.artifact for one in kept["artifact"]}
        self.exit_code = kept["exit"][0].exit.exit_code


def replay(folder, *words):
    run_script("to_wandb.py", folder, "--project", "tried", "--dir", "copies", *words)


def check_metrics(copy, folder):
    begin, wanted = started(folder), {}
    for name, points in expected(folder).items():
        for step, seconds, value in points:
            # The test is of the best checkpoint, but W&B takes no earlier step.
            step = max(step, copy.rows[-1]["_step"]) if name.startswith("test_") else step
            row = wanted.setdefault(step, {"_step": step, "_timestamp": 0})
            row |= {name: value, "_timestamp": max(row["_timestamp"], begin + seconds)}
    rows = [{name: value for name, value in row.items() if name != "_runtime"} for row in copy.rows]
    for row, of in zip(rows, (wanted[step] for step in sorted(wanted)), strict=True):
        assert repr(sorted(row.items())) == repr(sorted((name, row[name].__class__(value)) for name, value in of.items())), (row, of)


def check_run(folder):
    replay(folder)
    copy = Copy(pathlib.Path("copies"), "small/1")
    check_metrics(copy, folder)
    config = tomllib.loads((folder / "config.toml").read_text())
    facts = {"name": "small", "run_id": "1", "status": "completed", "devices": "cpu, cpu"}
    own = {name: value for name, value in copy.config.items() if name != "_wandb"}
    assert own == config | {"ddp_exp": own["ddp_exp"]} and own["ddp_exp"].items() >= facts.items(), own
    assert set(copy.run.tags) >= {f"{name}: {value}" for name, value in facts.items()}, copy.run.tags
    assert (copy.run.project, copy.run.run_group, copy.exit_code) == ("tried", "", 0), copy.run
    summary = json.loads((folder / "summary.json").read_text())
    assert copy.summary["best"] == summary["best"]["values"] | {"step": summary["best"]["step"]}, copy.summary
    files = {one.path: pathlib.Path(one.local_path) for one in copy.artifacts["run"].manifest.contents}
    assert {name: file.read_text() for name, file in files.items()} == {
        name: (folder / name).read_text() for name in ("config.toml", "summary.json")
    }
    assert all(file.is_relative_to(pathlib.Path("copies").resolve()) for file in files.values()), files
    assert "model" not in copy.artifacts
    replay(folder, "--checkpoints")
    again = Copy(pathlib.Path("copies"), "small/1")
    assert again.run.run_id == copy.run.run_id and again.rows[-1]["_step"] == copy.rows[-1]["_step"]
    check_metrics(again, folder)
    weights = {one.path: one.size for one in again.artifacts["model"].manifest.contents}
    newest = sorted((folder / "checkpoints").glob("step-*"))[-1]
    assert weights == {file.name: file.stat().st_size for file in newest.iterdir()}, weights


def check_going_on(folder):
    """A run is replayed while it runs, after its end, and in other states."""
    running = in_state(folder, "running", lines=15)
    replay(running)
    early = Copy(pathlib.Path("copies"), "small/running")
    finish(running, folder)
    make_infinite(running, step=17)
    replay(running)
    late = Copy(pathlib.Path("copies"), "small/running")
    assert (early.config["ddp_exp"]["status"], late.config["ddp_exp"]["status"]) == ("running", "completed")
    assert early.run.run_id == late.run.run_id and len(early.rows) < len(late.rows)
    check_metrics(late, running)
    assert sum(math.isnan(row["loss"]) for row in late.rows) == 1
    for status, code in {"failed": 1, "interrupted": 255}.items():
        replay(in_state(folder, status))
        assert Copy(pathlib.Path("copies"), f"small/{status}").exit_code == code, status


def check_sweep(folder):
    for _ in range(2):
        replay(folder)
    for trial, lr, code in (("sweep/1/000", 0.01, 0), ("sweep/1/001", 1e30, 1)):
        copy = Copy(pathlib.Path("copies"), trial)
        assert (copy.run.run_group, copy.config["optimizer"]["lr"], copy.exit_code) == ("sweep/1", lr, code), copy.run
    check_metrics(Copy(pathlib.Path("copies"), "sweep/1/000"), folder / "trials/000")
    assert "sweep/1" not in copy.names


def check_refusals(folder, run):
    assert "there is no such folder; did you mean 'small'?" in refused("to_wandb.py", run.parents[1] / "smal")
    assert "it needs wandb: pip install wandb" in refused("to_wandb.py", run, client=False)
    assert refused("to_wandb.py", run, "--dir", run / "config.toml/copies").startswith("error: wandb: "), run
    (run / "metrics.jsonl").unlink()
    (run / "metrics.jsonl").mkdir()
    assert f"error: {run / 'metrics.jsonl'}: cannot be read: Is a directory" == refused("to_wandb.py", run), run


def main(folder):
    run = train(folder)
    os.chdir(folder)
    os.environ["WANDB_CACHE_DIR"] = str(folder / "cache")  # of W&B's own logs
    with contextlib.redirect_stdout(io.StringIO()):
        check_run(run)
        check_going_on(run)
        check_sweep(folder / "results/sweep/latest")
        call(folder, "resume", "small", "--set", "epochs=6")
        replay(folder / "results/small")
        check_metrics(Copy(pathlib.Path("copies"), "small/1"), run)
        shutil.copytree(run, folder / "results/digits/1", symlinks=True)
        (folder / "results/digits/latest").symlink_to("1")
        for words in documented_commands("to_wandb.py"):
            run_script("to_wandb.py", *words)
        assert Copy(folder, "small/1").run.project == "small"
    check_refusals(folder, run)
    print("W&B has each run once, as its folder tells it")


with tempfile.TemporaryDirectory(prefix="ddp-exp-wandb-") as scratch:
    main(pathlib.Path(scratch).resolve())
