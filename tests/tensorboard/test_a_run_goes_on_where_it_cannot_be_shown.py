"""Event files that cannot be written, for some time or at all, end no run; events without space are shown later."""

import json
import pathlib
import resource
import signal

from training import Folder, require_as_metrics, sets, steps, until

folder = Folder()
run = folder.run("blocked")
run.mkdir(parents=True)
(run / "tensorboard").write_text("in the way")
said = folder.complete("run", "small.toml", "--run-id", "blocked")
assert said.count("no event file for TensorBoard") == 1, said
assert json.loads((run / "summary.json").read_text())["status"] == "completed"
assert (run / "tensorboard").read_text() == "in the way"

# For a while a file of rank 0 cannot grow.
run = folder.run("full")
process = folder.start("run", "small.toml", "--run-id", "full", *sets(epochs=100000, dataset__size=64000, on_nan='"skip"'))


def limit_files_of_ranks(size):
    for rank in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        resource.prlimit(int(rank), resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def log():
    return (run / "logs/rank-0.log").read_text()


until(lambda: steps(run) > 50, "50 steps", process)
events = until(lambda: next((run / "tensorboard").glob("events*"), None), "an event file", process)
# The log has space for the messages about it.
limit_files_of_ranks(100 + max(file.stat().st_size for file in (events, run / "metrics.jsonl", run / "logs/rank-0.log")))
until(lambda: "its events for TensorBoard are kept and written later" in log(), "it says so", process)
until(lambda: "its lines are kept and written later" in log(), "and of metrics.jsonl", process)
assert "no more are written" not in log()
limit_files_of_ranks(resource.RLIM_INFINITY)
until(lambda: "tensorboard: can be written again" in log(), "it can be written again", process)
process.send_signal(signal.SIGTERM)
_, said = process.communicate()
assert process.returncode == 143, (process.returncode, said)
require_as_metrics(run)
