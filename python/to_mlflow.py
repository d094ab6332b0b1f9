#!/usr/bin/env python3
"""Replays a run of ddp-exp, or a sweep with its trials, into MLflow.

    to_mlflow.py results/churn/latest
    to_mlflow.py results/churn/latest --experiment churn --uri http://127.0.0.1:5000

params      the settings of config.toml, as in optimizer.lr; a list is JSON
metrics     those of metrics.jsonl with their step and time: the run's start and the seconds of training since then. A
            value that is not finite is NaN. best.val_loss and so on are of the best validation
tags        ddp_exp.name, run_id, status, git_commit, devices
artifacts   config.toml, summary.json; with --checkpoints, the complete checkpoints

A sweep is a parent run, and its trials are nested below it. A call for a run that is there already adds what is new.
A run that has gone back to an earlier checkpoint, or whose settings have changed, is replaced: the old one is deleted.

It needs ddp_folder.py beside it, and mlflow.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import sys

import ddp_folder

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
try:
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient
except ImportError as error:
    sys.exit(f"error: it needs mlflow: pip install mlflow ({error})")

STATUSES = {"running": "RUNNING", "completed": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}
METRICS, PARAMS = 1000, 100  # that MLflow takes in one call
REPLAYED = "ddp_exp.replayed"  # tag: the lines of metrics.jsonl that are there, and their hash


def flattened(table, prefix=""):
    """{dotted key: text} of a table of settings."""
    found = {}
    for key, value in table.items():
        if isinstance(value, dict) and value and all(map(allowed, value)):
            found |= flattened(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value if isinstance(value, str) else json.dumps(value, default=str)
    return found


def allowed(name):
    """Whether MLflow takes the name of a param or a metric."""
    return re.fullmatch(r"[\w.\-/: ]+", name) is not None


def metric(name, value, time, step):
    return Metric(name if allowed(name) else re.sub(r"[^\w.\-/: ]", "_", name), value, round(time * 1000), step)


def hashes_of(run, events):
    """The hash of the settings, of them and the first line of metrics.jsonl, and so on."""
    whole = hashlib.sha256(run.config_file.read_bytes())
    hashes = [whole.hexdigest()]
    for text, _ in events:
        whole.update(text.encode())
        hashes.append(whole.hexdigest())
    return hashes


class Replay:
    """Copies of runs in one experiment of MLflow."""

    def __init__(self, uri, experiment, with_checkpoints):
        self.client = MlflowClient(tracking_uri=uri)
        known = self.client.get_experiment_by_name(experiment)
        self.experiment = known.experiment_id if known else self.client.create_experiment(experiment)
        self.with_checkpoints = with_checkpoints

    def add(self, run, parent=None):
        """Copies a run, and the trials of a sweep. `parent`: MLflow's id of the sweep."""
        events = run.events()
        hashes = hashes_of(run, events)
        copy, done = self.earlier(run, hashes)
        if copy is None:
            copy = self.client.create_run(
                self.experiment, round(run.started * 1000), {"ddp_exp.id": run.id}, run_name=run.name
            ).info.run_id
            params = [Param(key, text) for key, text in flattened(run.settings).items()]
            for at in range(0, len(params), PARAMS):
                self.client.log_batch(copy, params=params[at : at + PARAMS])
        self.add_metrics(copy, run, events, done, hashes)
        self.add_facts(copy, run, parent)
        print(f"{run.name}: {len(events) - done} new lines of metrics.jsonl in MLflow's run {copy}", flush=True)
        for trial in run.trials() if run.is_sweep else ():
            self.add(trial, copy)

    def earlier(self, run, hashes):
        """(the id of the copy that an earlier call made, the lines that it has), or (None, 0)."""
        for copy in self.client.search_runs([self.experiment], f"tags.`ddp_exp.id` = '{run.id}'"):
            done, known = copy.data.tags.get(REPLAYED, "0 -").split()
            if hashes[int(done) : int(done) + 1] == [known]:
                return copy.info.run_id, int(done)
            self.client.delete_run(copy.info.run_id)
        return None, 0

    def add_metrics(self, copy, run, events, done, hashes):
        """Adds the lines from `done` on. Each batch says how far it is: after a kill the next call goes on there."""
        batch = []
        for number, (_, event) in enumerate(events[done:], start=done):
            values = ddp_folder.measured(event)
            if len(batch) + len(values) > METRICS:
                self.client.log_batch(copy, batch, tags=[RunTag(REPLAYED, f"{number} {hashes[number]}")])
                batch = []
            batch += [metric(*value, run.started + event["seconds"], event["step"]) for value in values.items()]
        self.client.log_batch(copy, batch, tags=[RunTag(REPLAYED, f"{len(events)} {hashes[-1]}")])

    def add_facts(self, copy, run, parent):
        """What a later call may have to replace: tags, the best figures, files, status."""
        tags = {f"ddp_exp.{name}": value for name, value in run.tags().items()}
        tags |= {"mlflow.parentRunId": parent} if parent else {}
        if "ddp_exp.git_commit" in tags:
            tags["mlflow.source.git.commit"] = tags["ddp_exp.git_commit"]
        step, best = run.best()
        known = self.client.get_run(copy).data.metrics
        ended = run.ended() or run.started + run.summary["seconds"]
        figures = [metric(f"best.{name}", value, ended, step) for name, value in best.items()]
        figures = [one for one in figures if known.get(one.key) != one.value]
        self.client.log_batch(copy, figures, tags=[RunTag(*tag) for tag in tags.items()])
        for file in (run.config_file, run.summary_file):
            self.client.log_artifact(copy, file)
        for checkpoint in run.checkpoints() if self.with_checkpoints else ():
            self.client.log_artifacts(copy, checkpoint["path"], f"checkpoints/{checkpoint['path'].name}")
        if run.status == "running":
            self.client.update_run(copy, STATUSES[run.status])
        else:
            self.client.set_terminated(copy, STATUSES[run.status], round(ended * 1000))


def main():
    parser = argparse.ArgumentParser(description="Replays a run of ddp-exp, or a sweep with its trials, into MLflow.")
    parser.add_argument("run", type=pathlib.Path, help="folder of a run or a sweep; a name's folder: its newest run")
    parser.add_argument("--experiment", help="name of MLflow's experiment (the run's name)")
    parser.add_argument("--uri", help="tracking URI, as sqlite:///mlflow.db (MLFLOW_TRACKING_URI, else MLflow's own)")
    parser.add_argument("--checkpoints", action="store_true", help="copy the complete checkpoints too")
    options = parser.parse_args()
    try:
        run = ddp_folder.Folder(ddp_folder.find(options.run))
        Replay(options.uri, options.experiment or run.summary["name"], options.checkpoints).add(run)
    except ddp_folder.Error as error:
        sys.exit(f"error: {error}")
    except (MlflowException, OSError) as error:
        sys.exit(f"error: mlflow: {str(error).strip().splitlines()[0]}")


if __name__ == "__main__":
    main()
