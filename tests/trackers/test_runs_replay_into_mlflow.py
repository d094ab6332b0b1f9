"""python/to_mlflow.py: MLflow's client reads back the settings, metrics, tags, files and status of runs and sweeps, from
MLflow's database and from its folder, and each of them once after several calls."""

import contextlib
import io
import json
import math
import os
import pathlib
import shutil
import tempfile
import tomllib

os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_LOGGING_LEVEL": "WARNING"}
from mlflow.tracking import MlflowClient  # noqa: E402

from replaying import (call, documented_commands, expected, finish, in_state, make_infinite, refused, run_script, started,
                       train)  # fmt: skip


class Store:
    def __init__(self, uri, experiment="tried"):
        self.uri, self.experiment = uri, experiment
        self.client = MlflowClient(tracking_uri=uri)

    def replay(self, folder, *words):
        run_script("to_mlflow.py", folder, "--uri", self.uri, "--experiment", self.experiment, *words)

    def runs(self, name=None):
        experiment = self.client.get_experiment_by_name(self.experiment).experiment_id
        found = self.client.search_runs([experiment], max_results=100)
        return [one for one in found if name is None or one.info.run_name == name]

    def run(self, name):
        (one,) = self.runs(name)
        return one

    def series(self, run):
        history = {name: self.client.get_metric_history(run.info.run_id, name) for name in run.data.metrics}
        best = {name: history.pop(name) for name in list(history) if name.startswith("best.")}
        assert all(len(points) == 1 for points in best.values()), best
        return {
            name: sorted((point.step, point.timestamp, point.value) for point in points)
            for name, points in history.items()
        }

    def text(self, run, file):
        with tempfile.TemporaryDirectory() as folder:
            return pathlib.Path(self.client.download_artifacts(run.info.run_id, file, folder)).read_text()


def check_metrics(store, run, folder):
    begin, found = started(folder), store.series(run)
    for name, points in expected(folder).items():
        wanted = sorted((step, round((begin + seconds) * 1000), value) for step, seconds, value in points)
        assert repr(found.pop(name)) == repr(wanted), (name, wanted[:3])
    assert not found, found.keys()


def check_run(store, folder):
    store.replay(folder)
    run = store.run("small/1")
    check_metrics(store, run, folder)
    config, params = tomllib.loads((folder / "config.toml").read_text()), run.data.params
    assert float(params["optimizer.lr"]) == config["optimizer"]["lr"] and params["optimizer.name"] == "sgd", params
    assert json.loads(params["device_pool"]) == ["cpu", "cpu"] and params["deterministic"] == "false", params
    assert json.loads(params["init_from.rename"]) == {"old.*": "*"}, params  # MLflow takes no such key
    depth = sum(len(value) if isinstance(value, dict) else 1 for value in config.values())
    assert len(params) == depth, (len(params), depth)
    summary = json.loads((folder / "summary.json").read_text())
    tags = {name: run.data.tags.get(f"ddp_exp.{name}") for name in ("name", "run_id", "status", "devices")}
    assert tags == {"name": "small", "run_id": "1", "status": "completed", "devices": "cpu, cpu"}, tags
    assert (run.info.status, run.info.start_time) == ("FINISHED", started(folder) * 1000), run.info
    best = {name.removeprefix("best."): value for name, value in run.data.metrics.items() if name.startswith("best.")}
    assert best == summary["best"]["values"], best
    for file in ("config.toml", "summary.json"):
        assert store.text(run, file) == (folder / file).read_text(), file
    assert not store.client.list_artifacts(run.info.run_id, "checkpoints")
    store.replay(folder, "--checkpoints")
    saved = {pathlib.Path(one.path).name for one in store.client.list_artifacts(run.info.run_id, "checkpoints")}
    assert saved == {one.name for one in (folder / "checkpoints").glob("step-*")} and saved, saved
    assert store.run("small/1").info.run_id == run.info.run_id
    check_metrics(store, store.run("small/1"), folder)


