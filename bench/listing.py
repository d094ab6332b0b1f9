"""`ddp-exp list` over ten thousand runs, beside ten lines of Python with the same result."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from table import Table

RUNS = 10000
CONFIG = '[optimizer]\nname = "sgd"\nlr = 0.1\n'

READ_ALL = """
import json, pathlib, sys
rows = []
for file in pathlib.Path(sys.argv[1]).glob("*/*/summary.json"):
    run = json.loads(file.read_text())
    rows.append((run["started"], file.parent, run["status"], run["epochs"], run["final"].get("val_loss")))
for row in sorted(rows, key=lambda row: row[0], reverse=True):
    print(*row)
"""


def summary_of(name, number):
    return {
        "version": 1,
        "status": "completed",
        "name": name,
        "run_id": f"run-{number:05d}",
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_790_000_000 + number)),
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_790_000_060 + number)),
        "epochs": 20,
        "steps": 460,
        "final": {"train_loss": 0.0163, "val_loss": number / RUNS, "val_accuracy": 0.9916},
        "best": {"metric": "val_loss", "value": number / RUNS, "step": 414},
        "seconds": 6.95538045,
        "world_size": 2,
        "devices": ["cpu", "cpu"],
        "backend": "shm",
        "versions": {"ddp-exp": "0.1.0", "libtorch": "2.11.0", "compiler": "12.2.0"},
        "git": {"commit": "0123456789abcdef0123456789abcdef01234567", "dirty": False},
        "config_hash": "6b98693a7e3abf8b",
        "restarts": 0,
        "launch": None,
        "error": None,
    }


def make_results(results):
    for number in range(RUNS):
        name = f"name-{number % 20}"
        run = results / name / f"run-{number:05d}"
        run.mkdir(parents=True)
        (run / "config.toml").write_text(CONFIG)
        (run / "summary.json").write_text(json.dumps(summary_of(name, number), indent=2))


def seconds(command, lines):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    taken = time.perf_counter() - start
    assert len(done.stdout.splitlines()) >= lines, done
    return taken


def tables():
    folder = tempfile.TemporaryDirectory(prefix="ddp-exp-bench-")  # until the program ends
    results = pathlib.Path(folder.name)
    make_results(results)
    ours = [os.environ["DDP_EXP"], "list", "--results", folder.name]
    rows = {
        "ddp-exp list": lambda folder=folder: seconds(ours, RUNS),
        "ddp-exp list --where 'val_loss<0.5'": lambda: seconds([*ours, "--where", "val_loss<0.5"], RUNS // 2),
        "ddp-exp list --where 'optimizer.lr=0.1'": lambda: seconds([*ours, "--where", "optimizer.lr=0.1"], RUNS),
        "ddp-exp list --json": lambda: seconds([*ours, "--json"], RUNS),
        "Python that reads each summary.json": lambda: seconds([sys.executable, "-c", READ_ALL, folder.name], RUNS),
    }
    return [Table("list", f"seconds to list {RUNS} runs", "less", rows)]
