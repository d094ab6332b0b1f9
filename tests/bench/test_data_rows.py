"""Each row of these parts of `scripts/bench` measures something on tiny files. This test does not check speed."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["DDP_SOURCE"])
PLACES = ("local", "local-whole", "s3", "s3-whole")
TABLES = {
    "data-csv": {"data-csv": 5},
    "data-parquet": {"data-parquet": 4, "data-normalised": 4},
    "data-tokens": {"data-tokens": 3},
    "data-memory": {"data-memory": 4},
    "data-predict": {"data-predict-csv": 3, "data-predict-parquet": 3},
    "data-gpt": {"data-gpt": 4},
    "exported": {"exported-calls": 2, "exported-resnet18": 3, "exported-gpt": 3},
    "models": {"models-resnet18-2": 2, "models-resnet18-2-memory": 2},
    "images": {"images-photos": 4, "images-icons": 2, "images-cifar": 2},
    "streams-table": {"streams-table-local": 6, "streams-table-local-whole": 6, "streams-table-s3": 5, "streams-table-s3-whole": 5},
    "streams-lines": {f"streams-lines-{one}": 2 for one in PLACES},
    "streams-images": {f"streams-images-{one}": 5 for one in PLACES},
    "streams-tokens": {f"streams-tokens-{one}": 4 for one in PLACES},
    "restore": {"restore": 5},
    "recipe": {"recipe-clip": 2, "recipe-ema": 2, "recipe-metrics": 2},
}


def measure(name, output):
    command = [sys.executable, ROOT / "bench" / "bench.py", "--small", "--repeat", "1", "--output", output, name]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"{name} exited with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def main(names):
    for name in names or TABLES:
        with tempfile.TemporaryDirectory(prefix="ddp-exp-bench-rows-") as output:
            printed = measure(name, output)
            files = {file.stem: json.loads(file.read_text()) for file in pathlib.Path(output).glob("*.json")}
            assert {table: len(saved["rows"]) for table, saved in files.items()} == TABLES[name], files
            for saved in files.values():
                assert saved["title"] in printed, (saved["title"], printed)
                assert all(row["median"] != 0 for row in saved["rows"]), saved
        print(f"{name}: all rows were measured", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
