"""A page about a run of a million steps is small, and takes little memory to write."""

import json
import pathlib
import resource
import subprocess
import tempfile

from folders import PROGRAM, ddp_exp, train

LINE = (
    '{{"event":"step","epoch":{},"step":{},"loss":{},"lr":0.001,"samples":64,'
    '"samples_per_second":123456.7890123,"seconds":{}}}\n'
)


def little_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (100 << 20, 100 << 20))


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    run = train(folder, "long", "a")
    with open(run / "metrics.jsonl", "w") as metrics:
        for step in range(1, 1_000_001):
            loss = 77.5 if step == 500_123 else 1 / 3 + 1 / step
            metrics.write(LINE.format(step // 1000, step, loss, step * 0.001))
    done = subprocess.run(
        [PROGRAM, "report", "long/a"], cwd=folder, preexec_fn=little_memory, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    size = (run / "report.html").stat().st_size
    assert size < 2e6, size
    data = json.loads(ddp_exp("report", "long/a", "--json", folder=folder).stdout)
    steps = data["runs"][0]["per_step"]
    assert steps["rows"] == 1_000_000
    assert max(steps["columns"]["loss"]["max"]) == 77.5, "the one spike is there"