def check_going_on(store, folder):
    """A run is replayed while it runs, after its end, and when its past has changed."""
    running = in_state(folder, "running", lines=15)
    store.replay(running)
    early = store.run("small/running")
    assert early.info.status == "RUNNING" and len(store.series(early)["loss"]) < 20, early.info
    finish(running, folder)
    make_infinite(running, step=17)
    store.replay(running)
    late = store.run("small/running")
    assert (late.info.run_id, late.info.status) == (early.info.run_id, "FINISHED"), late.info
    check_metrics(store, late, running)
    assert sum(math.isnan(value) for _, _, value in store.series(late)["loss"]) == 1
    make_infinite(running, step=3)  # another past
    store.replay(running)
    assert store.run("small/running").info.run_id != late.info.run_id
    check_metrics(store, store.run("small/running"), running)
    for status, shown in {"failed": "FAILED", "interrupted": "KILLED"}.items():
        store.replay(in_state(folder, status))
        assert store.run(f"small/{status}").info.status == shown, status
    for status in ("running", "failed", "interrupted"):
        shutil.rmtree(folder.parent / status)


def check_sweep(store, folder):
    for _ in range(2):
        store.replay(folder)
    sweep = store.run("sweep/1")
    trials = [one for one in store.runs() if one.data.tags.get("mlflow.parentRunId") == sweep.info.run_id]
    shown = {(one.info.run_name, one.info.status, float(one.data.params["optimizer.lr"])) for one in trials}
    assert shown == {("sweep/1/000", "FINISHED", 0.01), ("sweep/1/001", "FAILED", 1e30)}, shown
    best = json.loads((folder / "summary.json").read_text())["ranking"][0]["metric"]
    assert sweep.data.metrics == {"best.val_loss": best} and sweep.info.status == "FINISHED", sweep
    check_metrics(store, store.run("sweep/1/000"), folder / "trials/000")


def check_refusals(folder, run):
    uri = f"sqlite:///{folder}/mlflow.db"
    assert "there is no such folder; did you mean 'small'?" in refused("to_mlflow.py", run.parents[1] / "smal", "--uri", uri)
    assert "it needs mlflow: pip install mlflow" in refused("to_mlflow.py", run, client=False)
    off = refused("to_mlflow.py", run, "--uri", folder / "plain", MLFLOW_ALLOW_FILE_STORE="false")
    assert off.startswith("error: mlflow: The filesystem tracking backend"), off
    damaged = in_state(run, "failed")
    for name, text, said in (("metrics.jsonl", '{"event":\n', ", line 1: is damaged: "), ("summary.json", "{}", ": has not the name"),
                             ("config.toml", "a = = 1", ": cannot be read: Invalid value")):  # fmt: skip
        (damaged / name).write_text(text)
        assert f"{damaged / name}{said}" in refused("to_mlflow.py", damaged, "--uri", uri), name


def main(folder):
    run = train(folder)
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()):
        stores = Store(f"sqlite:///{folder}/mlflow.db"), Store(str(folder / "files"))
        for store in stores:
            check_run(store, run)
            check_going_on(store, run)
            check_sweep(store, folder / "results/sweep/latest")
        call(folder, "resume", "small", "--set", "epochs=6")  # the settings have changed
        for store in stores:
            store.replay(run)
            check_metrics(store, store.run("small/1"), run)
        shutil.copytree(run, folder / "results/digits/1", symlinks=True)
        (folder / "results/digits/latest").symlink_to("1")
        for words in documented_commands("to_mlflow.py"):
            run_script("to_mlflow.py", *words)
        assert Store(None, "small").run("small/1").info.status == "FINISHED"
    check_refusals(folder, run)
    print("MLflow has each run once, as its folder tells it")


with tempfile.TemporaryDirectory(prefix="ddp-exp-mlflow-") as scratch:
    main(pathlib.Path(scratch).resolve())
